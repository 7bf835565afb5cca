package decisions

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestTakeApproval: an approval that a person gave elsewhere turns an ask into allow,
// and changes no other verdict.
func TestTakeApproval(t *testing.T) {
	tests := []struct {
		name string
		set  func(*fakePolicy, *fakeJournal)
		want Verdict
		by   DecidedBy
	}{
		{"asked", func(p *fakePolicy, _ *fakeJournal) { p.fired = []Finding{finding(User, SetAsk)} }, Allow, ByHuman},
		{"silent", func(p *fakePolicy, _ *fakeJournal) { p.fired = nil }, Allow, ByHuman},
		{"denied", func(p *fakePolicy, _ *fakeJournal) { p.fired = []Finding{finding(User, SetDeny)} }, Deny, ByPolicy},
		{"allowed", func(p *fakePolicy, _ *fakeJournal) { p.fired = []Finding{finding(User, SetAllow)} }, Allow, ByPolicy},
		{"rules that fail", func(p *fakePolicy, _ *fakeJournal) { p.err = errors.New("broken") }, Ask, ByFailure},
		{"not logged", func(p *fakePolicy, j *fakeJournal) { p.fired, j.err = nil, errors.New("disk full") }, Ask, ByFailure},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _, j, e := newFakes(t)
			tt.set(p, j)
			asked := 0
			e.takeApproval = func(req *Request, d *Decision) bool {
				asked++
				return req.Call.ID != "" && d.Verdict == Ask
			}
			d := e.Decide(t.Context(), bash(t, "ls"))[0]
			if d.Verdict != tt.want || d.By != tt.by {
				t.Errorf("%s by %s: %s", d.Verdict, d.By, d.Reason)
			}
			if (tt.by == ByHuman) != (asked == 1) && tt.name != "not logged" {
				t.Errorf("asked %d times", asked)
			}
			if tt.by == ByHuman {
				if d.Needed != NotNeeded || d.Offer != nil || len(d.Widths) > 0 {
					t.Errorf("something is still needed: %+v", d)
				}
				if got := j.recs[0].Decision; got.Verdict != Allow || got.By != ByHuman {
					t.Errorf("the journal says %s by %s", got.Verdict, got.By)
				}
			}
			e.takeApproval = func(*Request, *Decision) bool { return false }
			if d := e.Decide(t.Context(), bash(t, "ls"))[0]; d.By == ByHuman {
				t.Error("allowed without a yes")
			}
		})
	}
	for _, kind := range []effects.Kind{effects.KindQuestion, effects.KindMode} {
		d := &Decision{Verdict: Ask, Effects: []EffectDecision{{Kind: effects.KindRun}, {Kind: kind}}}
		if d.Answerable() {
			t.Errorf("a %s can be answered elsewhere", kind)
		}
	}
	for code, want := range map[string]bool{effects.DefectCharacters: false, effects.DefectNearMiss: true} {
		d := &Decision{Verdict: Ask, Defects: []effects.Defect{{Code: code}}}
		if d.Answerable() != want {
			t.Errorf("with a defect of %s it is %v that it can be answered elsewhere", code, !want)
		}
	}
}

// TestContents: a decision that asks has the files that the call runs, reads and
// names.
func TestContents(t *testing.T) {
	p, _, _, e := newFakes(t)
	p.fired = nil
	file := func(name string, code bool) Content { return Content{Path: "/home/u/project/" + name, Code: code} }
	long, many := strings.Repeat("x", maxPath), strings.Repeat("x ", 3)
	for i := range maxContents {
		many += strconv.Itoa(i) + " "
	}
	for command, want := range map[string][]Content{
		"tool " + long + " a.sql": {file("a.sql", false)},
		"tool " + many:            {file("1", false), {Code: true}},
		"psql -f a.sql":           {file("a.sql", false)},
		"tool --file=a.sql":       {file("a.sql", false)},
		"tool /x/../a $(date) -":  {{Path: "/a"}},
	} {
		req := bash(t, command)
		req.Call.Cwd = "/home/u/project"
		e.takeApproval = nil
		if d := e.Decide(t.Context(), req)[0]; d.Contents != nil {
			t.Errorf("%s: nobody can answer, and it says %v", command, d.Contents)
		}
		e.takeApproval = func(*Request, *Decision) bool { return false }
		d := e.Decide(t.Context(), req)[0]
		for _, w := range want {
			if !slices.Contains(d.Contents, w) {
				t.Errorf("%s (%s): %v, want %v", command, d.Verdict, d.Contents, w)
			}
		}
		if len(d.Contents) > maxContents+1 {
			t.Errorf("%s: %d files", command, len(d.Contents))
		}
		for _, c := range d.Contents {
			if len(c.Path) > maxPath || c.Path == "" && !c.Code || strings.ContainsRune(c.Path, 0) || strings.HasSuffix(c.Path, "/-") {
				t.Errorf("%s: %q is no file", command, c.Path)
			}
		}
	}
}
