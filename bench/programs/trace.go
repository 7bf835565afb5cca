package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// traced are the system calls that are traced: those that run a program, open,
// make, change or remove a file, or reach out of the process.
var traced = []string{
	"execve", "execveat", "open", "openat", "openat2", "creat", "connect", "sendto", "sendmsg", "sendmmsg", "unlink", "unlinkat", "rename", "renameat",
	"renameat2", "mkdir", "mkdirat", "rmdir", "link", "linkat", "symlink", "symlinkat", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown",
	"fchownat", "truncate", "ftruncate", "utimensat", "utime", "utimes", "futimesat", "mknod", "mknodat", "setxattr", "lsetxattr", "fsetxattr", "removexattr",
	"mount", "umount2", "pivot_root", "chroot", "kill", "tkill", "reboot", "sethostname", "settimeofday", "clock_settime", "ptrace", "init_module", "finit_module",
	"vfork", "fork", "clone", "clone3", "bind",
}

// run is what strace saw of one run of a program.
type run struct {
	exit   int // -1 when it did not end by itself
	output []byte
	execs  []execution
	reads  []string // files that were opened for reading only
	writes []string // files that were changed, each with the system call
	sends  []string // addresses that were connected to
	other  []string // other system calls that change the machine
}

// execution is the start of one program.
type execution struct {
	file  string
	first bool // by the first process, before it made another one
}

// maxOutput bounds what is kept of a program's output, in bytes.
const maxOutput = 1 << 20

// trace runs a command line in the place under strace, without a network.
func trace(ctx context.Context, w *place, words []string, limit time.Duration) (*run, error) {
	log := filepath.Join(w.root, "strace.log")
	args := []string{"-f", "--seccomp-bpf", "-qq", "-y", "-s", "4096", "-e", "signal=none", "-e", "trace=" + strings.Join(known(ctx), ","), "-o", log, "--"}
	args = append(args, words...)
	name := "strace"
	if os.Geteuid() == 0 {
		// Without a network and as a user who cannot change the machine, so that a
		// mistake in the table destroys nothing.
		who := strconv.Itoa(nobody)
		args = append([]string{"-n", "--", "setpriv", "--reuid=" + who, "--regid=" + who, "--clear-groups", "--", name}, args...)
		name = "unshare"
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = w.project, w.env()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	endGroup(cmd)
	err := cmd.Run()
	r := &run{}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		r.exit = exit.ExitCode()
	} else if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("running strace: %w", err)
	}
	if ctx.Err() != nil {
		r.exit = -1
	}
	r.output = out.Bytes()[:min(out.Len(), maxOutput)]
	data, err := os.Open(log)
	if err != nil {
		return nil, fmt.Errorf("reading what strace saw: %w: %s", err, r.output)
	}
	defer data.Close()
	if err := r.read(data); err != nil {
		return nil, fmt.Errorf("reading what strace saw: %w", err)
	}
	return r, nil
}

var (
	callLine  = regexp.MustCompile(`^(\d+) +([a-z0-9_]+)\((.*)\) += (-?\d+|\?)(.*)$`)
	unfinshed = regexp.MustCompile(`^(\d+) +(.*) <unfinished \.\.\.>$`)
	resumed   = regexp.MustCompile(`^(\d+) +<\.\.\. [a-z0-9_]+ resumed>(.*)$`)
	quotedArg = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	folderArg = regexp.MustCompile(`^(?:AT_FDCWD|\d+)<([^>]*)>, `)
	openFile  = regexp.MustCompile(`^\d+<([^>]*)>`)
	fdPath    = regexp.MustCompile(`^<(.*)>`)
)

// read reads a log of strace -f -y.
func (r *run) read(log *os.File) error {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	half := map[string]string{}
	first, forked := "", false
	for lines.Scan() {
		line := lines.Text()
		pid, _, _ := strings.Cut(line, " ")
		if first == "" {
			first = pid
		}
		if m := unfinshed.FindStringSubmatch(line); m != nil {
			// A fork counts from the moment it begins.
			half[m[1]] = m[2]
			forked = forked || isFork(m[2])
			continue
		}
		if m := resumed.FindStringSubmatch(line); m != nil {
			line = m[1] + " " + half[m[1]] + m[2]
		}
		m := callLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if isFork(m[2]) && m[4] != "-1" && !strings.Contains(m[3], "CLONE_THREAD") {
			forked = true
		}
		r.call(m[2], m[3], m[4], m[5], m[1] == first && !forked)
	}
	return lines.Err()
}

func isFork(call string) bool {
	return strings.HasPrefix(call, "clone") && !strings.Contains(call, "CLONE_THREAD") || strings.HasPrefix(call, "fork") || strings.HasPrefix(call, "vfork")
}

func (r *run) call(name, args, result, rest string, first bool) {
	switch name {
	case "connect", "sendto", "sendmsg", "sendmmsg", "bind":
		// Attempts count, since all fail without a network.
		if at := address(args); at != "" {
			r.sends = append(r.sends, at)
		}
		return
	}
	if strings.HasPrefix(result, "-") || result == "?" {
		return
	}
	switch name {
	case "execve", "execveat":
		file := pathOf(args)
		r.execs = append(r.execs, execution{file: file, first: first})
	case "open", "openat", "openat2", "creat":
		file := pathOf(args)
		if m := fdPath.FindStringSubmatch(rest); m != nil {
			file = strings.TrimSuffix(m[1], " (deleted)")
		}
		if name == "creat" || strings.Contains(args, "O_WRONLY") || strings.Contains(args, "O_RDWR") || strings.Contains(args, "O_CREAT") || strings.Contains(args, "O_TRUNC") {
			r.writes = append(r.writes, "open "+file)
		} else if !strings.Contains(args, "O_PATH") && !isFolder(file) {
			r.reads = append(r.reads, file)
		}
	case "fork", "vfork", "clone", "clone3":
	case "ftruncate", "fchmod", "fchown", "fsetxattr":
		file := args
		if m := openFile.FindStringSubmatch(args); m != nil {
			file = m[1]
		}
		r.writes = append(r.writes, name+" "+file)
	case "kill", "tkill":
		r.other = append(r.other, name+" "+args)
	case "mount", "umount2", "pivot_root", "chroot", "reboot", "sethostname", "settimeofday", "clock_settime", "ptrace", "init_module", "finit_module":
		r.other = append(r.other, name+" "+args)
	case "utimensat":
		if !strings.Contains(args, "\"") {
			break // of an open file, which was opened for writing
		}
		fallthrough
	default:
		r.writes = append(r.writes, name+" "+pathOf(args))
	}
}

// pathOf returns the first file that a system call names, as an absolute path if
// the call has a folder.
func pathOf(args string) string {
	dir := ""
	if m := folderArg.FindStringSubmatch(args); m != nil {
		dir = m[1]
	}
	m := quotedArg.FindStringSubmatch(args)
	if m == nil {
		return args
	}
	name := unescape(m[1])
	if dir == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

func unescape(s string) string {
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n", `\t`, "\t").Replace(s)
}

// address returns what a socket is connected to, or "" for services of the machine
// itself: the kernel and the cache of the name service.
func address(args string) string {
	_, at, ok := strings.Cut(args, "{sa_family=")
	if !ok {
		return ""
	}
	family, _, _ := strings.Cut(at, ",")
	switch family {
	case "AF_UNIX":
		m := quotedArg.FindStringSubmatch(at)
		if m == nil || strings.Contains(m[1], "/nscd/") || strings.Contains(m[1], "systemd/userdb") {
			return ""
		}
		return "unix " + m[1]
	case "AF_INET", "AF_INET6":
		if strings.Contains(at, "port=htons(0)") {
			return "" // only asks whether there is such a network
		}
		return at
	}
	return ""
}

// knownCalls returns those of traced that this strace and machine know.
var knownCalls []string

func known(ctx context.Context) []string {
	if knownCalls != nil {
		return knownCalls
	}
	for _, name := range traced {
		cmd := exec.CommandContext(ctx, "strace", "-e", "trace="+name, "-o", os.DevNull, "true")
		if cmd.Run() == nil {
			knownCalls = append(knownCalls, name)
		}
	}
	return slices.Clip(knownCalls)
}

// isFolder reports whether a path is a folder. Listing names does not read the
// files.
func isFolder(file string) bool {
	fi, err := os.Stat(file)
	return err == nil && fi.IsDir()
}
