package decisions

import (
	"errors"
	"io/fs"
	"path"
	"testing"
)

// TestHoldsAllowed: a late approval of a call that would be allowed by now is one of what the
// person saw: the same effects, and the same contents of files.
func TestHoldsAllowed(t *testing.T) {
	for name, tt := range map[string]struct {
		command, now string
		file         string // its content by then
		want         bool
	}{
		"the same":                 {command: "tool a", now: "tool a", file: "1", want: true},
		"another content":          {command: "tool a", now: "tool a", file: "2"},
		"a file that is gone":      {command: "tool a", now: "tool a"},
		"code of the same content": {command: "sh a", now: "sh a", file: "1", want: true},
		"code of another content":  {command: "sh a", now: "sh a", file: "2"},
		"another effect":           {command: "tool a", now: "tool b", file: "1"},
		"an effect less":           {command: "tool a; tool b", now: "tool a", file: "1"},
		"an effect more":           {command: "tool a", now: "tool a; tool b", file: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			p, m, _, e := newFakes(t)
			p.fired = nil
			dir, file := repository(t), "1"
			e.digest = func(name string, _ int64) (string, int64, error) {
				if path.Base(name) != "a" || file == "" {
					return "", 0, fs.ErrNotExist
				}
				return "sum " + file, int64(len(file)), nil
			}
			d := e.Decide(t.Context(), bashIn(dir, tt.command))[0]
			if d.Verdict != Ask || len(d.Contents) == 0 {
				t.Fatalf("%s, %v", d.Verdict, d.Contents)
			}
			m.allow, file = &Choice{ID: "y"}, tt.file
			now := bashIn(dir, tt.now)
			if d := e.Decide(t.Context(), bashIn(dir, tt.now))[0]; d.Verdict != Allow {
				t.Fatalf("now: %s: %s", d.Verdict, d.Reason)
			}
			err := e.Holds(t.Context(), now, d)
			if tt.want && err != nil || !tt.want && !errors.Is(err, ErrChanged) {
				t.Errorf("Holds = %v, want %v", err, tt.want)
			}
		})
	}
}
