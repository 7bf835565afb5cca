package review

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
)

var update = flag.Bool("update", false, "write the screens anew")

// hostile is text that would do something to a terminal, or lie in it.
const hostile = "x\x1b[2J\x1b]0;title\a\u202egnp.exe\u202c <b>bold</b>\r\n\t漢字かな👩‍👩‍👧 é end"

func filledDaemon() *fake {
	f := &fake{questions: []admin.Question{questionOf("frob", time.Minute), questionOf("make test", time.Hour)}}
	for i := range int64(150) {
		f.records = append(f.records, recordOf(i+1, []decisions.Verdict{"allow", "allow", "ask", "deny"}[i%4], []string{"git status", "make test", "rm -rf /"}[i%3]))
	}
	f.records[149].Unreadable, f.records[149].Decision.Effects = "not JSON", nil
	f.records[148].Time = start.AddDate(0, 0, -1)
	f.records[147].Decision.Effects[0].Reason, f.records[147].Decision.Effects[0].Rules[0].Title = "Nobody does that", "" // as of a line in rules.yaml
	f.records[146].Decision.Effects[0].Rules, f.records[146].Decision.Effects[0].ChoiceID = nil, "k9"
	f.records[146].Decision.Effects[0].Reason = "remembered: make *"
	f.choices = []admin.Choice{choiceOf("k1", "npm test"), choiceOf("k2", "make *"), choiceOf("k3", "git push")}
	f.choices[1].Dormant, f.choices[1].Scope, f.choices[1].Of = true, "user", ""
	f.choices[2].Line = true
	f.choices[2].CoveredBy, f.choices[2].Expires = "k2", start.Add(time.Hour)
	bad := questionOf("bad", time.Minute)
	bad.Effects, bad.Reason, bad.Harness, bad.Arguments, bad.Cwd = []string{"run " + hostile, strings.Repeat("寿司", 100)}, hostile, hostile, hostile, hostile
	f.questions = append(f.questions, bad)
	return f
}

// TestScreens: what the page shows, in a terminal of 80 columns, of 40, and in a very small one.
func TestScreens(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]string{
		"questions":    "",
		"second":       "j",
		"hostile":      "j j",
		"explain":      "e",
		"allow":        "A right tab right",
		"allowed":      "A enter",
		"once":         "a",
		"denied":       "d",
		"deny":         "D right",
		"reject":       "D enter",
		"decisions":    "2",
		"unreadable":   "2 e",
		"filter":       "2 / v e r d i c t : d e n y enter",
		"paused":       "2 space",
		"choices":      "3 j",
		"choice":       "3 e",
		"forget":       "3 x",
		"forgotten":    "3 x y",
		"back":         "3 x y u",
		"change":       "3 c right",
		"line":         "3 j j c up ctrl+u r u n",
		"changed":      "3 c right right enter",
		"rules":        "4",
		"help":         "?",
		"no such word": "/ z z z enter",
	} {
		for _, size := range []struct {
			name          string
			width, height int
		}{{"80x24", 80, 24}, {"40x12", 40, 12}, {"20x6", 20, 6}} {
			t.Run(name+" "+size.name, func(t *testing.T) {
				t.Parallel()
				d := newDriver(filledDaemon())
				d.resize(size.width, size.height)
				d.keys(strings.Fields(keys)...)
				d.f.now = d.f.now.Add(time.Second)
				golden(t, strings.ReplaceAll(name, " ", "_")+"_"+size.name, d.screen())
			})
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "screens", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the screen differs (-want +got); if it must: go test ./cmd/permd/internal/review -run TestScreens -update\n%s", diff)
	}
}
