//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// testWorker makes a worker as hunt does. It skips the test if a program is
// missing.
func testWorker(t *testing.T, needs ...string) *worker {
	t.Helper()
	for _, name := range append(needs, "gcc", "bash") {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("missing: %s", name)
		}
	}
	if err := findShells("bash,dash,zsh,busybox"); err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "permd-shells-test-") // only its owner can enter the parent of t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	rules, err := openRules()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rules.Close(); err != nil {
			t.Error(err)
		}
	})
	h := &hunter{o: &options{seed: 1}, dir: dir, rules: rules, seen: map[uint64]bool{}, sum: newSummary()}
	if h.stub, err = compileStub(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	w, err := h.worker(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

func TestSandbox(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the real shells")
	}
	w := testWorker(t)
	box, err := w.box(&trial{agent: &agents[0]})
	if err != nil {
		t.Fatal(err)
	}
	box.limit = 500 * time.Millisecond
	for shell := range shellPath {
		t.Run(shell, func(t *testing.T) {
			o, err := box.run(t.Context(), shell, "cd src && a 'x y' \"$HOME\" | b; rd < a.txt > new; c & wait; rm a.txt")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range o.ran {
				r := &o.ran[i]
				got = append(got, strings.Join([]string{r.name(), strings.Join(r.args, "|"), r.cwd, string(r.stdin), r.text}, " "))
			}
			slices.Sort(got)
			want := []string{
				"a x y|/home/dev /home/dev/project/src inherited ",
				"b  /home/dev/project/src pipe ",
				"c  /home/dev/project/src null ",
				"rd  /home/dev/project/src file src\n",
				"rm a.txt /home/dev/project/src inherited ",
			}
			if shell == "zsh" { // a command in the background reads the shell's standard input
				want[2] = strings.Replace(want[2], "null", "inherited", 1)
			}
			got = slices.Compact(got)
			if !slices.Equal(got, want) && !slices.Equal(got, replace(want, 2, "null")) {
				t.Errorf("ran\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if len(o.changed) != 1 || o.changed[0] != (change{path: project + "/src/new"}) {
				t.Errorf("changed %v", o.changed)
			}
			if _, err := os.Lstat(filepath.Join(box.root, project, "src/new")); err == nil {
				t.Error("the folder was not restored")
			}
		})
	}
	t.Run("closed", func(t *testing.T) {
		o, err := box.run(t.Context(), "bash", "say x >&-; cat <&-; a <&- >&- 2>&-")
		if err != nil {
			t.Fatal(err)
		}
		if len(o.ran) != 3 || o.ran[0].stdin != stdinInherited || o.ran[1].stdin != stdinClosed || o.ran[2].stdin != stdinClosed {
			t.Errorf("ran %+v", o.ran)
		}
	})
	t.Run("script", func(t *testing.T) {
		for _, text := range []string{"./evil.sh", "sh evil.sh", ". ./evil.sh", "evil.sh"} {
			o, err := box.run(t.Context(), "bash", text)
			if err != nil {
				t.Fatal(err)
			}
			if len(o.ran) != 1 || !slices.Contains(canaries, filepath.Base(o.ran[0].exe)) {
				t.Errorf("%q ran %v", text, o.ran)
			}
		}
	})
	t.Run("bounds", func(t *testing.T) {
		for _, text := range []string{"while :; do :; done", "(while :; do :; done) & disown", "set -m; (while :; do :; done) &", "while :; do a x; done"} {
			start := time.Now()
			o, err := box.run(t.Context(), "bash", text)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("%q took %s", text, took)
			}
			if len(o.ran) == 0 != !strings.Contains(text, "a x") {
				t.Errorf("%q ran %d programs", text, len(o.ran))
			}
		}
	})
}

func replace(list []string, i int, stdin string) []string {
	list = slices.Clone(list)
	list[i] = strings.Replace(list[i], "inherited", stdin, 1)
	return list
}
