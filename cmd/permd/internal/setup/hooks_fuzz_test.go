package setup

import (
	"bytes"
	"testing"
	"time"
)

// FuzzHooks: into whatever file of a harness permd's hook is installed, it is there once
// and asks; removed, nothing of it is left; and what is left is installed into as before.
// A file that cannot be changed safely is refused.
func FuzzHooks(f *testing.F) {
	for harness, files := range awkward {
		for _, file := range files {
			f.Add(harness, file.text)
		}
	}
	for _, text := range []string{
		`{"hooks": {"PreToolUse": [{"hooks": [{"command": "/usr/bin/permd hook claude || exit 2", "timeout": 10}]}]}}`, `{"disableAllHooks": true}`, "hooks = []\n", "[features]\nhooks = false\n", "[hooks]\nPreToolUse = []\n",
		"x = '''\n" + tomlBegin + "\n'''\n", tomlBegin + "\n" + tomlEnd + "\n", "[features]\r\n", "hooks.PreToolUse = [{matcher = 'x'}]\n",
	} {
		for harness := range awkward {
			f.Add(harness, text)
		}
	}
	f.Fuzz(func(t *testing.T, harness, text string) {
		places := hookPlaces("/root-of-none", harness, "/home/ana", hookOptions{wait: time.Duration(len(text)%3) * time.Minute, system: len(text)%2 == 1})
		if len(places) == 0 || len(text) > 1<<16 {
			return
		}
		edit := places[0].edit
		before, err := edit.check([]byte(text))
		if err != nil || len(before.programs) > 0 {
			return
		}
		written, err := edit.install([]byte(text), testProgram)
		if err != nil {
			return
		}
		is, err := edit.check(written)
		if err != nil || len(is.programs) != 1 || len(is.problems) > 0 {
			t.Fatalf("%s: %q became %q: %+v, %v", harness, text, written, is, err)
		}
		rest, found, err := edit.remove(written)
		if err != nil || !found {
			t.Fatalf("%s: permd cannot be taken from %q: %v", harness, written, err)
		}
		if left, err := edit.check(rest); err != nil || len(left.programs) > 0 {
			t.Fatalf("%s: in %q is left %+v, %v", harness, rest, left, err)
		}
		again, err := edit.install(rest, testProgram)
		if err != nil {
			t.Fatalf("%s: into %q, of %q, it is not installed again: %v", harness, rest, text, err)
		}
		more, found, err := edit.remove(again)
		if err != nil || !found || !bytes.Equal(more, rest) {
			t.Fatalf("%s: removed twice, %q is %q, %v", harness, rest, more, err)
		}
	})
}
