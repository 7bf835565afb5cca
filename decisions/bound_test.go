package decisions

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
)

// TestBoundRecord: a record of a huge call is small, has its strictest effects, and
// says how many it lacks; the decision that is sent has them all.
func TestBoundRecord(t *testing.T) {
	for name, text := range map[string]string{"plain": "cat file", "escaped": "\x00\x01\"\\", "no UTF-8": "\xff\xfe\xfd"} {
		t.Run(name, func(t *testing.T) {
			const n = 20_000
			long := strings.Repeat(text, 100_000)
			d := Decision{ID: "d", CallID: long, Verdict: Deny, Reason: long, Message: long}
			var details []EffectDetail
			for i := range n {
				e := EffectDecision{Kind: effects.KindRun, Text: text, Verdict: Allow, Rules: []RuleRef{{ID: text}}, Row: i}
				switch i {
				case n - 1, 7:
					e.Verdict = Deny
				case n - 2:
					e.Verdict = Ask
				}
				d.Effects, details = append(d.Effects, e), append(details, EffectDetail{Words: []string{text}, Port: i})
				d.Widths, d.Defects = append(d.Widths, Width{Rule: text}), append(d.Defects, effects.Defect{Text: text})
			}
			r := Record{
				Time: time.Unix(1, 0), Agent: effects.Party{Name: long, Version: long}, Client: effects.Party{Name: long},
				Session:  SessionRef{ID: long, Ancestors: []string{long, long, long, long, long, long}, Mode: long},
				Protocol: long, Tool: long, Cwd: long, Project: long, Decision: d, Details: details,
			}
			r.bound()
			data, err := r.AppendJSON(nil)
			if err != nil && err != ErrNotUTF8 { //nolint:errorlint // returned as it is
				t.Fatal(err)
			}
			if most := 6*15*maxStoredText + maxStoredEffects + 3*maxStoredList; len(data) > most {
				t.Errorf("it has %d bytes, more than %d", len(data), most)
			}
			kept := r.Decision.Effects
			if len(kept)+r.LeftOut != n || len(kept) < 100 || len(r.Details) != len(kept) {
				t.Fatalf("%d effects with %d details are stored, %d left out", len(kept), len(r.Details), r.LeftOut)
			}
			var rows []int
			for i, e := range kept {
				if e.Verdict != Allow {
					rows = append(rows, e.Row)
				}
				if r.Details[i].Port != e.Row {
					t.Fatalf("the details of effect %d are those of %d", e.Row, r.Details[i].Port)
				}
			}
			if diff := cmp.Diff([]int{7, n - 2, n - 1}, rows); diff != "" {
				t.Error(diff)
			}
			if len(d.Effects) != n || len(d.Widths) != n || d.Reason != long {
				t.Error("the decision was changed")
			}
		})
	}
}

// TestBoundRecordWhole: an ordinary record is stored as it is.
func TestBoundRecordWhole(t *testing.T) {
	r := Record{Time: time.Unix(1, 0), Tool: strings.Repeat("t", maxStoredText), Decision: Decision{
		ID: "d", Reason: "because", Effects: make([]EffectDecision, 100), Widths: []Width{{ID: "w"}}, Defects: []effects.Defect{{Code: "c"}},
	}, Session: SessionRef{ID: "s", Ancestors: []string{"a"}}, Details: make([]EffectDetail, 100)}
	whole := r
	r.bound()
	if diff := cmp.Diff(whole, r); diff != "" {
		t.Error(diff)
	}
}

// TestBoundTexts: a list is the same one if all of it fits, and otherwise a bounded copy.
func TestBoundTexts(t *testing.T) {
	for name, tt := range map[string]struct {
		list []string
		same bool
	}{
		"fits":          {[]string{"a", strings.Repeat("x", maxStoredText)}, true},
		"a long one":    {[]string{"a", strings.Repeat("x", maxStoredText+1)}, false},
		"its mark fits": {[]string{strings.Repeat("x", maxStoredText+len("…"))}, false},
		"many":          {slices.Repeat([]string{"a"}, maxStoredList), false},
	} {
		before := slices.Clone(tt.list)
		got := boundTexts(tt.list)
		if same := &got[0] == &tt.list[0] && len(got) == len(tt.list); same != tt.same {
			t.Errorf("%s: the same list: %v", name, same)
		}
		if !slices.Equal(before, tt.list) {
			t.Errorf("%s: the list was changed", name)
		}
		for _, s := range got {
			if len(s) > maxStoredText+len("…") {
				t.Errorf("%s: a text has %d bytes", name, len(s))
			}
		}
		if n := cost(got...); n > maxStoredList {
			t.Errorf("%s: the list costs %d", name, n)
		}
	}
}
