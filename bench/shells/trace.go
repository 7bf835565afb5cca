//go:build linux

package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// tracedCalls are the system calls that show which files and addresses that were
// connected to a text touches.
const tracedCalls = "trace=execve,execveat,open,openat,openat2,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat," +
	"symlink,symlinkat,mknod,mknodat,truncate,chdir,fchdir,chmod,fchmodat,chown,lchown,fchownat,utimensat,connect,clone,clone3,fork,vfork"

// traced is what strace saw of a text.
type traced struct {
	opened   []touched
	executed []ran
	reached  []string // addresses
}

// touched is a file that was opened or changed, with its path as permd knows it.
type touched struct {
	path   string
	write  bool
	folder bool   // opened as a folder
	there  bool   // as "." or "/"
	inner  bool   // by a shell that the text starts
	same   bool   // by a program with the option -samefile
	by     string // the program, "" for the shell
	call   string
}

// trace runs a text under strace, and leaves out the files that an empty text
// opens.
func (s *sandbox) trace(ctx context.Context, shell, text string) (*observed, error) {
	if s.idle == nil {
		s.idle = map[string]map[string]bool{}
	}
	if s.idle[shell] == nil {
		o, err := s.traceAll(ctx, shell, ":")
		if err != nil {
			return nil, err
		}
		s.idle[shell] = map[string]bool{}
		for _, t := range o.traced.opened {
			s.idle[shell][t.path] = true
		}
	}
	o, err := s.traceAll(ctx, shell, text)
	if err != nil {
		return nil, err
	}
	o.traced.opened = slices.DeleteFunc(o.traced.opened, func(t touched) bool { return !t.write && t.by == "" && s.idle[shell][t.path] })
	return o, nil
}

func (s *sandbox) traceAll(ctx context.Context, shell, text string) (*observed, error) {
	file := filepath.Join(s.root, "trace")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		if err := os.Lchown(file, nobody, nobody); err != nil {
			return nil, err
		}
	}
	o, err := s.run(ctx, shell, text, "strace", "-f", "-qq", "-y", "-xx", "-s", "4096", "--seccomp-bpf", "-e", "signal=none", "-e", tracedCalls, "-o", file)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	o.traced = readTrace(string(data), s.known)
	o.traced.opened = slices.DeleteFunc(o.traced.opened, func(t touched) bool { return strings.HasPrefix(t.call, "mkdir") && s.leadsToRoot(t.path) })
	return o, nil
}

// leadsToRoot reports whether a path ends with folders above the sandbox's root:
// cp --parents "$PWD" d/ makes d/tmp if the root lies in /tmp.
func (s *sandbox) leadsToRoot(p string) bool {
	for dir := path.Dir(s.root); dir != "/"; dir = path.Dir(dir) {
		if lexpath.Below(project, p) && strings.HasSuffix(p, dir) {
			return true
		}
	}
	return false
}

// process is one process of a trace.
type process struct {
	program string   // "" for the shell that strace started, and its forks
	cwd     string   // "" until a call shows it
	waiting string   // the beginning of a line whose end comes later
	run     int      // index in traced.executed, -1 if none
	copied  *process // its state at its last fork, whose child may do much before the call's line is complete
}

// readTrace reads the output of strace -f -y -xx. known translates paths to those
// that permd knows.
func readTrace(text string, known func(string) string) *traced {
	t := &traced{}
	all := map[string]*process{}
	parents := readParents(text)
	first := true
	for line := range strings.Lines(text) {
		pid, line, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok {
			continue
		}
		line = strings.TrimLeft(line, " ")
		p := all[pid]
		if p == nil {
			p = &process{run: -1}
			if parent := all[parents[pid]]; parent != nil && parent.copied != nil {
				*p = *parent.copied
			}
			all[pid] = p
		}
		if name, _, _ := strings.Cut(line, "("); slices.Contains(forks, name) {
			p.copied = &process{program: p.program, cwd: p.cwd, run: p.run}
		}
		if begin, ok := strings.CutSuffix(line, "<unfinished ...>"); ok {
			p.waiting = begin
			continue
		}
		if strings.HasPrefix(line, "<... ") {
			_, end, _ := strings.Cut(line, " resumed>")
			line, p.waiting = p.waiting+end, ""
		}
		c, ok := readCall(line)
		if !ok {
			continue
		}
		if c.name == "connect" {
			if !strings.Contains(line, "AF_UNIX") {
				t.reached = append(t.reached, line)
			}
			continue
		}
		if c.failed || slices.Contains(forks, c.name) {
			continue
		}
		if c.name == "execve" {
			if first { // strace starts the shell
				first = false
				continue
			}
			r := ran{exe: known(c.strings[0]), by: p.program}
			p.program, p.cwd, p.run = r.exe, "", len(t.executed)
			if path.Base(r.by) == "tar" && r.name() == "sh" {
				p.program = r.by // it starts a compression program
			} else if slices.Contains(readers, path.Base(p.program)) {
				p.program = "" // it reads text whose commands the decision has
			}
			for _, arg := range c.strings[min(2, len(c.strings)):] {
				r.args = append(r.args, known(arg))
			}
			t.executed = append(t.executed, r)
			continue
		}
		if c.cwd != "" && p.cwd == "" {
			p.cwd = c.cwd
			if p.run >= 0 && t.executed[p.run].cwd == "" {
				t.executed[p.run].cwd = known(c.cwd)
			}
		}
		if c.cwd != "" {
			p.cwd = c.cwd
		}
		if c.name == "chdir" || c.name == "fchdir" {
			p.change(&c)
			continue
		}
		for _, f := range c.files(p.cwd) {
			f.path, f.by, f.inner = known(f.path), p.program, p.run >= 0
			f.same = p.run >= 0 && slices.Contains(t.executed[p.run].args, "-samefile")
			f.path = strings.Replace(f.path, "/proc/"+pid+"/", "/proc/self/", 1)
			t.opened = append(t.opened, f)
		}
	}
	return t
}

var forks = []string{"clone", "clone3", "fork", "vfork"}

// readParents returns the parent of each process. What a child does may come before
// the end of the line that started it.
func readParents(text string) map[string]string {
	parents := map[string]string{}
	for line := range strings.Lines(text) {
		pid, line, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		line = strings.TrimLeft(line, " ")
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "<... "), " ")
		name, _, _ = strings.Cut(name, "(")
		if !slices.Contains(forks, name) || strings.HasSuffix(line, "<unfinished ...>") {
			continue
		}
		if i := strings.LastIndex(line, " = "); i >= 0 {
			child, _, _ := strings.Cut(line[i+3:], " ")
			parents[child] = pid
		}
	}
	return parents
}

// change follows a process to another folder.
func (p *process) change(c *call) {
	switch {
	case len(c.strings) > 0 && path.IsAbs(c.strings[0]):
		p.cwd = c.strings[0]
	case len(c.strings) > 0 && p.cwd != "":
		p.cwd = path.Join(p.cwd, c.strings[0])
	case len(c.folders) > 0:
		p.cwd = c.folders[0]
	}
}

// call is one system call in a trace.
type call struct {
	name    string
	strings []string // its quoted arguments
	folders []string // the paths of its descriptors in order, AT_FDCWD included
	cwd     string
	opened  string // the path of the descriptor that it returned
	flags   string
	failed  bool
}

// readCall reads a line of strace -y -xx: in quotes and angle brackets every byte
// is \x and two digits.
func readCall(line string) (call, bool) {
	name, rest, ok := strings.Cut(line, "(")
	i := strings.LastIndex(rest, ") = ")
	if i < 0 { // strace pads short lines
		if i = strings.LastIndex(rest, " = "); i < 0 {
			ok = false
		}
	}
	if !ok {
		return call{}, false
	}
	c := call{name: name}
	args, result := rest[:i], strings.TrimLeft(strings.TrimPrefix(rest[i:], ")"), " =")
	c.failed = strings.HasPrefix(result, "-1") || strings.HasPrefix(result, "?")
	if _, at, ok := strings.Cut(result, "<"); ok {
		at, _, _ = strings.Cut(at, ">")
		c.opened = unhex(at)
	}
	for args != "" {
		at := strings.IndexAny(args, "\"<")
		if at < 0 {
			c.flags += args
			break
		}
		c.flags += args[:at]
		end := byte('>')
		if args[at] == '"' {
			end = '"'
		}
		word, after, ok := strings.Cut(args[at+1:], string(end))
		if !ok {
			break
		}
		if end == '"' {
			c.strings = append(c.strings, unhex(word))
		} else {
			c.folders = append(c.folders, unhex(word))
			if strings.HasSuffix(args[:at], "AT_FDCWD") {
				c.cwd = unhex(word)
			}
		}
		args = after
	}
	return c, true
}

func unhex(s string) string {
	b, err := hex.DecodeString(strings.ReplaceAll(s, `\x`, ""))
	if err != nil {
		return s
	}
	return string(b)
}

// files returns the files that a call touches.
func (c *call) files(cwd string) []touched {
	switch c.name {
	case "open", "openat", "openat2", "creat":
		f := touched{path: c.opened, call: c.name, folder: strings.Contains(c.flags, "O_DIRECTORY")}
		f.there = slices.Contains([]string{".", "/"}, c.strings[0])
		if strings.Contains(c.flags, "O_PATH") || f.path == "" {
			return nil
		}
		f.write = c.name == "creat" || strings.Contains(c.flags, "O_WRONLY") || strings.Contains(c.flags, "O_RDWR") || strings.Contains(c.flags, "O_CREAT") || strings.Contains(c.flags, "O_TRUNC")
		return []touched{f}
	}
	var all []touched
	for i, p := range c.strings {
		if c.name == "symlink" && i == 0 || c.name == "symlinkat" && i == 0 {
			continue // the target of a link is not touched
		}
		dir := cwd
		if n := len(c.folders); n > 0 {
			dir = c.folders[min(i, n-1)]
		}
		if !path.IsAbs(p) {
			p = path.Join(dir, p)
		}
		all = append(all, touched{path: path.Clean(p), write: true, call: c.name})
	}
	return all
}

// compare returns what strace saw that is no effect of the decision.
func (t *traced) compare(v *verdict, add func(kind, class, format string, args ...any)) {
	for i := range t.executed {
		r := &t.executed[i]
		if near := v.starts(r); near != "" {
			add("exec", r.name()+" "+strings.SplitN(near, "/", 2)[0], "%s %q in %s: %s", r.name(), r.args, r.cwd, near)
		}
	}
	for _, f := range t.opened {
		switch {
		case f.write && !f.harmless() && !v.changes(f.path) && !f.besides(v) && !v.leavesOpen(path.Base(f.by)):
			add("write", path.Base(f.by), "%s by %s (%s)", f.path, f.who(), f.call)
		case f.write || f.harmless() || v.reaches(f.path, effects.KindRead) || f.staged(v) || v.leavesOpen(path.Base(f.by)):
		case slices.Contains(rereaders, path.Base(f.by)) && (v.changes(f.path) || v.makesRepository(f.path)): // they write it
		case f.folder && (path.Base(f.by) == "mkdir" || v.changes(f.path)): // it is made, moved or removed
		default:
			add("read", path.Base(f.by), "%s by %s", f.path, f.who())
		}
	}
	for _, r := range t.reached {
		add("connect", "", "%s", r)
	}
}

// leavesOpen reports whether the decision has an unknown word of the program. Then
// it does not know what is read or written either, and a rule had to allow the
// unknown word.
func (v *verdict) leavesOpen(program string) bool {
	return slices.ContainsFunc(v.effects, func(e effects.Effect) bool {
		return e.Kind == effects.KindUnknown && e.Via != nil && e.Via.Arg >= 0 && v.effects[e.Via.Effect].Run != nil &&
			path.Base(v.effects[e.Via.Effect].Run.Program) == program && v.effects[e.Via.Effect].Run.Args[e.Via.Arg] == effects.DynamicWord
	})
}

func (f *touched) who() string {
	if f.by == "" {
		return "the shell"
	}
	return f.by
}

// readers are the names by which texts call shells.
var readers = []string{"bash", "dash", "sh", "zsh"}

// Programs that only run another one have no run effect of their own.
var only = []string{"env", "nice", "nohup", "setsid", "stdbuf", "timeout", "time", "command"}

// starts is like explains, for a program that strace saw: its standard input is not
// known, and its folder may not be.
func (v *verdict) starts(r *ran) string {
	if slices.Contains(only, r.name()) || r.own() {
		return ""
	}
	return v.nearest(r, func(e *effects.Run) string {
		if r.cwd != "" && !v.works(e, r) {
			return "in " + e.Cwd
		}
		return ""
	})
}

func (t *traced) print(out io.Writer) {
	for i := range t.executed {
		fmt.Fprintf(out, "  executed %s %q in %s\n", t.executed[i].exe, t.executed[i].args, t.executed[i].cwd)
	}
	for _, f := range t.opened {
		if !f.harmless() {
			fmt.Fprintf(out, "  opened %s (write %v) by %s\n", f.path, f.write, f.who())
		}
	}
	for _, r := range t.reached {
		fmt.Fprintf(out, "  %s\n", r)
	}
}
