package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/testload"
)

// TestCopiesOracle runs cp, mv, ln and install of GNU coreutils with each way of
// naming a target, and compares the files, folders and links that changed with the
// effects' writes and deletes.
func TestCopiesOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs each way to copy a file")
	}
	t.Parallel()
	table := effectstest.Table(t)
	heads := []string{
		"cp", "cp -r", "cp -a", "cp -rf", "cp --remove-destination", "cp -r --parents", "mv", "mv -f", "mv -n", "ln", "ln -f", "ln -s", "ln -sr", "ln -sf", "ln -sfn", "ln -snf", "ln -fn",
		"install", "install -D", "install -m 644", "install -C", "install -v -p",
	}
	for _, program := range []string{"cp", "mv", "ln", "install"} {
		out, err := exec.Command(program, "--version").Output()
		if err != nil || !strings.Contains(string(out), "GNU coreutils") {
			t.Skipf("%s of GNU coreutils is missing: %v", program, err)
		}
	}
	sources := []string{"f", "s", "lf", "ls", "f s", "s/sub/y", "none", "s/", "./s/.", "s/../f"}
	targets := []string{"e", "d", "n", "g", "l", "lg", "lx", "e/", "d/", "n/", "g/", "l/", ".", "d/n", "d/n/", "n/n", "./d/../e", "d/s", "deep/s"}
	tried, happened := 0, 0
	drawn := testload.OneIn(t, 100)
	for _, program := range heads {
		for _, source := range sources {
			for _, target := range targets {
				forms := []string{
					program + " " + source + " " + target, program + " -T " + source + " " + target, program + " " + source + " --no-target-directory " + target,
					program + " -t " + target + " " + source, program + " --target-directory=" + target + " " + source,
				}
				for _, text := range forms {
					if !drawn() {
						continue
					}
					if tried++; copyTried(t, table, text) {
						happened++
					}
				}
			}
		}
	}
	for _, program := range heads {
		copyTried(t, table, program+" s/x") // the link is made here
	}
	for _, text := range []string{"install -d n", "install -d n/n d/n", "install -D -t n/n f", "install -D f n/n/n", "install -DT f n/n/n", "install -d -m 700 n"} {
		if !copyTried(t, table, text) {
			t.Errorf("%s: did nothing", text)
		}
	}
	if happened < tried/8 {
		t.Errorf("%d of %d commands changed something", happened, tried)
	}
}

// copyTried runs one command in a folder of its own and reports whether it changed
// anything.
func copyTried(t *testing.T, table *programs.Table, text string) bool {
	t.Helper()
	root, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"s/sub", "e", "d/s", "deep/s/sub"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	for _, file := range []string{"f", "g", "s/x", "s/sub/y", "d/x"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(root, file), []byte(file), 0o600))
	}
	for link, to := range map[string]string{"lf": "f", "ls": "s", "l": "d", "lg": "g", "lx": "nowhere"} {
		err = errors.Join(err, os.Symlink(to, filepath.Join(root, link)))
	}
	if err != nil {
		t.Fatal(err)
	}
	effs := copyEffects(table, root, text)
	before := snapshot(t, root)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	words := strings.Fields(text)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env = root, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	out, _ := cmd.CombinedOutput()
	after := snapshot(t, root)
	changed := false
	for name := range after {
		if before[name] != after[name] {
			changed = true
			if !foretold(effs, filepath.Join(root, name), false) && (before[name] != "" || !leadsTo(effs, filepath.Join(root, name), after[name])) {
				t.Errorf("%s: %s is %s, was %q; effects:\n%s%s", text, name, after[name], before[name], shown(effs), out)
			}
		}
	}
	for name := range before {
		if after[name] == "" {
			changed = true
			if !foretold(effs, filepath.Join(root, name), true) {
				t.Errorf("%s: %s is gone; effects:\n%s%s", text, name, shown(effs), out)
			}
		}
	}
	return changed
}

func copyEffects(table *programs.Table, root, text string) []effects.Effect {
	return onDisk(table, "/home/ana", root, text).Effects
}

func shown(effs []effects.Effect) string {
	var b strings.Builder
	for i := range effs {
		b.WriteString("\t" + effectstest.Compact(&effs[i]) + "\n")
	}
	return b.String()
}

// foretold reports whether the effects say that the file at a path may be changed
// or deleted. An unknown effect says so for every path.
func foretold(effs []effects.Effect, file string, gone bool) bool {
	for i := range effs {
		e := &effs[i]
		switch {
		case e.Kind == effects.KindUnknown:
			return true
		case e.File == nil, e.Kind != effects.KindWrite && e.Kind != effects.KindDelete:
			continue
		case e.File.Path == file:
			return true // a write may or may not replace the old file
		case gone && e.Kind != effects.KindDelete:
			continue
		}
		if e.File.Recursive && lexpath.Below(e.File.Path, file) {
			return true
		}
	}
	return false
}

// leadsTo reports whether a new folder was needed for a path that is written.
func leadsTo(effs []effects.Effect, file, what string) bool {
	return strings.HasPrefix(what, "d") && slices.ContainsFunc(effs, func(e effects.Effect) bool {
		return e.Kind == effects.KindWrite && e.File != nil && lexpath.Below(file, e.File.Path)
	})
}

// snapshot returns what each name below a folder is.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || file == root {
			return err
		}
		name, _ := filepath.Rel(root, file)
		info, err := entry.Info()
		if err != nil {
			return err
		}
		what := info.Mode().Type().String()
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			what += fmt.Sprint(" ", st.Ino)
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(file)
			if err != nil {
				return err
			}
			what += " to " + to
		case info.Mode().IsRegular():
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			what += " " + info.Mode().Perm().String() + " " + string(data)
		}
		found[name] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
