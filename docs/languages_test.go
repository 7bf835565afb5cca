package docs

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestLanguageExamples decides the commands of languages.md.
func TestLanguageExamples(t *testing.T) {
	w := newWorld(t, rules{})
	fs := w.fs
	for name, version := range map[string]string{"app.db": "\x01\x01", "log.db": "\x02\x02"} {
		fs.File(w.project+"/"+name, "SQLite format 3\x00\x10\x00"+version+strings.Repeat("\x00", 80))
	}
	fs.File(w.project+"/.env", "KEY=x\n")
	count := map[string]int{}
	for _, b := range read(t, "languages.md").blocks {
		want := map[string]decisions.Verdict{"understood": decisions.Allow, "asks": decisions.Ask}[b.info]
		if want == "" {
			t.Errorf("line %d: a block of %q", b.first, b.info)
			continue
		}
		for line := range strings.Lines(b.text) {
			count[b.info]++
			if got := w.decide(t, w.call(t, strings.TrimSpace(line))); got.Verdict != want {
				t.Errorf("%s: it is %s (%s), want %s", line, got.Verdict, got.Reason, want)
			}
		}
	}
	if count["understood"] < 12 || count["asks"] < 12 {
		t.Errorf("only %v examples", count)
	}
}
