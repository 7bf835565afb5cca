package acp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
)

// TestUnsettle: an approval that depends on the state of the machine is void after
// something ran that may have changed it; a call continues after a part of it has
// passed a gate.
func TestUnsettle(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	said := func(id string, stateful bool, traces ...byte) *decisions.Decision {
		d := &decisions.Decision{ID: id, CallID: id, Stateful: stateful}
		for _, b := range traces {
			d.Fingerprints = append(d.Fingerprints, decisions.Fingerprint{b})
		}
		return d
	}
	var a approvals
	script, tool, two := said("1", true, 1), said("2", false, 2), said("3", true, 3, 4)
	for _, d := range []*decisions.Decision{script, tool, two} {
		a.note("s", d, now)
	}
	if !a.take("s", &decisions.Decision{Fingerprints: two.Fingerprints[:1]}, now) {
		t.Fatal("the first part of a call is not approved")
	}
	a.dropStateful("other")
	a.dropStateful("s")
	for name, tt := range map[string]struct {
		traces []decisions.Fingerprint
		want   bool
	}{
		"a script": {script.Fingerprints, false}, "a tool": {tool.Fingerprints, true}, "the rest of a call": {two.Fingerprints[1:], true},
	} {
		if got := a.take("s", &decisions.Decision{Fingerprints: tt.traces}, now); got != tt.want {
			t.Errorf("%s: approved is %v, want %v", name, got, tt.want)
		}
	}
	if a.fingerprints != 0 || len(a.calls) != 0 {
		t.Errorf("%d traces of %d calls are left", a.fingerprints, len(a.calls))
	}
}

// TestApprovedContents: a person's approval is bound to the contents of the call's
// files; what rules allow does not depend on contents. With too many files the
// contents are unknown.
func TestApprovedContents(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	files := func(sums ...string) (list []decisions.Content) {
		for i, sum := range sums {
			list = append(list, decisions.Content{Path: fmt.Sprint("/p/", i), Code: i == 0, Sum: sum})
		}
		return list
	}
	traces := []decisions.Fingerprint{{1}}
	for name, tt := range map[string]struct {
		verdict    decisions.Verdict
		asked, now []decisions.Content
		want       bool
	}{
		"nothing has changed":             {decisions.Ask, files("a", "b"), files("a", "b"), true},
		"a part of the call":              {decisions.Ask, files("a", "b"), files("a", "b")[1:], true},
		"no files":                        {decisions.Ask, nil, nil, true},
		"the code has changed":            {decisions.Ask, files("a", "b"), files("x", "b"), false},
		"what it is given has changed":    {decisions.Ask, files("a", "b"), files("a", "x"), false},
		"a file that it was not about":    {decisions.Ask, files("a"), files("a", "b"), false},
		"a file where there was none":     {decisions.Ask, nil, files("a"), false},
		"more files than can be compared": {decisions.Ask, files("a"), []decisions.Content{{Code: true}}, false},
		"a rule allows it":                {decisions.Allow, nil, files("a"), true},
	} {
		var a approvals
		a.note("s", &decisions.Decision{ID: "1", Verdict: tt.verdict, Fingerprints: traces, Contents: tt.asked}, now)
		if got := a.take("s", &decisions.Decision{Fingerprints: traces, Contents: tt.now}, now); got != tt.want {
			t.Errorf("%s: approved is %v, want %v", name, got, tt.want)
		}
	}
	for name, contents := range map[string][]decisions.Content{
		"too many": make([]decisions.Content, maxApprovedFiles+1), "too long": {{Path: strings.Repeat("x", maxApprovedBytes+1)}},
	} {
		var a approvals
		a.note("s", &decisions.Decision{ID: "1", Verdict: decisions.Ask, Fingerprints: traces, Contents: contents}, now)
		if len(a.calls) != 0 {
			t.Errorf("%s: it is known", name)
		}
	}
	var a approvals
	a.note("s", &decisions.Decision{ID: "1", Verdict: decisions.Ask, Fingerprints: traces, Contents: make([]decisions.Content, maxApprovedFiles)}, now)
	if len(a.calls) != 1 {
		t.Error("at the limit: it is not known")
	}
}
