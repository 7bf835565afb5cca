//go:build cgo

package remember_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
)

// offer returns the offer of a call with those effects, as the engine makes it: the
// first width is exact.
func offer(scope string, list ...*decisions.MemoryQuery) *decisions.Offer {
	o := &decisions.Offer{Reject: rejection(list...)}
	set := decisions.OfferSet{Width: decisions.Width{ID: "w1", Scope: scope}}
	for _, q := range list {
		set.Items = append(set.Items, decisions.OfferItem{Query: q})
	}
	o.Sets = append(o.Sets, set)
	return o
}

// rejection returns a call with those effects, all of which were asked about.
func rejection(list ...*decisions.MemoryQuery) *decisions.Rejection {
	r := &decisions.Rejection{Query: *list[0]}
	r.Query.All = nil
	for i, q := range list {
		r.Query.All = append(r.Query.All, *q.Effect)
		r.Asked = append(r.Asked, i)
	}
	return r
}

// TestKeep checks which answers are accepted, and what is stored: all or nothing.
func TestKeep(t *testing.T) {
	t.Parallel()
	plain, other := ask(run("go", "vet")), ask(file(effects.KindWrite, "/p/x"))
	nowhere := ask(connect("example.com", 443, effects.MethodGet))
	nowhere.Project, nowhere.Session = "", decisions.SessionRef{}
	unknown := ask(effects.Effect{Kind: effects.KindUnknown, Text: "?"})
	git := ask(run("git", "status"))
	tests := []struct {
		name string
		a    decisions.Answer
		kept int
		says string
	}{
		{"the default scope", decisions.Answer{Verdict: decisions.Allow, Offer: offer("project", plain, other)}, 2, ""},
		{"one choice for an effect that is there twice", decisions.Answer{Verdict: decisions.Allow, Offer: offer("project", plain, plain)}, 1, ""},
		{"with an end", decisions.Answer{Verdict: decisions.Allow, Offer: offer("project", plain), Scope: "user", For: time.Hour}, 1, ""},
		{"a reject", decisions.Answer{Verdict: decisions.Deny, Offer: offer("project", plain, other)}, 1, ""},
		{"no offer", decisions.Answer{Verdict: decisions.Allow}, 0, "nothing was offered"},
		{"another width", decisions.Answer{Verdict: decisions.Allow, Offer: offer("project", plain), Width: "w2"}, 0, "no width"},
		{"a reject with a width", decisions.Answer{Verdict: decisions.Deny, Offer: offer("project", plain), Width: "w1"}, 0, "there are: r1"},
		{"a question", decisions.Answer{Verdict: decisions.Ask, Offer: offer("project", plain)}, 0, "only an allow and a reject"},
		{"no such scope", decisions.Answer{Verdict: decisions.Allow, Offer: offer("project", plain), Scope: "world"}, 0, "the scopes are"},
		{"outside of any project", decisions.Answer{Verdict: decisions.Allow, Offer: offer("", nowhere), Scope: "project"}, 0, "belongs to no project"},
		{"outside of any session", decisions.Answer{Verdict: decisions.Allow, Offer: offer("", nowhere), Scope: "session"}, 0, "session is not known"},
		{"outside of both", decisions.Answer{Verdict: decisions.Allow, Offer: offer("", nowhere)}, 0, "name the scope"},
		{"git for the user", decisions.Answer{Verdict: decisions.Allow, Offer: offer("project", git), Scope: "user"}, 0, "bound to the project"},
		{"one part is not remembered", decisions.Answer{Verdict: decisions.Allow, Offer: offer("project", plain, unknown)}, 0, "never remembered"},
		{"one part does not fit the scope", decisions.Answer{Verdict: decisions.Allow, Offer: offer("project", plain, git), Scope: "user"}, 0, "bound to the project"},
		{"time that runs backwards", decisions.Answer{Verdict: decisions.Allow, Offer: offer("project", plain), For: -1}, 0, "time limit"},
		{"time without an end", decisions.Answer{Verdict: decisions.Allow, Offer: offer("project", plain), For: 1 << 62}, 0, "time limit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, options(path(t)))
			tt.a.DecisionID = "d"
			kept, err := s.Keep(t.Context(), tt.a)
			if tt.says != "" && (!errors.Is(err, decisions.ErrNotKept) || !strings.Contains(err.Error(), tt.says)) || tt.says == "" && err != nil {
				t.Errorf("error %v, want %q", err, tt.says)
			}
			if len(kept) != tt.kept || len(s.List(nil)) != tt.kept {
				t.Errorf("kept %+v, stored %+v, want %d", kept, s.List(nil), tt.kept)
			}
			for _, k := range kept {
				if k.Verdict != tt.a.Verdict || (tt.a.For > 0) != !k.Expires.IsZero() || k.Label == "" {
					t.Errorf("kept %+v", k)
				}
			}
		})
	}
}

// TestAddBounds: invalid lines are refused, and the number of lines with the same
// beginning is bounded, so that searching them is fast.
func TestAddBounds(t *testing.T) {
	t.Parallel()
	s := open(t, options(path(t)))
	line := remember.Line{UID: ada, Verdict: decisions.Allow, Kind: effects.KindRun, Scope: remember.ForUser, Home: "/home/ada"}
	for name, text := range map[string]string{
		"empty": "", "a control character": "go\x1b[31m vet", "bidi": "go \u202evet", "long": "go " + strings.Repeat("x", 10_000),
		"a secret": "tool ghp_" + strings.Repeat("a1", 18), "two commands": "go vet; rm x",
	} {
		l := line
		l.Line = text
		if c, err := s.Add(t.Context(), l); err == nil {
			t.Errorf("%s: stored %+v", name, c)
		}
	}
	var err error
	n := 0
	for ; n < 1000 && err == nil; n++ {
		l := line
		l.Line = fmt.Sprintf("tool x%d* y", n)
		_, err = s.Add(t.Context(), l)
	}
	if !errors.Is(err, remember.ErrTooMany) || n < 100 {
		t.Errorf("after %d lines: %v", n, err)
	}
	home := line
	home.Kind, home.Line = effects.KindRead, "~/notes/**"
	if c, err := s.Add(t.Context(), home); err != nil || c.Label != "/home/ada/notes/**" {
		t.Errorf("a line of the home is stored as %q, %v", c.Label, err)
	}
	if _, allow, err := s.Match(ask(file(effects.KindRead, "/home/ada/notes/a/b"))); err != nil || allow == nil {
		t.Errorf("and matches nothing: %v", err)
	}
	home.Home = ""
	if _, err := s.Add(t.Context(), home); !errors.Is(err, remember.ErrNotRemembered) {
		t.Errorf("without a home: %v", err)
	}
}

// TestAddReject: a rejected line matches wherever it touches a call of this person,
// and no one else's.
func TestAddReject(t *testing.T) {
	t.Parallel()
	s := open(t, options(path(t)))
	_, err := s.Add(t.Context(), remember.Line{UID: ada, Verdict: decisions.Deny, Kind: effects.KindRun, Line: "rm -rf *", Scope: remember.ForUser})
	if err != nil {
		t.Fatal(err)
	}
	q := ask(run("rm", "-rf", "x"))
	if got := said(t, s, q); got != "deny" {
		t.Errorf("have %q", got)
	}
	if q.UID++; said(t, s, q) != "" {
		t.Error("it is another person's")
	}
}

// TestGuardedSince: an allow that a client reported does not match what has become
// guarded since, until a person confirms it.
func TestGuardedSince(t *testing.T) {
	t.Parallel()
	s := open(t, options(path(t)))
	e := file(effects.KindWrite, "/p/tool.conf")
	c := save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(e), Scope: remember.ForProject, DecisionID: "d"})
	now := e
	now.Tags = effects.TagsOf(effects.Startup)
	if said(t, s, ask(e)) != "allow" || said(t, s, ask(now)) != "" {
		t.Errorf("as it was: %q, guarded: %q", said(t, s, ask(e)), said(t, s, ask(now)))
	}
	if err := s.Confirm(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	if said(t, s, ask(now)) != "allow" {
		t.Error("the very path, confirmed, does not answer")
	}
}

// TestExpiryBounds: one limit, whatever the number of seconds is.
func TestExpiryBounds(t *testing.T) {
	t.Parallel()
	const longest = 10 * 365 * 24 * 60 * 60
	for seconds, ok := range map[int64]bool{
		0: true, 1: true, longest: true, longest + 1: false, -1: false,
		math.MaxInt64: false, math.MinInt64: false, math.MaxInt64/int64(time.Second) + 1: false, 1<<55 + 1: false,
	} {
		limit, err := remember.Expiry(seconds)
		if (err == nil) != ok || ok && limit != time.Duration(seconds)*time.Second {
			t.Errorf("%d seconds: %s, %v", seconds, limit, err)
		}
	}
}
