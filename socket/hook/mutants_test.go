package hook

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/hook/hooktest"
)

// TestMutants: whatever is wrong with a harness's input, a denied call stays
// denied, and an ask by a rule never becomes a run.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it reads thousands of changed calls")
	}
	for _, name := range stdins(t) {
		t.Run(name, func(t *testing.T) {
			h, all := harness(name), hooktest.Mutants(sample(t, name))
			if len(all) < 200 {
				t.Fatalf("only %d mutants", len(all))
			}
			read := 0
			for _, m := range all {
				r, err := h.Read(m.Text)
				if err != nil {
					if got := means(t, h, "", h.Failed(nil, err.Error())); got != stops {
						t.Errorf("%s: not read, and it %s", m.Name, got)
					}
					continue
				}
				read++
				if strings.HasSuffix(m.Name, "twice") || strings.HasSuffix(m.Name, "first") || strings.Contains(m.Name, "cut at") {
					t.Errorf("%s is read", m.Name)
				}
				if got := means(t, h, r.Event, h.Answer(r, &decisions.Decision{Verdict: decisions.Deny, Reason: "no"})); got != stops {
					t.Errorf("%s: a no, and it %s", m.Name, got)
				}
				for _, o := range []Output{h.Answer(r, byRule), h.Failed(r, "no daemon")} {
					got := means(t, h, r.Event, o)
					if got == runs || got == leaves && r.Event != permissionRequest {
						t.Errorf("%s: a question, and it %s", m.Name, got)
					}
				}
				// No opinion is for modes in which it is known what comes of it.
				byDefault := h.Answer(r, &decisions.Decision{ID: "d", Verdict: decisions.Ask, Needed: decisions.NeededByDefault, Reason: "why"})
				got := means(t, h, r.Event, byDefault)
				known := r.Mode == "default" && (h.Name == "claude" || h.Name == "codex") || h.Name == "claude" && r.Event == permissionRequest
				if got == runs || got == leaves && !known {
					t.Errorf("%s: a question by default, and it %s in mode %.20q", m.Name, got, r.Mode)
				}
			}
			if read < 10 {
				t.Errorf("only %d mutants are read", read)
			}
		})
	}
}

// FuzzRead: no input makes a harness run what permd denies.
func FuzzRead(f *testing.F) {
	for _, name := range stdins(f) {
		f.Add(strings.Split(name, "/")[0], sample(f, name))
	}
	f.Fuzz(func(t *testing.T, name string, in []byte) {
		h := ByName(name)
		if h == nil {
			return
		}
		r, err := h.Read(in)
		if err != nil {
			if got := means(t, h, "", h.Failed(nil, err.Error())); got != stops {
				t.Errorf("not read, and it %s", got)
			}
			return
		}
		if got := means(t, h, r.Event, h.Answer(r, &decisions.Decision{Verdict: decisions.Deny, Reason: string(in)})); got != stops {
			t.Errorf("a no, and it %s", got)
		}
		if got := means(t, h, r.Event, h.Answer(r, &decisions.Decision{ID: "d", Verdict: decisions.Ask, Reason: string(in), Needed: decisions.NeededByRule})); got == runs {
			t.Error("a question, and it runs")
		}
	})
}
