package service

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/cmd/permd/internal/files"
	"github.com/permd/permd/internal/xdg"
)

// machine returns the folders of a person on a system, with an empty home.
func machine(t *testing.T, system string) xdg.Dirs {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"HOME": home}
	dirs, err := xdg.Find(xdg.Env{Getenv: func(n string) string { return vars[n] }, UID: os.Geteuid(), OS: system}, xdg.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// TestManagers: what a service manager's units are, from the first installation to their
// removal: of macOS too, whose files are the same on every system.
func TestManagers(t *testing.T) {
	for system, want := range map[string]struct {
		written, enabled, installed, again, removed []string
	}{
		"linux": {
			[]string{"permd.socket", "permd-admin.socket", "permd.service"},
			[]string{"sockets.target.wants/permd.socket", "sockets.target.wants/permd-admin.socket"},
			[]string{"systemctl --user daemon-reload", "systemctl --user enable --now permd.socket permd-admin.socket", "permd doctor"},
			[]string{"systemctl --user daemon-reload", "systemctl --user enable --now permd.socket permd-admin.socket", "permd doctor"},
			[]string{"systemctl --user stop permd.socket permd-admin.socket permd.service", "systemctl --user daemon-reload"},
		},
		"darwin": {
			[]string{"io.github.permd.permd.plist"},
			nil,
			[]string{"launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/io.github.permd.permd.plist", "permd doctor"},
			[]string{
				"launchctl bootout gui/$(id -u)/io.github.permd.permd",
				"launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/io.github.permd.permd.plist", "permd doctor",
			},
			[]string{"launchctl bootout gui/$(id -u)/io.github.permd.permd"},
		},
	} {
		t.Run(system, func(t *testing.T) {
			m, dirs := of(system), machine(t, system)
			done := func(r *Report, err error) (all []string) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range r.Files {
					name, _ := filepath.Rel(m.Dir(dirs), f.Path)
					all = append(all, f.Action+" "+name)
				}
				return all
			}
			each := func(action string, names []string) (all []string) {
				for _, name := range names {
					all = append(all, action+" "+name)
				}
				return all
			}
			same := func(what string, want, got []string) {
				t.Helper()
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: (-want +got)\n%s", what, diff)
				}
			}
			units := func(program string) *Report {
				t.Helper()
				list, err := m.Units(program, dirs)
				if err != nil {
					t.Fatal(err)
				}
				r, err := m.Install(dirs, list, false)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			if m.Installed(dirs) {
				t.Error("units are there before they are installed")
			}
			r := units("/usr/local/bin/permd")
			same("installed", each("wrote", want.written), done(r, nil))
			same("then", want.installed, r.Next)
			if !m.Installed(dirs) {
				t.Error("there are no units")
			}
			for _, folder := range m.folders(dirs) {
				if err := xdg.CheckOwn(folder, uint32(os.Geteuid()), 0o077); err != nil {
					t.Error(err)
				}
			}
			r = units("/usr/local/bin/permd")
			same("the same again", each("unchanged", want.written), done(r, nil))
			r = units("/opt/permd")
			if !slices.ContainsFunc(r.Files, func(f files.Change) bool { return f.Action == "wrote" }) {
				t.Error("another program changes nothing")
			}
			same("then again", want.again, r.Next)
			last := filepath.Join(m.Dir(dirs), m.Names[len(m.Names)-1])
			text, there, own, err := ReadUnit(last)
			if program, plain := m.Program(string(text)); err != nil || !there || !own || program != "/opt/permd" || !plain {
				t.Errorf("%s: %v, %v, %q, %v, %v", last, there, own, program, plain, err)
			}
			r = &Report{}
			if err := m.SetEnabled(dirs, r); err != nil {
				t.Fatal(err)
			}
			same("enabled", each("enabled", want.enabled), done(r, nil))

			changed := append(slices.Clone(text), " \n"...)
			if err := os.WriteFile(last, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			list, err := m.Units("/usr/local/bin/permd", dirs)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Install(dirs, list, false); err == nil || !strings.Contains(err.Error(), last) {
				t.Errorf("a unit that was changed is written over: %v", err)
			}
			if _, err := m.Remove(dirs, false); err == nil || m.Removable(dirs) == nil {
				t.Error("a unit that was changed is removed")
			}
			if got, err := os.ReadFile(last); err != nil || !bytes.Equal(got, changed) {
				t.Errorf("it became %q, %v", got, err)
			}
			r, err = m.Remove(dirs, true)
			same("removed", each("removed", append(slices.Clone(want.enabled), want.written...)), done(r, err))
			same("then", want.removed, r.Next)
			r, err = m.Remove(dirs, false)
			same("removed again", each("absent", want.written), done(r, err))
			same("then nothing", []string{}, append([]string{}, r.Next...))
		})
	}
	if of("plan9") != nil {
		t.Error("plan9 has a service manager")
	}
}

// TestAgentFolders: nothing is written where others could put their sockets in the place of
// launchd's.
func TestAgentFolders(t *testing.T) {
	dirs := machine(t, "darwin")
	if err := os.MkdirAll(dirs.Run, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dirs.Run, 0o755); err != nil {
		t.Fatal(err)
	}
	units, err := launchd.Units("/usr/local/bin/permd", dirs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := launchd.Install(dirs, units, false); err == nil || !strings.Contains(err.Error(), dirs.Run) {
		t.Errorf("have %v", err)
	}
	if launchd.Installed(dirs) {
		t.Error("the agent was written")
	}
}

// TestMark: the mark of a property list is a comment after its declaration, and any change of
// the rest, or of the declaration, shows.
func TestMark(t *testing.T) {
	const list = "<?xml version=\"1.0\"?>\n<plist>\n</plist>\n"
	marked := Marked(list)
	if !bytes.HasPrefix(marked, []byte("<?xml version=\"1.0\"?>\n<!-- Written by permd")) || !isOwnUnit(marked) {
		t.Errorf("have %s", marked)
	}
	for name, other := range map[string][]byte{
		"no mark":             []byte(list),
		"another declaration": bytes.Replace(marked, []byte("1.0"), []byte("1.1"), 1),
		"another end":         append(slices.Clone(marked), '\n'),
		"no end of the line":  []byte("<?xml version=\"1.0\"?>"),
		"another mark":        bytes.Replace(marked, []byte("follows: "), []byte("follows: 0"), 1),
		"a mark of a unit":    Marked(strings.TrimPrefix(list, "<?xml version=\"1.0\"?>\n"))[:20],
		"nothing":             nil,
	} {
		if isOwnUnit(other) {
			t.Errorf("%s is permd's: %s", name, other)
		}
	}
}
