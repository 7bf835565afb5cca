//go:build linux

package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

//go:embed stub/stub.c
var stubSource []byte

// The names of the stub. The person's rules allow the ordinary ones. No rule allows
// canaries, so a canary that ran is a wrong allow whatever its decision says.
var (
	ordinary = []string{"a", "b", "c", "d", "say", "no", "rd"}
	known    = []string{ // programs that are read-only by the shipped table
		"cat", "ls", "wc", "head", "tail", "grep", "sort", "uniq", "cut", "tr", "nl", "basename", "dirname", "seq", "date", "git", "stat",
		"awk", "sed", "rg", "jq", "tree", "file", "diff", "cmp", "tac", "rev", "fold", "od", "sleep", "tee",
	}
	canaries = []string{
		"touch", "pwned", "evil.sh", "evil", "rm", "mv", "cp", "ln", "chmod", "mkdir", "sudo", "curl", "wget", "nc", "python3", "python", "perl", "node",
		"make", "npm", "go", "cargo", "vi", "vim", "less", "more", "man", "E", "EOF", "x", "y", "then", "do", "done", "fi", "always", "end", "foreach",
		"repeat", "function", "coproc", "select", "time", "eval", "source", "noglob", "nocorrect", "builtin", "local", "declare", "let", "print", "[[", "((",
		"}", "{", "1", "2", "10", "_", "!", "docker", "gh", "tar", "ssh", "dd", "tsc",
	}
	// changing are programs whose real ones run under strace: what they change are
	// effects of their own.
	changing = []string{
		"mkdir", "rm", "rmdir", "cp", "mv", "ln", "touch", "tar", "unzip", "zip", "gzip", "gunzip", "bzip2", "xz", "zstd", "mktemp", "split", "truncate", "install", "patch", "dd", "unlink", "tee",
	}
	// Programs that run others are the real ones, so that the stubs see what they
	// run.
	wrappers = map[string][]string{
		"sh": {"dash"}, "bash": {"bash"}, "dash": {"dash"}, "zsh": {"zsh"}, "env": {"env"}, "xargs": {"xargs"}, "timeout": {"timeout"}, "nice": {"nice"},
		"nohup": {"nohup"}, "find": {"find"}, "setsid": {"setsid"}, "stdbuf": {"stdbuf"},
	}
)

// compileStub compiles the stub into a folder.
func compileStub(ctx context.Context, dir string) (string, error) {
	source, program := filepath.Join(dir, "stub.c"), filepath.Join(dir, "stub")
	if err := os.WriteFile(source, stubSource, 0o600); err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(ctx, "gcc", "-O2", "-static", "-o", program, source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling the stub: %w\n%s", err, out)
	}
	return program, os.Chmod(program, 0o755)
}

// ran is one start of a program.
type ran struct {
	exe   string // the file that was executed
	cwd   string
	stdin stdin
	text  string // what the stub read from standard input
	args  []string
	by    string // under strace, the program that started it; "" for a shell
}

// stdin describes the standard input of a stub.
type stdin string

const (
	stdinClosed    stdin = "closed"
	stdinInherited stdin = "inherited" // it is the shell's own
	stdinNull      stdin = "null"
	stdinFile      stdin = "file"
	stdinPipe      stdin = "pipe"
	stdinOther     stdin = "other"
)

// inode identifies a file.
type inode struct{ dev, ino uint64 }

// readLog reads a log of stubs. inherited is the standard input of the shell.
func readLog(log []byte, inherited inode) ([]ran, error) {
	var all []ran
	next := func() (string, error) {
		field, rest, ok := bytes.Cut(log, []byte{0})
		if !ok {
			return "", errors.New("the log of stubs is truncated")
		}
		log = rest
		return string(field), nil
	}
	for len(log) > 0 {
		var fields [5]string
		for i := range fields {
			var err error
			if fields[i], err = next(); err != nil {
				return nil, err
			}
		}
		n, err := strconv.Atoi(fields[4])
		if err != nil {
			return nil, fmt.Errorf("reading a log of stubs: %w", err)
		}
		r := ran{exe: fields[0], cwd: fields[1], stdin: readStdin(fields[2], inherited), text: fields[3]}
		for i := range n {
			word, err := next()
			if err != nil {
				return nil, err
			}
			if i > 0 {
				r.args = append(r.args, word)
			}
		}
		all = append(all, r)
	}
	return all, nil
}

func readStdin(s string, inherited inode) stdin {
	var mode uint32
	var at inode
	if s == "" {
		return stdinClosed
	}
	if _, err := fmt.Sscanf(s, "%o %d %d", &mode, &at.dev, &at.ino); err != nil {
		return stdinOther
	}
	switch {
	case at == inherited:
		return stdinInherited
	case mode == 0o020000:
		return stdinNull
	case mode == 0o100000, mode == 0o040000:
		return stdinFile
	case mode == 0o010000:
		return stdinPipe
	}
	return stdinOther
}

// stubs fills a folder with the stub under all its names, and with the real
// programs that run others.
func (h *hunter) stubs(bin string) error { return h.fill(bin, nil) }

// programs fills a folder with real programs, and stubs for all others.
func (h *hunter) programs(bin string) error { return h.fill(bin, traceable) }

func (h *hunter) fill(bin string, real []string) error {
	for _, name := range real {
		if wrappers[name] != nil {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
				return err
			}
		}
	}
	for _, list := range [][]string{ordinary, known, canaries} {
		for _, name := range list {
			if slices.Contains(real, name) {
				continue
			}
			if err := os.Link(h.stub, filepath.Join(bin, name)); err != nil {
				return err
			}
		}
	}
	for name, target := range wrappers {
		if path, err := exec.LookPath(target[0]); err == nil {
			if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
				return err
			}
		}
	}
	return nil
}
