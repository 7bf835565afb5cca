package shell

import (
	"fmt"
	"slices"
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

// TestFolderAfterRearranging: what is checked out may have a link in the place of a folder, so a
// program that then runs there may run anywhere. The folder of the call is entered before.
func TestFolderAfterRearranging(t *testing.T) {
	table := effectstest.Table(t)
	for text, known := range map[string]bool{
		"git checkout topic && cd src && make check":      false,
		"git pull; (cd src; make check)":                  false,
		"git checkout topic && make check":                true,
		"git checkout topic && cd src/.. && make check":   true,
		"cd src && make check":                            true,
		"git log -1 && cd src && make check":              true,
		"echo x > a.txt && cd src && make check":          true,
		"git checkout topic && cd /usr/lib && make check": true,
	} {
		b := shellBuilder(table, effectstest.Files())
		Text(b, text, effectstest.Cwd, "command")
		i := slices.IndexFunc(b.Effects, func(e effects.Effect) bool { return e.Run != nil && e.Run.Program == "make" })
		if i < 0 {
			t.Errorf("%s: no run of make", text)
			continue
		}
		e := &b.Effects[i]
		if got := e.Run.Folder != ""; got != known || !known && !e.Tags.Has(effects.Outside) {
			t.Errorf("%s: in %q with %v, want known: %v", text, e.Run.Folder, e.Tags.Names(), known)
		}
	}
}
