//go:build cgo

package remember_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
)

// words are drawn from few letters, so that details are often similar.
var words = rapid.SampledFrom([]string{"", "a", "b", "ab", "a b", "a\x00b", "-f", "--force", "é", "\x01", "git", "/p", "./x"})

func drawEffect(t *rapid.T) effects.Effect {
	e := effects.Effect{
		Kind:    rapid.SampledFrom([]effects.Kind{effects.KindRun, effects.KindRead, effects.KindWrite, effects.KindDelete, effects.KindConnect, effects.KindUse}).Draw(t, "kind"),
		Claimed: rapid.Bool().Draw(t, "claimed"),
		Text:    "text",
	}
	switch e.Kind {
	case effects.KindRun:
		e.Run = &effects.Run{
			Program:    "p" + words.Draw(t, "program"),
			Executable: words.Draw(t, "executable"),
			Args:       rapid.SliceOfN(words, 0, 3).Draw(t, "args"),
			Stdin:      rapid.SampledFrom([]effects.Stdin{effects.StdinNone, effects.StdinText, effects.StdinPipe}).Draw(t, "stdin"),
			Cwd:        rapid.SampledFrom([]string{"/p", "/q", "/q/sub"}).Draw(t, "cwd"),
		}
		if e.Run.Stdin == effects.StdinText {
			e.Run.StdinText = words.Draw(t, "stdin text")
		}
		if rapid.Bool().Draw(t, "script") {
			e.Run.Script = &effects.Script{Path: "/" + words.Draw(t, "script path"), SHA256: "h" + words.Draw(t, "hash")}
		}
	case effects.KindConnect:
		e.Connect = &effects.Connect{
			Host: "h" + words.Draw(t, "host"), Port: rapid.IntRange(0, 3).Draw(t, "port"),
			Method: rapid.SampledFrom([]string{effects.MethodGet, effects.MethodSend}).Draw(t, "method"),
		}
	case effects.KindUse:
		e.Use = &effects.Use{
			Server: words.Draw(t, "server"), Source: words.Draw(t, "source"), Tool: "t" + words.Draw(t, "tool"),
			Arguments: rapid.SampledFrom([][]byte{nil, []byte(`{}`), []byte(`[]`), []byte(`{"a":1}`), []byte(`{"a":1.0}`),
				[]byte(`{"a":9007199254740993}`), []byte(`{"a":9007199254740992}`), []byte(`{"a":"1"}`)}).Draw(t, "arguments"),
			Version: rapid.SampledFrom([]string{"", "", "1.0.0", "1.0.1"}).Draw(t, "version"),
		}
		e.Use.OnBehalfOf = rapid.SampledFrom([]string{"", "dana", "bob"}).Draw(t, "for")
		if rapid.Bool().Draw(t, "given") {
			e.Use.Credentials.Secrets = rapid.SliceOfN(words, 0, 2).Draw(t, "secrets")
			for _, id := range rapid.SliceOfN(words, 0, 2).Draw(t, "authorizations") {
				e.Use.Credentials.Authorizations = append(e.Use.Credentials.Authorizations, effects.Authorization{ID: id, Scopes: rapid.SliceOfN(words, 0, 2).Draw(t, "scopes")})
			}
		}
	default:
		e.File = &effects.File{Path: "/" + words.Draw(t, "path"), Recursive: rapid.Bool().Draw(t, "recursive")}
	}
	return e
}

// facts prints everything that a choice must be bound to, independently of the code
// under test, so that no field can be mistaken for a part of another.
func facts(q *decisions.MemoryQuery, anyArguments bool) string {
	e := q.Effect
	s := fmt.Sprintf("%d %q %v ", q.UID, e.Kind, e.Claimed)
	switch {
	case e.Run != nil:
		r := e.Run
		s += fmt.Sprintf("%q %q %q %q %q", r.Program, r.Executable, r.Args, r.Stdin, r.StdinText)
		if r.Cwd != q.Project || r.Executable != "" && r.Executable[0] != '/' && r.Script == nil {
			s += fmt.Sprintf(" cwd %q", r.Cwd)
		}
		if r.Cwd == q.Project {
			s += fmt.Sprintf(" project %q", q.Project)
		}
		if r.Script != nil {
			s += fmt.Sprintf(" script %q %q", r.Script.Path, r.Script.SHA256)
		}
	case e.Connect != nil:
		s += fmt.Sprintf("%q %d %q", e.Connect.Host, e.Connect.Port, e.Connect.Method)
	case e.Use != nil:
		s += fmt.Sprintf("%q %q %q %q %q %q", e.Use.Server, e.Use.Source, e.Use.Tool, e.Use.Version, e.Use.Credentials, e.Use.OnBehalfOf)
		if !anyArguments {
			s += fmt.Sprintf(" %v %q", e.Use.Arguments == nil, e.Use.Arguments)
		}
	case e.File != nil:
		s += fmt.Sprintf("%q %v", e.File.Path, e.File.Recursive)
	}
	return s
}

// TestSameFactsMatch saves one allow and asks about others: the answer is the
// choice if and only if all facts are the same.
func TestSameFactsMatch(t *testing.T) {
	t.Parallel()
	s := open(t, options(path(t)))
	matched, missed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		draft := remember.Draft{
			Verdict: decisions.Allow,
			Query:   ask(drawEffect(t)),
			Scope:   remember.ForUser,
		}
		if draft.Query.Effect.Use != nil && rapid.Bool().Draw(t, "any arguments") {
			draft.Level = 1
		}
		saved, err := s.Save(t.Context(), draft)
		if errors.Is(err, remember.ErrNotRemembered) {
			t.Skip("an allow needs more than this")
		}
		if err != nil {
			t.Fatal(err)
		}
		// Also after a failure, so that the next draw starts empty.
		defer func() {
			if _, err := s.Forget(t.Context(), saved[0].ID); err != nil {
				t.Fatal(err)
			}
		}()
		others := []effects.Effect{*draft.Query.Effect}
		for range 5 {
			others = append(others, drawEffect(t), mutate(t, *draft.Query.Effect))
		}
		for _, other := range others {
			q := ask(other)
			reject, allow, err := s.Match(q)
			if err != nil {
				t.Fatal(err)
			}
			have := reject != nil || allow != nil
			want := facts(draft.Query, draft.Level == 1) == facts(q, draft.Level == 1)
			if have != want || reject != nil {
				t.Fatalf("have reject %v and allow %v for\n%s\nsaved with\n%s", reject, allow, facts(q, false), facts(draft.Query, draft.Level == 1))
			}
			if have {
				matched++
			} else {
				missed++
			}
		}
	})
	if matched == 0 || missed == 0 {
		t.Errorf("nothing was tested: %d matched, %d did not", matched, missed)
	}
}

// mutate changes one fact of an effect, or none.
func mutate(t *rapid.T, e effects.Effect) effects.Effect {
	switch {
	case e.Run != nil:
		r := *e.Run
		r.Args = slices.Clone(r.Args)
		switch rapid.IntRange(0, 9).Draw(t, "mutation") {
		case 0:
			r.Args = append(r.Args, "")
		case 1:
			r.Program += "x"
		case 2:
			r.Executable += "/x"
		case 3:
			r.Stdin, r.StdinText = effects.StdinNetwork, ""
		case 4:
			r.StdinText += "\n"
		case 5:
			r.Cwd = "/q"
		case 6:
			r.Script = &effects.Script{Path: "/x", SHA256: "h"}
		case 7:
			r.Script = nil
		case 8:
			e.Claimed = !e.Claimed
		}
		e.Run = &r
	case e.Use != nil:
		u := *e.Use
		if rapid.Bool().Draw(t, "server") {
			u.Server, u.Source = u.Source, u.Server
		} else {
			u.Arguments = append(slices.Clone(u.Arguments), ' ')[:len(u.Arguments)]
		}
		e.Use = &u
	case e.File != nil:
		f := *e.File
		f.Recursive = !f.Recursive
		e.File = &f
	case e.Connect != nil:
		c := *e.Connect
		c.Port += 65536
		e.Connect = &c
	}
	return e
}
