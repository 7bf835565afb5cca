//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of one text.
const (
	maxTime     = 3 * time.Second
	maxFileSize = 16 << 20 // bytes
	maxFiles    = 256      // files open at once
	maxTasks    = 512      // processes of the user that texts run as
	nobody      = 65534
)

// sandbox is a home with a tree, a PATH of stubs, and the logs that show what a
// text does. It is not safe for concurrent use.
type sandbox struct {
	root      string // the home, /home/dev for permd, is below it
	tree      *tree
	in        *os.File // the standard input of shells, empty
	inherited inode
	log       *os.File // the log of the stubs
	out       *os.File // the standard output and error of shells
	clean     map[string]stamp
	path      string // the PATH of the shells
	limit     time.Duration
	idle      map[string]map[string]bool // by shell, the files that an empty text opens
	to, from  *strings.Replacer
}

// stamp is what shows that a file was changed.
type stamp struct {
	mode fs.FileMode
	size int64
	at   time.Time
	link string
}

// newSandbox makes a sandbox in a folder that does not exist yet. It calls fill to
// put programs into its bin.
func newSandbox(root string, t *tree, fill func(bin string) error) (*sandbox, error) {
	s := &sandbox{root: root, tree: t, path: filepath.Join(root, "bin"), limit: maxTime}
	s.to = strings.NewReplacer(home, root+home, "/tmp", root+"/tmp")
	s.from = strings.NewReplacer(root+"/", "/", root, "/")
	for _, dir := range []string{root, s.path, filepath.Join(root, "tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	if err := fill(s.path); err != nil {
		return nil, err
	}
	var err error
	if s.in, err = os.OpenFile(filepath.Join(root, "in"), os.O_RDONLY|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(s.in.Fd()), &st); err != nil {
		return nil, err
	}
	s.inherited = inode{st.Dev, st.Ino}
	if s.log, err = os.OpenFile(filepath.Join(root, "log"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if s.out, err = os.OpenFile(filepath.Join(root, "out"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	if err := s.restore(); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		for _, own := range []string{"log", "out", "tmp"} {
			if err := os.Lchown(filepath.Join(root, own), nobody, nobody); err != nil {
				return nil, err
			}
		}
	}
	s.clean, err = s.scan()
	return s, err
}

func (s *sandbox) close() {
	for _, f := range []*os.File{s.in, s.log, s.out} {
		f.Close()
	}
}

// restore makes the files of the tree.
func (s *sandbox) restore() error {
	var errs []error
	s.tree.paths(func(p, text string) { errs = append(errs, s.put(p, text)) })
	if os.Geteuid() == 0 {
		errs = append(errs, filepath.WalkDir(s.root+home, func(p string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(p, nobody, nobody))
		}))
	}
	return errors.Join(errs...)
}

// put makes one file of the tree.
func (s *sandbox) put(p, text string) error {
	real := s.root + filepath.Clean(p)
	if strings.HasSuffix(p, "/") {
		return os.MkdirAll(real, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(real), 0o755); err != nil {
		return err
	}
	if target, ok := strings.CutPrefix(text, "-> "); ok {
		return os.Symlink(s.to.Replace(target), real)
	}
	if filepath.Base(p) == hostile {
		// It is a canary whether it is run by its path or by a shell.
		text = "#!" + filepath.Join(s.path, "evil") + "\n" + filepath.Join(s.path, "pwned") + " script\n"
		if err := os.WriteFile(real, []byte(text), 0o755); err != nil {
			return err
		}
		return os.Chmod(real, 0o755)
	}
	return os.WriteFile(real, []byte(text), 0o644)
}

// scan returns the stamps of all files of the home.
func (s *sandbox) scan() (map[string]stamp, error) {
	all := make(map[string]stamp, len(s.clean))
	for _, dir := range []string{s.root + home, s.root + "/tmp"} {
		err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			st := stamp{mode: info.Mode(), size: info.Size(), at: info.ModTime()}
			if info.IsDir() {
				st.size, st.at = 0, time.Time{}
			}
			if info.Mode()&fs.ModeSymlink != 0 {
				st.link, err = os.Readlink(p)
			}
			all[p] = st
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// change is a file that a text changed, with its path as permd knows it.
type change struct {
	path    string
	deleted bool
}

// changes notes the files that a text changed, and restores them.
func (s *sandbox) changes(o *observed) error {
	now, err := s.scan()
	if err != nil {
		// The text may have removed its permissions from a folder.
		o.changed = []change{{path: home}}
		return s.again()
	}
	for p, st := range now {
		if was, ok := s.clean[p]; !ok || was != st {
			o.changed = append(o.changed, change{path: s.known(p)})
			o.leaked = append(o.leaked, s.holds(p, st)...)
		}
	}
	for p := range s.clean {
		if _, ok := now[p]; !ok {
			o.changed = append(o.changed, change{path: s.known(p), deleted: true})
		}
	}
	if len(o.changed) == 0 {
		return nil
	}
	return s.again()
}

// again makes the home anew.
func (s *sandbox) again() error {
	for _, dir := range []string{s.root + home, s.root + "/tmp"} {
		err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if e != nil && e.IsDir() {
				return os.Chmod(p, 0o755)
			}
			return err
		})
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(s.root+"/tmp", 0o755); err != nil {
		return err
	}
	if err := s.restore(); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		if err := os.Lchown(s.root+"/tmp", nobody, nobody); err != nil {
			return err
		}
	}
	var err error
	s.clean, err = s.scan()
	return err
}

// known returns a path, or a text with paths, as permd knows it.
func (s *sandbox) known(p string) string {
	if !strings.Contains(p, s.root) {
		return p
	}
	return s.from.Replace(p)
}

// observed is what was seen of a text in one shell.
type observed struct {
	shell   string
	ran     []ran
	changed []change
	leaked  []string // files of secrets that were printed or written into other files
	traced  *traced  // nil without strace
	late    bool     // the shell was killed because it did not end
}

// shellArgs has the command line that starts each shell.
var shellArgs = map[string][]string{
	"bash":    {"bash", "--norc", "--noprofile", "-c"},
	"dash":    {"dash", "-c"},
	"zsh":     {"zsh", "-f", "-c"},
	"busybox": {"busybox", "sh", "-c"},
}

// run runs a text in a shell, in a session of its own. before is the command line
// of a program that starts the shell, such as strace, or nil.
func (s *sandbox) run(ctx context.Context, shell, text string, before ...string) (*observed, error) {
	words := append(append([]string{}, before...), append([]string{shellPath[shell]}, shellArgs[shell][1:]...)...)
	words = append(words, s.to.Replace(text))
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil, err
	}
	alive, end, err := os.Pipe() // held open by every process that the text starts
	if err != nil {
		return nil, err
	}
	defer alive.Close()
	cmd := &exec.Cmd{
		Path: path, Args: words, Dir: s.root + project, Stdin: s.in, Stdout: s.out, Stderr: s.out, ExtraFiles: []*os.File{end},
		Env: []string{
			"HOME=" + s.root + home, "PATH=" + s.path, "USER=dev", "LOGNAME=dev", "LANG=C.UTF-8", "PWD=" + s.root + project, "TERM=dumb",
		},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if len(before) > 0 {
		cmd.Env = append(cmd.Env, "LC_ALL=C") // so that programs open few files of their own
	}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	err = cmd.Start()
	end.Close()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", shell, err)
	}
	o := &observed{shell: shell}
	o.late = !ended(alive, s.limit) || ctx.Err() != nil
	if o.late {
		// First the group of the session's leader, then processes with groups of
		// their own.
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return nil, err
		}
		if !ended(alive, 100*time.Millisecond) {
			if err := killSession(cmd.Process.Pid); err != nil {
				return nil, err
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("waiting for %s: %w", shell, err)
	}
	log, err := s.readLog()
	if err != nil {
		return nil, err
	}
	if o.ran, err = readLog(log, s.inherited); err != nil {
		return nil, err
	}
	for i := range o.ran {
		r := &o.ran[i]
		r.exe, r.cwd, r.text = s.known(r.exe), s.known(r.cwd), s.known(r.text)
		for k := range r.args {
			r.args[k] = s.known(r.args[k])
		}
	}
	if o.leaked, err = s.printed(); err != nil {
		return nil, err
	}
	err = s.changes(o)
	return o, err
}

// readLog reads and empties the log of the stubs.
func (s *sandbox) readLog() ([]byte, error) {
	var log bytes.Buffer
	info, err := s.log.Stat()
	if err != nil || info.Size() == 0 {
		return nil, err
	}
	if _, err := s.log.Seek(0, 0); err != nil {
		return nil, err
	}
	if _, err := log.ReadFrom(s.log); err != nil {
		return nil, err
	}
	return log.Bytes(), s.log.Truncate(0)
}

// ended waits until no process holds the other end of a pipe.
func ended(alive *os.File, limit time.Duration) bool {
	if err := alive.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return false
	}
	var b [64]byte
	for {
		if _, err := alive.Read(b[:]); err != nil {
			return !errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
}

// killSession kills all processes of a session, by their ids.
func killSession(sid int) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscan(e.Name(), &pid); err != nil {
			continue
		}
		if have, err := unix.Getsid(pid); err == nil && have == sid {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
		}
	}
	return nil
}

// confine limits the resources of this process and all that it starts. It must be
// called once. Texts run as another user, whose processes are limited too.
func confine() error {
	limits := map[int]uint64{unix.RLIMIT_FSIZE: maxFileSize, unix.RLIMIT_NOFILE: maxFiles, unix.RLIMIT_CORE: 0}
	if os.Geteuid() == 0 {
		limits[unix.RLIMIT_NPROC] = maxTasks // for nobody: root has no such limit
	}
	for what, most := range limits {
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limiting what texts may use: %w", err)
		}
	}
	return nil
}
