package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/socket/systemd"
)

// systemUnits returns the units for a daemon that serves several people, for that program.
func systemUnits(t *testing.T, program string) (units []Unit) {
	t.Helper()
	for _, name := range []string{DecisionSocket, AdminSocket, Service} {
		text, err := os.ReadFile(filepath.Join("systemd", "system", name))
		if err != nil {
			t.Fatal(err)
		}
		const line = "ExecStart=/usr/bin/permd serve --system\n"
		if name == Service && !strings.Contains(string(text), line) {
			t.Fatalf("%s starts another program", name)
		}
		units = append(units, Unit{name, strings.Replace(string(text), line, "ExecStart="+program+" serve --system\n", 1)})
	}
	return units
}

// TestSystemNamesAgree compares the names of sockets, folders, user and group with the
// program's.
func TestSystemNamesAgree(t *testing.T) {
	dirs, err := xdg.Find(xdg.Env{}, xdg.Options{System: true})
	if err != nil {
		t.Fatal(err)
	}
	org, err := settings.Merge(settings.Settings{}, settings.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	group := org.System.Group
	units := systemUnits(t, "/usr/bin/permd")
	want := func(unit, section, key string, list ...string) {
		t.Helper()
		if diff := cmp.Diff(list, values(t, units, unit, section, key)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", unit, key, diff)
		}
	}
	for _, tt := range []struct{ unit, name, path string }{
		{DecisionSocket, systemd.DecisionName, dirs.Socket()},
		{AdminSocket, systemd.AdminName, dirs.AdminSocket()},
	} {
		want(tt.unit, "Socket", "FileDescriptorName", tt.name)
		want(tt.unit, "Socket", "ListenStream", tt.path)
		want(tt.unit, "Socket", "Service", Service)
		want(tt.unit, "Socket", "SocketGroup", group)
		want(tt.unit, "Socket", "SocketMode", "0660")
	}
	both := DecisionSocket + " " + AdminSocket
	want(Service, "Unit", "Requires", both)
	want(Service, "Service", "Sockets", both)
	want(Service, "Service", "User", group)
	want(Service, "Service", "Group", group)
	want(Service, "Service", "StateDirectory", filepath.Base(dirs.Data))
	want(Service, "Service", "AmbientCapabilities", "CAP_DAC_READ_SEARCH")
	want(Service, "Service", "CapabilityBoundingSet", "CAP_DAC_READ_SEARCH")

	users, err := os.ReadFile("sysusers.d/permd.conf")
	if err != nil || !strings.Contains(string(users), "\nu "+group+" - ") {
		t.Errorf("sysusers.d makes no user %s: %v", group, err)
	}
	folders, err := os.ReadFile("tmpfiles.d/permd.conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"d " + dirs.Org + " 0755 root root -", "d " + dirs.Data + " 0700 " + group + " " + group + " -",
		"d " + dirs.Run + " 0750 " + group + " " + group + " -", "d " + dirs.Admin + " 0750 " + group + " " + group + " -", "d " + dirs.HTTP + " 0750 " + group + " " + group + " -",
	} {
		if !strings.Contains(string(folders), line+"\n") {
			t.Errorf("tmpfiles.d lacks %q", line)
		}
	}
}

// TestSystemHidesNothing: permd sees the files and the user ids that the agent sees.
func TestSystemHidesNothing(t *testing.T) {
	units := systemUnits(t, "/usr/bin/permd")
	for _, key := range []string{
		"PrivateUsers", "PrivateTmp", "PrivateDevices", "PrivateMounts", "ProtectProc", "ProcSubset", "InaccessiblePaths", "TemporaryFileSystem",
		"BindPaths", "BindReadOnlyPaths", "RootDirectory", "RootImage", "RuntimeDirectory", "DynamicUser", "ReadOnlyPaths",
	} {
		if got := values(t, units, Service, "Service", key); got != nil {
			t.Errorf("%s is set to %s", key, got)
		}
	}
	if diff := cmp.Diff([]string{"read-only"}, values(t, units, Service, "Service", "ProtectHome")); diff != "" {
		t.Errorf("ProtectHome (-want +got):\n%s", diff)
	}
}

// TestSystemVerify: systemd-analyze verify prints nothing about the units, and its score of
// what the service is exposed to is the documented one, or better.
func TestSystemVerify(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "permd")
	if err := os.Symlink(os.Args[0], program); err != nil {
		t.Fatal(err)
	}
	args := []string{"verify", "--man=no"}
	for _, u := range systemUnits(t, program) {
		file := filepath.Join(dir, u.Name)
		if err := os.WriteFile(file, []byte(u.Text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	if out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), tool, "security", "--offline=yes", "--no-pager", filepath.Join(dir, Service)).CombinedOutput()
	score := regexp.MustCompile(`exposure level for permd\.service: ([0-9.]+)`).FindSubmatch(out)
	if score == nil {
		t.Skipf("this systemd-analyze tells no score of a file: %v\n%s", err, out)
	}
	page, err := os.ReadFile("../docs/system.md")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`exposure level of ([0-9.]+)`).FindSubmatch(page)
	if said == nil {
		t.Fatal("docs/system.md does not say the exposure level")
	}
	is, _ := strconv.ParseFloat(string(score[1]), 64)
	most, _ := strconv.ParseFloat(string(said[1]), 64)
	if is <= 0 || is > most {
		t.Errorf("the exposure level is %v, and docs/system.md says %v:\n%s", is, most, out)
	}
}

// TestSystemdReads: systemd's own tools take the files that make the user and the folders.
func TestSystemdReads(t *testing.T) {
	for tool, file := range map[string]string{"systemd-sysusers": "sysusers.d/permd.conf", "systemd-tmpfiles": "tmpfiles.d/permd.conf"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Logf("%s is not installed", tool)
			continue
		}
		if file, err = filepath.Abs(file); err != nil { // else it is looked for in the system's folders
			t.Fatal(err)
		}
		root := t.TempDir()
		args := []string{"--root=" + root, file}
		if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		if tool == "systemd-tmpfiles" {
			// The names of user and group are read in that root, so make them first.
			for name, text := range map[string]string{"passwd": "root:x:0:0::/:/bin/sh\npermd:x:0:0::/:/bin/sh\n", "group": "root:x:0:\npermd:x:0:\n"} {
				if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			args = append([]string{"--create"}, args...)
		}
		if os.Geteuid() != 0 {
			t.Logf("%s needs root", tool)
			continue
		}
		if out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil || strings.Contains(string(out), "permd.conf:") {
			t.Errorf("%s: %v\n%s", tool, err, out)
		}
		if tool == "systemd-tmpfiles" {
			if info, err := os.Stat(filepath.Join(root, "run", "permd")); err != nil || info.Mode().Perm() != 0o750 {
				t.Errorf("/run/permd: %v, %v", info, err)
			}
		}
	}
}

// TestCrashesStartAgain: a service that is not started again after wrong usage is after a panic,
// which would end it with the same status.
func TestCrashesStartAgain(t *testing.T) {
	for name, all := range map[string][]Unit{"user": units(t), "system": systemUnits(t, "/usr/bin/permd")} {
		if diff := cmp.Diff([]string{"2 3"}, values(t, all, Service, "Service", "RestartPreventExitStatus")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]string{"GOTRACEBACK=crash"}, values(t, all, Service, "Service", "Environment")); diff != "" {
			t.Errorf("%s: a panic ends with status 2 (-want +got):\n%s", name, diff)
		}
	}
}
