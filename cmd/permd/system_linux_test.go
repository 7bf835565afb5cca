package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/internal/eventually"
)

// The people of a system world, with the daemon's own user. Eve is in no group that permd
// knows, and adm is an admin.
const (
	sysDaemon = 4700
	sysAna    = 4701
	sysBob    = 4702
	sysEve    = 4703
	sysAdm    = 4704
)

// systemWorld is a mount namespace with /etc, /run and /var/lib of its own, in which a daemon
// serves several people with real uids.
type systemWorld struct {
	dir, pid string
	cmd      *exec.Cmd
	output   lockedBuffer
}

// newSystemWorld skips the test where there is no root, or a tool is missing.
func newSystemWorld(t *testing.T) *systemWorld {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("processes of several users need root")
	}
	for _, tool := range []string{"nsenter", "setpriv", "mount", "sleep"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	script := `set -e
dir=$1; cp -a /etc/. "$dir/etc/"
mkdir -p "$dir/etc/permd"
rm -f "$dir/etc/permd/permd.toml"
for u in permd:4700:x ana:4701:ana bob:4702:bob eve:4703:eve adm:4704:adm; do
	name=${u%%:*}; rest=${u#*:}; id=${rest%%:*}
	echo "$name:x:$id:$id::$dir/home/$name:/bin/sh" >> "$dir/etc/passwd"
	mkdir -p "$dir/home/$name"; chown $id:$id "$dir/home/$name"; chmod 700 "$dir/home/$name"
done
printf 'permd:x:4700:ana,bob,adm\npadmins:x:4710:adm\nana:x:4701:\nbob:x:4702:\neve:x:4703:\nadm:x:4704:\n' >> "$dir/etc/group"
mount --make-rprivate /
mount --bind "$dir/etc" /etc
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib
: > "$dir/permd"; mount --bind "$2" "$dir/permd"
for d in /run/permd /run/permd-admin /run/permd-http; do mkdir $d; chown 4700:4700 $d; chmod 750 $d; done
mkdir /var/lib/permd; chown 4700:4700 /var/lib/permd; chmod 700 /var/lib/permd
echo ready
exec sleep 1000`
	for _, d := range []string{"etc", "home"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := &systemWorld{dir: dir}
	holder := exec.Command("/bin/sh", "-c", script, "sh", dir, os.Args[0])
	var out lockedBuffer
	holder.Stdout, holder.Stderr = &out, &out
	holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if err := holder.Start(); err != nil {
		t.Skipf("no mount namespaces here: %v", err)
	}
	ended := make(chan struct{})
	go func() { _ = holder.Wait(); close(ended) }()
	t.Cleanup(func() { _ = holder.Process.Kill(); <-ended })
	eventually.Holds(t, "the folders", func() bool {
		select {
		case <-ended:
			return true
		default:
		}
		return strings.Contains(out.String(), "ready")
	}, out.String)
	if !strings.Contains(out.String(), "ready") {
		t.Skipf("nothing can be mounted here: %s", out.String())
	}
	w.pid = strconv.Itoa(holder.Process.Pid)
	if text, err := w.as(sysEve, "version").CombinedOutput(); err != nil {
		t.Skipf("another user cannot start permd here: %v %s", err, text)
	}
	t.Cleanup(w.stop)
	return w
}

// as is a permd process of a user in the world. Capabilities may be given.
func (w *systemWorld) as(uid int, args ...string) *exec.Cmd { return w.with(uid, nil, args...) }

func (w *systemWorld) with(uid int, options []string, args ...string) *exec.Cmd {
	id := strconv.Itoa(uid)
	name := map[int]string{sysDaemon: "permd", sysAna: "ana", sysBob: "bob", sysEve: "eve", sysAdm: "adm"}[uid]
	all := append([]string{"--mount", "--target", w.pid, "--", "setpriv", "--reuid", id, "--regid", id, "--init-groups"}, options...)
	if uid == 0 {
		all = all[:4]
	}
	cmd := exec.Command("nsenter", append(append(all, filepath.Join(w.dir, "permd")), args...)...)
	cmd.Env = []string{asPermd + "=1", "HOME=" + filepath.Join(w.dir, "home", name), "PATH=" + os.Getenv("PATH"), "GOCOVERDIR=" + os.TempDir()}
	cmd.Dir = "/"
	return cmd
}

// start starts the daemon.
func (w *systemWorld) start(t *testing.T, options ...string) {
	t.Helper()
	w.cmd = w.with(sysDaemon, options, "serve", "--system")
	w.cmd.Stdout, w.cmd.Stderr = &w.output, &w.output
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the daemon", func() bool { return w.as(sysAna, "status").Run() == nil }, w.output.String)
}

func (w *systemWorld) stop() {
	if w.cmd != nil {
		_ = w.cmd.Process.Signal(syscall.SIGTERM)
		_ = w.cmd.Wait()
		w.cmd = nil
	}
}

// ranAs runs permd and returns its exit code and output.
func ranAs(t *testing.T, cmd *exec.Cmd, in string) (code int, out string) {
	t.Helper()
	cmd.Stdin = strings.NewReader(in)
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), all.String()
}

// org writes the organisation's settings.
func (w *systemWorld) org(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, "etc", "permd", "permd.toml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// dial connects to a socket of the world as a user, with the credentials that the kernel
// reports of that user's process.
func (w *systemWorld) dial(t *testing.T, folder, socket string, uid int, groups ...uint32) net.Conn {
	t.Helper()
	dir, err := unix.Open("/proc/"+w.pid+"/root/run/"+folder, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	type result struct {
		conn net.Conn
		err  error
	}
	got := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this function
		conn, err := func() (net.Conn, error) {
			// The system calls themselves are of one thread; package syscall's are of all.
			if len(groups) == 0 {
				groups = []uint32{uint32(uid)}
			}
			if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0); e != 0 {
				return nil, e
			}
			for _, call := range []uintptr{unix.SYS_SETRESGID, unix.SYS_SETRESUID} {
				if _, _, e := unix.RawSyscall(call, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
					return nil, e
				}
			}
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return nil, err
			}
			f := os.NewFile(uintptr(fd), "socket")
			defer f.Close()
			if err := unix.Connect(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir, socket)}); err != nil {
				return nil, err
			}
			return net.FileConn(f)
		}()
		got <- result{conn, err}
	}()
	r := <-got
	if r.err != nil {
		t.Fatalf("connecting as %d: %v", uid, r.err)
	}
	t.Cleanup(func() { r.conn.Close() })
	if err := r.conn.SetDeadline(time.Now().Add(eventually.Limit)); err != nil {
		t.Fatal(err)
	}
	return r.conn
}

// TestSystemRefuses: the daemon does not start where it would not be what it says.
func TestSystemRefuses(t *testing.T) {
	w := newSystemWorld(t)
	refused := func(name string, cmd *exec.Cmd, want string) {
		t.Helper()
		if code, out := ranAs(t, cmd, ""); code == 0 || !strings.Contains(out, want) || !strings.Contains(out, "permd: hint: ") {
			t.Errorf("%s: exit code %d: %s", name, code, out)
		}
	}
	serve := func() *exec.Cmd { return w.as(sysDaemon, "serve", "--system") }
	refused("root", w.as(0, "serve", "--system"), "as root")
	refused("--root", w.as(sysDaemon, "serve", "--system", "--root", "/tmp/x"), "--root moves the organisation's rules")
	for text, want := range map[string]string{
		"[http]\nlisten = \"127.0.0.1:4711\"\n": "does not serve HTTP at 127.0.0.1:4711",
		"[system]\ngroup = \"nosuch\"\n":        `the group "nosuch" of system.group is not known`,
		"[system]\nadmins = \"root\"\n":         `the group "root" of system.admins`,
	} {
		w.org(t, text)
		refused(text, serve(), want)
	}
	w.org(t, "")
	etc := filepath.Join(w.dir, "etc", "permd")
	for _, change := range []struct {
		name     string
		do, undo func() error
		want     string
	}{
		{"a folder that others can write", func() error { return os.Chmod(etc, 0o777) }, func() error { return os.Chmod(etc, 0o755) }, "are not root's alone"},
		{"a folder of the daemon's", func() error { return os.Chown(etc, sysDaemon, 0) }, func() error { return os.Chown(etc, 0, 0) }, "are not root's alone"},
		{"a settings file of the daemon's", func() error { return os.Chown(filepath.Join(etc, "permd.toml"), sysDaemon, 0) },
			func() error { return os.Chown(filepath.Join(etc, "permd.toml"), 0, 0) }, "belongs to uid 4700"},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		refused(change.name, serve(), change.want)
		if err := change.undo(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSystemSeveralPeople: real processes of several users at one daemon.
func TestSystemSeveralPeople(t *testing.T) {
	w := newSystemWorld(t)
	w.org(t, "[system]\nadmins = \"padmins\"\n")
	w.start(t)
	call := func(text string) string {
		return `{"tool":{"name":"Bash"},"input":{"command":"` + text + `"}}`
	}
	if code, out := ranAs(t, w.as(sysAna, "decide", "--agent", "claude-code", "-"), call("frob anasecret")); code != 6 {
		t.Fatalf("ana asks: %d: %s", code, out)
	}
	if code, out := ranAs(t, w.as(sysAna, "remember", "add", "run", "anachoice", "--scope", "user"), ""); code != 0 {
		t.Fatalf("ana remembers: %d: %s", code, out)
	}
	for _, args := range [][]string{{"log", "list"}, {"log", "export"}, {"remember", "list"}, {"status", "--json"}, {"today"}, {"allow"}} {
		_, ofBob := ranAs(t, w.as(sysBob, args...), "")
		if strings.Contains(ofBob, "anasecret") || strings.Contains(ofBob, "anachoice") {
			t.Errorf("bob sees by permd %s: %s", strings.Join(args, " "), ofBob)
		}
		if code, out := ranAs(t, w.as(sysEve, args...), ""); code == 0 || strings.Contains(out, "anasecret") {
			t.Errorf("eve, by permd %s: %d: %s", strings.Join(args, " "), code, out)
		}
	}
	for uid, want := range map[int]bool{sysAna: true, sysBob: false, sysAdm: true} {
		if _, out := ranAs(t, w.as(uid, "log", "list"), ""); strings.Contains(out, "anasecret") != want {
			t.Errorf("%d sees ana's call: %v: %s", uid, !want, out)
		}
		code, out := ranAs(t, w.as(uid, "reload"), "")
		if (code == 0) != (uid == sysAdm) {
			t.Errorf("%d reloads: %d: %s", uid, code, out)
		}
	}

	if code, out := ranAs(t, w.as(0, "log", "verify", "--system"), ""); code != 0 || !strings.Contains(out, "of the running daemon") {
		t.Errorf("root verifies: %d: %s", code, out)
	}
	if _, out := ranAs(t, w.as(sysAdm, "status"), ""); !strings.Contains(out, "verified 2") {
		t.Errorf("the status does not say that root has verified the log: %s", out)
	}
	if code, out := ranAs(t, w.as(sysAna, "log", "verify", "--system"), ""); code == 0 || !strings.Contains(out, "run it as root") {
		t.Errorf("ana verifies: %d: %s", code, out)
	}

	t.Run("another group, and a socket that lets everybody in", func(t *testing.T) {
		at := "/proc/" + w.pid + "/root/run/"
		for name, mode := range map[string]os.FileMode{"permd": 0o755, "permd-admin": 0o755, "permd/permd.sock": 0o666, "permd-admin/admin.sock": 0o666} {
			if err := os.Chmod(at+name, mode); err != nil {
				t.Fatal(err)
			}
		}
		for _, socket := range [][2]string{{"permd", "permd.sock"}, {"permd-admin", "admin.sock"}} {
			c := w.dial(t, socket[0], socket[1], sysEve, sysEve, 4711)
			line, err := bufio.NewReader(c).ReadString('\n')
			if err != nil || !strings.Contains(line, "may not use this socket") {
				t.Errorf("eve at %s: %v: %s", socket[1], err, line)
			}
		}
		// By subordinate uids a member could be as many users as there are of those.
		if err := os.WriteFile(filepath.Join(w.dir, "etc", "subuid"), []byte("ana:310000:10\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		for uid, want := range map[int]string{310009: "may not use this socket", 310010: `"records":[]`} {
			c := w.dial(t, "permd-admin", "admin.sock", uid, sysDaemon)
			fmt.Fprintln(c, `{"jsonrpc":"2.0","id":1,"method":"permd/decisions.list","params":{}}`)
			if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, want) {
				t.Errorf("uid %d in the group: %v: %s", uid, err, line)
			}
		}
		// What counts is the kernel's list of groups, however long, and of that user.
		groups := make([]uint32, 200)
		for i := range groups {
			groups[i] = uint32(5000 + i)
		}
		groups[150] = sysDaemon
		c := w.dial(t, "permd-admin", "admin.sock", sysEve, groups...)
		fmt.Fprintln(c, `{"jsonrpc":"2.0","id":1,"method":"permd/decisions.list","params":{}}`)
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, `"records":[]`) {
			t.Errorf("a member whose groups are many: %v: %s", err, line)
		}
	})

	t.Run("a flood", func(t *testing.T) {
		const most = 128 // connections of one user
		for i := range most + 8 {
			c := w.dial(t, "permd", "permd.sock", sysBob, sysDaemon)
			go func() {
				r := bufio.NewReader(c)
				for {
					if _, err := r.ReadString('\n'); err != nil {
						return
					}
				}
			}()
			go func() {
				fmt.Fprintf(c, `{"jsonrpc":"2.0","id":0,"method":"permd/session","params":{"sessionId":"s","cwd":"/"}}`+"\n")
				for n := 1; ; n++ {
					if _, err := fmt.Fprintf(c, `{"jsonrpc":"2.0","id":%d,"method":"permd/decide","params":{"sessionId":"s","calls":[{"callId":"1","tool":{"name":"Bash"},"input":{"command":"frob %d %d"}}]}}`+"\n", n, i, n); err != nil {
						return
					}
				}
			}()
		}
		for range 5 {
			if code, out := ranAs(t, w.as(sysAna, "decide", "--agent", "claude-code", "-"), call("frob anasecret")); code != 6 || strings.Contains(out, "busy") || strings.Contains(out, "too many") {
				t.Fatalf("ana asks while bob floods: %d: %s", code, out)
			}
		}
	})
}
