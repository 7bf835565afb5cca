package plainshell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

// realShells are programs that read shell text, as an agent would call them.
var realShells = []struct {
	name string
	args []string
	is   Shells
}{
	{"bash", []string{"bash", "--norc", "-c"}, Bash},
	{"dash", []string{"dash", "-c"}, Sh},
	{"zsh", []string{"zsh", "-f", "-c"}, Zsh},
	{"busybox", []string{"busybox", "ash", "-c"}, Sh},
	{"mksh", []string{"mksh", "-c"}, 0},
	{"yash", []string{"yash", "--norcfile", "-c"}, 0},
}

// laboratory is a folder with stubs for all programs, and a log of their calls.
type laboratory struct {
	dir   string
	paths map[string]string // the installed shells
}

func newLaboratory(t *testing.T) *laboratory {
	t.Helper()
	l := &laboratory{dir: t.TempDir(), paths: map[string]string{}}
	for _, s := range realShells {
		path, err := exec.LookPath(s.args[0])
		if err != nil {
			t.Logf("%s is not installed", s.name)
			continue
		}
		l.paths[s.name] = path
	}
	if l.paths["dash"] == "" || len(l.paths) < 2 {
		t.Skip("needs dash, and bash, zsh or busybox, to compare")
	}
	// The stub logs its words in a file of its own, with a byte 1 after each, and
	// prints its name.
	stub := "#!" + l.paths["dash"] + "\nprintf '%s\\1' \"${0##*/}\" \"$@\" >\"$LOG/$$\"\nprintf '%s\\n' \"${0##*/}\"\n"
	if err := os.Mkdir(filepath.Join(l.dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"p", "q", "r", "p-q", "canary", "a", "b", "c", "E", "EOF", "x", "y", "1", "2", "b1", "u", "h"} {
		if err := os.WriteFile(filepath.Join(l.dir, "bin", name), []byte(stub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// run runs a text in a shell, in an empty folder, and returns the words of each
// program that it started.
func (l *laboratory) run(t *testing.T, shell int, text string) (calls [][]string, ok bool) {
	t.Helper()
	work, err := os.MkdirTemp(l.dir, "w")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	if err := os.Mkdir(filepath.Join(work, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	log, err := os.MkdirTemp(l.dir, "log")
	if err != nil {
		t.Fatal(err)
	}
	s := realShells[shell]
	ctx, cancel := context.WithTimeout(t.Context(), eventually.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.paths[s.name], append(slices.Clone(s.args[1:]), text)...)
	cmd.Dir, cmd.WaitDelay = work, 200*time.Millisecond
	cmd.Env = []string{"PATH=" + filepath.Join(l.dir, "bin"), "HOME=" + work, "LOG=" + log, "LC_ALL=C.UTF-8"}
	// All that the shell starts holds the pipe open, also in the background.
	running, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	cmd.ExtraFiles = []*os.File{held}
	err = cmd.Run()
	held.Close()
	if ctx.Err() != nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil, false
	}
	if err := running.SetReadDeadline(time.Now().Add(eventually.Limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, running); err != nil {
		return nil, false
	}
	entries, err := os.ReadDir(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(log, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if call, whole := strings.CutSuffix(string(data), "\x01"); whole {
			calls = append(calls, strings.Split(call, "\x01"))
		}
	}
	return calls, true
}

// listed is a word that the reader listed: its value, or that it is not known, and
// then whether it may be several words.
type listed struct {
	value       string
	known, many bool
}

// commandsOf returns the commands that the reader lists, with their words.
func commandsOf(text string, script *Script) [][]listed {
	var all [][]listed
	for _, spans := range script.commands() {
		var words []listed
		for i, s := range spans {
			r := reader{text: text[:s.end], shells: All, pos: s.start}
			w, _ := r.parts([]place{inName, inOperands}[min(i, 1)])
			one := listed{known: w.has&(hasExpansion|hasPattern) == 0 && text[s.start] != '~', many: w.has&(hasOpen|hasPattern) != 0}
			if one.known {
				one.value = r.value(w)
			}
			words = append(words, one)
		}
		all = append(all, words)
	}
	return all
}

// matches reports whether a program's words are those of a listed command.
func matches(words []listed, call []string) bool {
	if len(words) == 0 {
		return len(call) == 0
	}
	if words[0].many {
		for n := 0; n <= len(call); n++ {
			if matches(words[1:], call[n:]) {
				return true
			}
		}
		return false
	}
	return len(call) > 0 && (!words[0].known || words[0].value == call[0]) && matches(words[1:], call[1:])
}

// difference returns a call of a shell that the reader did not list, "" if there is
// none.
func difference(commands [][]listed, calls [][]string) string {
	for _, call := range calls {
		if !slices.ContainsFunc(commands, func(words []listed) bool {
			if len(words) > 0 && words[0].value == "command" {
				words = words[1:]
			}
			return matches(words, call)
		}) {
			return fmt.Sprintf("ran %q", call)
		}
	}
	return ""
}

// TestShellsAgree runs generated plain texts in real shells: each must run the
// commands that the reader lists, with those words. If nothing is expanded outside
// of quotes and no text ends early, all shells must run the same.
//
// PERMD_TEST_PLAIN_TEXTS is how many texts to run, PERMD_TEST_PLAIN_SEED the seed
// of the generator.
func TestShellsAgree(t *testing.T) {
	l := newLaboratory(t)
	n, seed := testload.Rounds(t, "PERMD_TEST_PLAIN_TEXTS", 20, 60), uint64(1)
	if other, err := strconv.ParseUint(os.Getenv("PERMD_TEST_PLAIN_SEED"), 10, 64); err == nil {
		seed = other
	}
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 2))}
	for plain, tried := 0, 0; plain < n; tried++ {
		if tried > 200*n {
			t.Fatalf("only %d of %d texts are plain", plain, tried)
		}
		text := g.text()
		if g.chance(2) {
			text = g.mutate(text)
		}
		script, refusal := Read(text, All)
		if refusal != nil || len(script.Marks) == 0 || loops(script) && !strings.Contains(text, "while false") && !strings.Contains(text, "until true") {
			continue // a loop may not end
		}
		plain++
		l.compare(t, text, script)
	}
}

func loops(script *Script) bool {
	return slices.ContainsFunc(script.Marks, func(m Mark) bool { return m.Kind == MarkLoop })
}

// compare runs a text in all shells.
func (l *laboratory) compare(t *testing.T, text string, script *Script) {
	t.Helper()
	commands := commandsOf(text, script)
	var first, firstShell string
	for i, s := range realShells {
		if l.paths[s.name] == "" || s.is == 0 && os.Getenv("PERMD_TEST_PLAIN_TEXTS") == "" {
			continue
		}
		calls, ok := l.run(t, i, text)
		if !ok {
			t.Logf("%s did not end: %q", s.name, text)
			return
		}
		if d := difference(commands, calls); d != "" {
			t.Errorf("%s %s: %q", s.name, d, text)
		}
		if s.is == 0 || strings.ContainsAny(text, "$*?~&<>|") || strings.Contains(text, "set -e") || strings.Contains(text, "read") || strings.Contains(text, "cd") {
			continue // joined words, see docs/shell.md
		}
		slices.SortFunc(calls, slices.Compare)
		if got := fmt.Sprintf("%q", calls); firstShell == "" {
			first, firstShell = got, s.name
		} else if got != first {
			t.Errorf("%q\n%s ran %s\n%s ran %s", text, firstShell, first, s.name, got)
		}
	}
}
