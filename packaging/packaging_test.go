package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/socket/systemd"
)

// units returns the units for this binary.
func units(t *testing.T) []Unit {
	t.Helper()
	units, err := UserUnits(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	return units
}

// values returns the values that a unit assigns to a key of a section, in order.
func values(t *testing.T, units []Unit, name, section, key string) []string {
	t.Helper()
	i := slices.IndexFunc(units, func(u Unit) bool { return u.Name == name })
	if i < 0 {
		t.Fatalf("there is no unit %s", name)
	}
	var found []string
	in := ""
	for line := range strings.Lines(units[i].Text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			in = strings.Trim(line, "[]")
		}
		if k, v, ok := strings.Cut(line, "="); ok && in == section && k == key {
			found = append(found, v)
		}
	}
	return found
}

// TestNamesAgree compares the names of the sockets in the units with the program's.
func TestNamesAgree(t *testing.T) {
	run := t.TempDir()
	if err := os.Chmod(run, 0o700); err != nil {
		t.Fatal(err)
	}
	dirs, err := xdg.Find(xdg.Env{
		UID: os.Geteuid(), Home: "/home/ana",
		Getenv: func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": run}[name] },
	}, xdg.Options{})
	if err != nil {
		t.Fatal(err)
	}
	units := units(t)
	for _, tt := range []struct{ unit, name, path string }{
		{DecisionSocket, systemd.DecisionName, dirs.Socket()},
		{AdminSocket, systemd.AdminName, dirs.AdminSocket()},
	} {
		if diff := cmp.Diff([]string{tt.name}, values(t, units, tt.unit, "Socket", "FileDescriptorName")); diff != "" {
			t.Errorf("%s: name of the descriptor (-want +got):\n%s", tt.unit, diff)
		}
		path := strings.Replace(tt.path, run, "%t", 1)
		if diff := cmp.Diff([]string{path}, values(t, units, tt.unit, "Socket", "ListenStream")); diff != "" {
			t.Errorf("%s: path (-want +got):\n%s", tt.unit, diff)
		}
		if diff := cmp.Diff([]string{Service}, values(t, units, tt.unit, "Socket", "Service")); diff != "" {
			t.Errorf("%s: service (-want +got):\n%s", tt.unit, diff)
		}
	}
	both := []string{DecisionSocket + " " + AdminSocket}
	for _, key := range []string{"Requires", "After"} {
		if diff := cmp.Diff(both, values(t, units, Service, "Unit", key)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	if diff := cmp.Diff(both, values(t, units, Service, "Service", "Sockets")); diff != "" {
		t.Errorf("Sockets (-want +got):\n%s", diff)
	}
}

// TestNothingHidesFiles: options that need a mount namespace would make permd see other
// files than the agent does, and other user ids of its clients.
func TestNothingHidesFiles(t *testing.T) {
	units := units(t)
	for _, key := range []string{
		"PrivateUsers", "PrivateTmp", "PrivateDevices", "PrivateMounts", "PrivateNetwork", "PrivateIPC", "ProtectSystem", "ProtectHome",
		"ProtectProc", "ProtectHostname", "ProtectClock", "ProtectControlGroups", "ProtectKernelLogs", "ProtectKernelModules", "ProtectKernelTunables",
		"ReadWritePaths", "ReadOnlyPaths", "InaccessiblePaths", "TemporaryFileSystem", "BindPaths", "BindReadOnlyPaths", "RootDirectory", "RuntimeDirectory",
	} {
		if got := values(t, units, Service, "Service", key); got != nil {
			t.Errorf("%s is set to %s", key, got)
		}
	}
	for _, key := range []string{"NoNewPrivileges", "MemoryDenyWriteExecute", "RestrictNamespaces"} {
		if diff := cmp.Diff([]string{"yes"}, values(t, units, Service, "Service", key)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

func TestProgram(t *testing.T) {
	for _, tt := range []struct{ name, program, want, err string }{
		{name: "plain", program: "/usr/local/bin/permd", want: "/usr/local/bin/permd serve"},
		{name: "space", program: "/home/ana b/permd", want: `"/home/ana b/permd" serve`},
		{name: "specifier", program: "/opt/100%/permd", want: "/opt/100%%/permd serve"},
		{name: "dollar", program: "/opt/$HOME/permd", want: `"/opt/$HOME/permd" serve`},
		{name: "letters", program: "/home/jürgen/permd", want: "/home/jürgen/permd serve"},
		{name: "relative", program: "bin/permd", err: "absolute"},
		{name: "not clean", program: "/usr/../permd", err: "clean"},
		{name: "line break", program: "/a\nExecStartPre=/bin/x", err: "control"},
		{name: "quote", program: `/a"b/permd`, err: "quotes"},
		{name: "backslash", program: `/a\x20b/permd`, err: "backslashes"},
		{name: "no text", program: "/a\xffb/permd", err: "UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			units, err := UserUnits(tt.program)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.want}, values(t, units, Service, "Service", "ExecStart")); diff != "" {
				t.Errorf("ExecStart (-want +got):\n%s", diff)
			}
			if got, ok := Program(units[len(units)-1].Text); got != tt.program || !ok {
				t.Errorf("Program returns %q, %v; want %q", got, ok, tt.program)
			}
		})
	}
}

func TestProgramOfChangedUnit(t *testing.T) {
	for name, unit := range map[string]string{
		"no line":          "[Service]\n",
		"another argument": "[Service]\nExecStart=/usr/bin/permd serve --root /tmp\n",
		"a specifier":      "[Service]\nExecStart=%h/bin/permd serve\n",
		"a prefix":         "[Service]\nExecStart=-/usr/bin/permd serve\n",
	} {
		if got, ok := Program(unit); ok {
			t.Errorf("%s: the program is said to be %q", name, got)
		}
	}
}

// TestVerify: systemd-analyze verify prints nothing about the units. Its exit code is 0
// even for unknown keys, so any output is a failure.
func TestVerify(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	for _, where := range []string{"permd", "100% of $HOME; a b"} {
		dir := t.TempDir()
		// systemd checks that the program exists.
		program := filepath.Join(dir, where)
		if err := os.Symlink(os.Args[0], program); err != nil {
			t.Fatal(err)
		}
		units, err := UserUnits(program)
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"verify", "--user", "--man=no"}
		for _, u := range units {
			file := filepath.Join(dir, u.Name)
			if err := os.WriteFile(file, []byte(u.Text), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, file)
		}
		cmd := exec.CommandContext(t.Context(), tool, args...)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("systemd-analyze verify: %v\n%s", err, out)
		}
	}
}
