package shell

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

func TestDisturbanceWrote(t *testing.T) {
	table := effectstest.Table(t)
	after := func(text string) *effects.Disturbance {
		b := shellBuilder(table, effectstest.Files())
		Text(b, text, effectstest.Cwd, "command")
		d := b.After()
		return &d
	}
	for _, tt := range []struct {
		text, file string
		want       bool
	}{
		{"echo x > a", "/a", true}, {"echo x > a", "/A", true}, {"echo x > a", "/ab", false}, {"echo x > a", "/a/b", false}, {"rm -r a", "/a/b", true},
		{"cp -r src docs", "/docs/src/x", true}, {"cat a.txt", "/a.txt", false}, {"git checkout x", "/a", true}, {"mv src docs", "/src/x", true},
	} {
		if got := after(tt.text).MayWrite(effectstest.Cwd + tt.file); got != tt.want {
			t.Errorf("%s, %s: got %v", tt.text, tt.file, got)
		}
	}
	if d := effects.UnknownDisturbance(); !d.MayWrite("/x") {
		t.Error("everything leaves something out")
	}
	if d := (&effects.Disturbance{}); d.MayWrite("/x") {
		t.Error("nothing wrote something")
	}
	var many strings.Builder
	for i := range effects.MaxDisturbed + 1 {
		fmt.Fprintf(&many, "echo >a%d;", i)
	}
	if d := after(many.String()); !d.MayWrite("/x") || d.Unknown {
		t.Errorf("too many writes: wrote %v, lost %v", d.MayWrite("/x"), d.Unknown)
	}
}
