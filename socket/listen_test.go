package socket

import (
	"bufio"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestListenMakesPrivateFolderAndSocket(t *testing.T) {
	path := filepath.Join(shortDir(t), "run", "permd", "permd.sock")
	l, err := Listen(path, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]fs.FileMode{
		filepath.Dir(filepath.Dir(path)): fs.ModeDir | 0o700,
		filepath.Dir(path):               fs.ModeDir | 0o700,
		path:                             fs.ModeSocket | 0o600,
		filepath.Join(filepath.Dir(path), lockName): 0o600,
	} {
		fi, err := os.Lstat(p)
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode() != want {
			t.Errorf("mode of %s is %v, want %v", p, fi.Mode(), want)
		}
	}
	if err := l.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there after Close: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(path), lockName)); err != nil {
		t.Errorf("the lock file was removed: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestListenForGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving a socket to another group needs root")
	}
	path := filepath.Join(shortDir(t), "permd", "permd.sock")
	l, err := Listen(path, ListenOptions{perm: 0o660, gid: 4711})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if fi, _ := os.Lstat(path); fi.Mode() != fs.ModeSocket|0o660 {
		t.Errorf("mode of the socket is %v", fi.Mode())
	}
	if fi, _ := os.Lstat(filepath.Dir(path)); fi.Mode() != fs.ModeDir|0o750 {
		t.Errorf("mode of the folder is %v", fi.Mode())
	}
}

func TestListenOptions(t *testing.T) {
	for name, o := range map[string]ListenOptions{
		"world":               {perm: 0o666},
		"group without gid":   {perm: 0o660},
		"gid without mode":    {gid: 7},
		"gid with mode 0600":  {perm: 0o600, gid: 7},
		"negative gid":        {perm: 0o660, gid: -1},
		"set-uid":             {perm: fs.ModeSetuid | 0o600},
		"group, others write": {perm: 0o662, gid: 7},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(shortDir(t), "permd", "permd.sock")
			if l, err := Listen(path, o); err == nil {
				_ = l.Close()
				t.Error("accepted")
			}
			if _, err := os.Lstat(filepath.Dir(path)); err == nil {
				t.Error("a folder was made")
			}
		})
	}
}

func TestListenReplacesStaleSocket(t *testing.T) {
	path := filepath.Join(shortDir(t), "permd.sock")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	_ = old.Close()
	l, err := Listen(path, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestListenLeavesWhatIsNotOurs(t *testing.T) {
	tests := []struct {
		name, says string
		put        func(t *testing.T, path string)
	}{
		{"regular file", "a regular file", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("canary"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"folder", "a folder", func(t *testing.T, path string) {
			if err := os.MkdirAll(filepath.Join(path, "canary"), 0o700); err != nil {
				t.Fatal(err)
			}
		}},
		{"symbolic link to a file", "a symbolic link", func(t *testing.T, path string) {
			if err := os.WriteFile(path+".target", []byte("canary"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(path+".target", path); err != nil {
				t.Fatal(err)
			}
		}},
		{"dangling link", "a symbolic link", func(t *testing.T, path string) {
			if err := os.Symlink(path+".nowhere", path); err != nil {
				t.Fatal(err)
			}
		}},
		{"live socket of another program", "another program listens", func(t *testing.T, path string) {
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
		}},
		{"another user's socket", "belongs to another user", func(t *testing.T, path string) {
			if os.Geteuid() != 0 {
				t.Skip("giving a socket to another user needs root")
			}
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
			_ = l.Close()
			if err := os.Chown(path, 65534, -1); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(shortDir(t), "permd.sock")
			tt.put(t, path)
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			l, err := Listen(path, ListenOptions{})
			if err == nil {
				_ = l.Close()
				t.Fatal("Listen passed")
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %q does not say %q", err, tt.says)
			}
			if h, ok := errors.AsType[interface {
				error
				Hint() string
			}](err); !ok || h.Hint() == "" {
				t.Errorf("error %q has no hint", err)
			}
			after, err := os.Lstat(path)
			if err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() {
				t.Errorf("what lay at the path was changed: %v, %v", after, err)
			}
			if _, err := os.Lstat(path + ".nowhere"); err == nil {
				t.Error("the link's target was made")
			}
		})
	}
}

func TestListenChecksFolder(t *testing.T) {
	tests := []struct {
		name, says string
		make       func(t *testing.T, dir string)
	}{
		{"open to others", "has mode 0755", func(t *testing.T, dir string) { mkdir(t, dir, 0o755) }},
		{"writable by all", "has mode 0777", func(t *testing.T, dir string) { mkdir(t, dir, 0o777) }},
		{"symbolic link", "is a symbolic link", func(t *testing.T, dir string) {
			mkdir(t, dir+".real", 0o700)
			if err := os.Symlink(dir+".real", dir); err != nil {
				t.Fatal(err)
			}
		}},
		{"dangling link", "is a symbolic link", func(t *testing.T, dir string) {
			if err := os.Symlink(dir+".real", dir); err != nil {
				t.Fatal(err)
			}
		}},
		{"a file", "is not a folder", func(t *testing.T, dir string) {
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"in a folder that all can write", "everybody could exchange", func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Dir(dir), 0o777); err != nil {
				t.Fatal(err)
			}
			mkdir(t, dir, 0o700)
		}},
		{"another user's", "belongs to user 65534", func(t *testing.T, dir string) {
			if os.Geteuid() != 0 {
				t.Skip("giving a folder to another user needs root")
			}
			mkdir(t, dir, 0o700)
			if err := os.Chown(dir, 65534, -1); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(shortDir(t), "run")
			tt.make(t, dir)
			l, err := Listen(filepath.Join(dir, "permd.sock"), ListenOptions{})
			if err == nil {
				_ = l.Close()
				t.Fatal("Listen passed")
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %q does not say %q", err, tt.says)
			}
			if _, err := os.Lstat(dir + ".real/" + lockName); err == nil {
				t.Error("a lock file was made at the target of the link")
			}
		})
	}
}

func mkdir(t *testing.T, dir string, mode fs.FileMode) {
	t.Helper()
	if err := os.Mkdir(dir, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
}

func TestListenPathLength(t *testing.T) {
	dir := shortDir(t)
	name := func(total int) string {
		return filepath.Join(dir, strings.Repeat("s", total-len(dir)-1))
	}
	l, err := Listen(name(maxPath), ListenOptions{})
	if err != nil {
		t.Errorf("the longest path: %v", err)
	} else {
		_ = l.Close()
	}
	l, err = Listen(name(maxPath+1), ListenOptions{})
	if err == nil {
		_ = l.Close()
		t.Fatal("a path too long passed")
	}
	if !strings.Contains(err.Error(), "socket path too long (108 > 107 bytes)") && maxPath == 107 {
		t.Errorf("error is %q", err)
	}
	for _, path := range []string{"", "a\x00b"} {
		if _, err := Listen(path, ListenOptions{}); err == nil {
			t.Errorf("path %q passed", path)
		}
	}
}

func TestSecondStartNamesPID(t *testing.T) {
	path := filepath.Join(shortDir(t), "permd.sock")
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), "PERMD_TEST_LISTEN="+path)
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "listening\n" {
		t.Fatalf("the other says %q, %v", line, err)
	}
	_, err = Listen(path, ListenOptions{})
	run, ok := errors.AsType[*errRunning](err)
	if !ok {
		t.Fatalf("error is %v, want ErrRunning", err)
	}
	if run.held.PID != other.Process.Pid || run.path != path {
		t.Errorf("error names pid %d at %s, want %d at %s", run.held.PID, run.path, other.Process.Pid, path)
	}
	if !strings.Contains(run.Error(), "permd is already running") || run.Hint() == "" {
		t.Errorf("error is %q, hint %q", run, run.Hint())
	}

	// A killed daemon leaves its socket and lock file, which do not prevent another
	// one from starting.
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("a killed daemon should leave its socket: %v", err)
	}
	l, err := Listen(path, ListenOptions{})
	if err != nil {
		t.Fatalf("after a kill: %v", err)
	}
	_ = l.Close()
}

func TestCloseLeavesSuccessor(t *testing.T) {
	path := filepath.Join(shortDir(t), "permd.sock")
	l, err := Listen(path, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	successor, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer successor.Close()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("Close removed a socket that is not its own: %v", err)
	}
}

func TestActivatedSocketStays(t *testing.T) {
	path := filepath.Join(shortDir(t), "permd.sock")
	ul, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l := FromActivated(ul)
	if l.Path() != path {
		t.Errorf("Path is %q, want %q", l.Path(), path)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the socket was removed: %v", err)
	}
}

func TestLockFileMustBeRegular(t *testing.T) {
	dir := shortDir(t)
	target := filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	if l, err := Listen(filepath.Join(dir, "permd.sock"), ListenOptions{}); err == nil {
		_ = l.Close()
		t.Error("a lock file that is a link passed")
	}
	if b, _ := os.ReadFile(target); string(b) != "canary" {
		t.Errorf("the link's target now holds %q", b)
	}
}
