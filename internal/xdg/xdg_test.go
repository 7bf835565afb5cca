package xdg

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// machine returns the environment of a fake machine with those variables.
func machine(t *testing.T, vars map[string]string) Env {
	t.Helper()
	return Env{
		Getenv:   func(name string) string { return vars[name] },
		UID:      os.Geteuid(),
		Hostname: "host",
		System:   t.TempDir(),
	}
}

func mkdir(t *testing.T, dir string, mode fs.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return dir
}

const hostRun = "run-4740ae63" // of the host name "host"

func TestFind(t *testing.T) {
	run := mkdir(t, filepath.Join(t.TempDir(), "run"), 0o700)
	open := mkdir(t, filepath.Join(t.TempDir(), "open"), 0o755)
	tests := []struct {
		name string
		vars map[string]string
		root string
		want Dirs // Org without the fake machine's root
	}{
		{"defaults", map[string]string{"HOME": "/home/u"}, "", Dirs{
			Org: "/etc/permd", Config: "/home/u/.config/permd", Data: "/home/u/.local/share/permd",
			State: "/home/u/.local/state/permd",
			Run:   "/home/u/.local/state/permd/" + hostRun, Admin: "/home/u/.local/state/permd-admin/" + hostRun,
			HTTP: "/home/u/.local/state/permd-http/" + hostRun,
		}},
		{"all set", map[string]string{
			"HOME": "/home/u", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d/", "XDG_STATE_HOME": "/s/../s",
			"XDG_RUNTIME_DIR": run,
		}, "", Dirs{
			Org: "/etc/permd", Config: "/c/permd", Data: "/d/permd", State: "/s/permd",
			Run: run + "/permd", Admin: run + "/permd-admin", HTTP: run + "/permd-http",
		}},
		{"relative values are ignored", map[string]string{
			"HOME": "/home/u", "XDG_CONFIG_HOME": "c", "XDG_DATA_HOME": "./d", "XDG_RUNTIME_DIR": "run",
		}, "", Dirs{
			Org: "/etc/permd", Config: "/home/u/.config/permd", Data: "/home/u/.local/share/permd",
			State: "/home/u/.local/state/permd",
			Run:   "/home/u/.local/state/permd/" + hostRun, Admin: "/home/u/.local/state/permd-admin/" + hostRun,
			HTTP:    "/home/u/.local/state/permd-http/" + hostRun,
			Ignored: []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"},
		}},
		{"a runtime folder open to others is ignored", map[string]string{"HOME": "/home/u", "XDG_RUNTIME_DIR": open}, "", Dirs{
			Org: "/etc/permd", Config: "/home/u/.config/permd", Data: "/home/u/.local/share/permd",
			State: "/home/u/.local/state/permd",
			Run:   "/home/u/.local/state/permd/" + hostRun, Admin: "/home/u/.local/state/permd-admin/" + hostRun,
			HTTP:    "/home/u/.local/state/permd-http/" + hostRun,
			Ignored: []string{"XDG_RUNTIME_DIR"},
		}},
		{"root moves /etc only", map[string]string{"HOME": "/home/u", "XDG_RUNTIME_DIR": run}, "/trial", Dirs{
			Org: "/trial/etc/permd", Config: "/home/u/.config/permd", Data: "/home/u/.local/share/permd",
			State: "/home/u/.local/state/permd",
			Run:   run + "/permd", Admin: run + "/permd-admin", HTTP: run + "/permd-http",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := machine(t, tt.vars)
			got, err := Find(e, Options{Root: tt.root})
			if err != nil {
				t.Fatal(err)
			}
			got.Org = strings.TrimPrefix(got.Org, e.System)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("folders differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindRuntimeOfLogin(t *testing.T) {
	e := machine(t, map[string]string{"HOME": "/home/u"})
	run := mkdir(t, filepath.Join(e.System, "run", "user", strconv.Itoa(e.UID)), 0o700)
	d, err := Find(e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.Socket(), filepath.Join(run, "permd", "permd.sock"); got != want {
		t.Errorf("socket %s, want %s", got, want)
	}
	if got, want := d.AdminSocket(), filepath.Join(run, "permd-admin", "admin.sock"); got != want {
		t.Errorf("management socket %s, want %s", got, want)
	}
}

func TestFindRuntimeOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving a folder to another user needs root")
	}
	theirs := mkdir(t, filepath.Join(t.TempDir(), "run"), 0o700)
	if err := os.Chown(theirs, 65534, -1); err != nil {
		t.Fatal(err)
	}
	d, err := Find(machine(t, map[string]string{"HOME": "/home/u", "XDG_RUNTIME_DIR": theirs}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(d.Run, theirs) || !cmp.Equal(d.Ignored, []string{"XDG_RUNTIME_DIR"}) {
		t.Errorf("run %s, ignored %q", d.Run, d.Ignored)
	}
}

func TestFindSystem(t *testing.T) {
	e := machine(t, map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "/c", "XDG_RUNTIME_DIR": "/r"})
	e.System = ""
	got, err := Find(e, Options{System: true})
	if err != nil {
		t.Fatal(err)
	}
	want := Dirs{
		System: true, Org: "/etc/permd", Config: "/etc/permd", Data: "/var/lib/permd", State: "/var/lib/permd",
		Run: "/run/permd", Admin: "/run/permd-admin", HTTP: "/run/permd-http",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("folders differ (-want +got):\n%s", diff)
	}
}

func TestFindRefuses(t *testing.T) {
	tests := []struct {
		name string
		home string
		o    Options
	}{
		{"root in system mode", "/home/u", Options{System: true, Root: "/trial"}},
		{"relative root", "/home/u", Options{Root: "trial"}},
		{"no home", "", Options{}},
		{"relative home", "u", Options{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d, err := Find(machine(t, map[string]string{"HOME": tt.home}), tt.o); err == nil {
				t.Errorf("found %+v", d)
			}
		})
	}
}

func TestSockets(t *testing.T) {
	run := mkdir(t, filepath.Join(t.TempDir(), "run"), 0o700)
	tests := []struct {
		name  string
		vars  map[string]string
		admin bool
		want  []Place // paths below / are the fake machine's if they begin with /run
	}{
		{"all", map[string]string{"HOME": "/home/u", "XDG_RUNTIME_DIR": run}, false, []Place{
			{Path: run + "/permd/permd.sock"},
			{Path: "/home/u/.local/state/permd/" + hostRun + "/permd.sock"},
			{Path: "/run/permd/permd.sock", Machine: true},
		}},
		{"management", map[string]string{"HOME": "/home/u", "XDG_RUNTIME_DIR": run}, true, []Place{
			{Path: run + "/permd-admin/admin.sock"},
			{Path: "/home/u/.local/state/permd-admin/" + hostRun + "/admin.sock"},
			{Path: "/run/permd-admin/admin.sock", Machine: true},
		}},
		{"no home", nil, false, []Place{{Path: "/run/permd/permd.sock", Machine: true}}},
		{"chosen", map[string]string{"PERMD_SOCKET": "/x/y.sock", "HOME": "/home/u"}, false, []Place{{Path: "/x/y.sock"}}},
		{"management chosen", map[string]string{"PERMD_ADMIN_SOCKET": "/x/a.sock", "PERMD_SOCKET": "/y/z/p.sock"}, true,
			[]Place{{Path: "/x/a.sock"}}},
		{"management of the chosen", map[string]string{"PERMD_SOCKET": "/y/z/p.sock"}, true,
			[]Place{{Path: "/y/permd-admin/admin.sock"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := machine(t, tt.vars)
			got, err := Sockets(e, tt.admin)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i].Path = strings.TrimPrefix(got[i].Path, e.System)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("places differ (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("relative", func(t *testing.T) {
		if got, err := Sockets(machine(t, map[string]string{"PERMD_SOCKET": "x.sock"}), false); err == nil {
			t.Errorf("places %v", got)
		}
	})
	t.Run("the machine's, chosen", func(t *testing.T) {
		e := machine(t, nil)
		e.System = ""
		e.Getenv = func(name string) string { return map[string]string{"PERMD_SOCKET": "/run/permd/permd.sock"}[name] }
		got, err := Sockets(e, false)
		if err != nil || !cmp.Equal(got, []Place{{Path: "/run/permd/permd.sock", Machine: true}}) {
			t.Errorf("places %v, %v", got, err)
		}
	})
}

// TestServerAndClientAgree: clients look wherever a daemon in the same environment
// listens.
func TestServerAndClientAgree(t *testing.T) {
	run := mkdir(t, filepath.Join(t.TempDir(), "run"), 0o700)
	for _, vars := range []map[string]string{
		{"HOME": "/home/u"},
		{"HOME": "/home/u", "XDG_STATE_HOME": "/s"},
		{"HOME": "/home/u", "XDG_RUNTIME_DIR": run},
		{"HOME": "/home/u", "XDG_RUNTIME_DIR": "relative"},
	} {
		e := machine(t, vars)
		for _, system := range []bool{false, true} {
			d, err := Find(e, Options{System: system})
			if err != nil {
				t.Fatal(err)
			}
			for admin, path := range map[bool]string{false: d.Socket(), true: d.AdminSocket()} {
				places, err := Sockets(e, admin)
				if err != nil {
					t.Fatal(err)
				}
				found := false
				for _, p := range places {
					found = found || p.Path == path
				}
				if !found {
					t.Errorf("%v: a daemon listens at %s, a client looks at %v", vars, path, places)
				}
			}
		}
	}
}

func TestCheckOwn(t *testing.T) {
	me := uint32(os.Geteuid())
	tests := []struct {
		name string
		make func(t *testing.T, dir string)
		says string // "" if it passes
	}{
		{"private", func(t *testing.T, dir string) { mkdir(t, dir, 0o700) }, ""},
		{"others may enter", func(t *testing.T, dir string) { mkdir(t, dir, 0o711) }, ""},
		{"group may write", func(t *testing.T, dir string) { mkdir(t, dir, 0o770) }, "mode 0770"},
		{"all may write", func(t *testing.T, dir string) { mkdir(t, dir, 0o777|fs.ModeSticky) }, "mode 0777"},
		{"link", func(t *testing.T, dir string) {
			if err := os.Symlink(mkdir(t, dir+".real", 0o700), dir); err != nil {
				t.Fatal(err)
			}
		}, "symbolic link"},
		{"file", func(t *testing.T, dir string) {
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not a folder"},
		{"in a folder that all may write", func(t *testing.T, dir string) {
			mkdir(t, filepath.Dir(dir), 0o777)
			mkdir(t, dir, 0o700)
		}, "everybody could exchange"},
		{"in a sticky folder that all may write", func(t *testing.T, dir string) {
			mkdir(t, filepath.Dir(dir), 0o777|fs.ModeSticky)
			mkdir(t, dir, 0o700)
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(mkdir(t, filepath.Join(t.TempDir(), "up"), 0o700), "dir")
			tt.make(t, dir)
			err := CheckOwn(dir, me, 0o022)
			if tt.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			untrusted, ok := errors.AsType[*UntrustedError](err)
			if !ok || !strings.Contains(untrusted.Error(), tt.says) {
				t.Errorf("error is %v, want it to say %q", err, tt.says)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		if err := CheckOwn(filepath.Join(t.TempDir(), "none"), me, 0o022); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
}

func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving a folder to another user needs root")
	}
	const daemon, person = 4711, 4712
	top := mkdir(t, filepath.Join(t.TempDir(), "top"), 0o755)
	// The folders of t.TempDir belong to root.
	dir := mkdir(t, filepath.Join(top, "permd"), 0o750)
	give := func(path string, uid int) {
		t.Helper()
		if err := os.Chown(path, uid, -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := CheckOwn(dir, person, 0o022); err != nil {
		t.Errorf("root's folder: %v", err)
	}
	give(dir, daemon)
	if CheckOwn(dir, person, 0o022) == nil {
		t.Error("another user's folder passed")
	}
	if err := CheckMachine(dir); err != nil {
		t.Errorf("a folder that root has given to the daemon: %v", err)
	}
	give(top, daemon)
	if CheckMachine(dir) == nil {
		t.Error("a folder that its owner has put there passed as root's choice")
	}
	give(dir, person)
	if CheckOwn(dir, person, 0o022) == nil {
		t.Error("a folder in another user's passed")
	}
}
