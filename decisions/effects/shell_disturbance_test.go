package effects

import (
	"fmt"
	"strings"
	"testing"
)

func TestDisturbanceWrote(t *testing.T) {
	table := shippedTable(t)
	after := func(text string) *Disturbance {
		b := shellBuilder(table, shellFiles())
		shellText(b, text, testCwd, "command")
		d := b.after()
		return &d
	}
	for _, tt := range []struct {
		text, file string
		want       bool
	}{
		{"echo x > a", "/a", true}, {"echo x > a", "/A", true}, {"echo x > a", "/ab", false}, {"echo x > a", "/a/b", false}, {"rm -r a", "/a/b", true},
		{"cp -r src docs", "/docs/src/x", true}, {"cat a.txt", "/a.txt", false}, {"git checkout x", "/a", true}, {"mv src docs", "/src/x", true},
	} {
		if got := after(tt.text).Wrote(testCwd + tt.file); got != tt.want {
			t.Errorf("%s, %s: got %v", tt.text, tt.file, got)
		}
	}
	if d := Everything(); !d.Wrote("/x") {
		t.Error("everything leaves something out")
	}
	if d := (&Disturbance{}); d.Wrote("/x") {
		t.Error("nothing wrote something")
	}
	var many strings.Builder
	for i := range maxDisturbed + 1 {
		fmt.Fprintf(&many, "echo >a%d;", i)
	}
	if d := after(many.String()); !d.Wrote("/x") || d.lost {
		t.Errorf("too many writes: wrote %v, lost %v", d.Wrote("/x"), d.lost)
	}
}
