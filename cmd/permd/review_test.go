package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// terminal is a page in a terminal of tmux.
type terminal struct {
	t      *testing.T
	socket string
}

// terminalOf runs a command of the daemon's person in a terminal.
func terminalOf(t *testing.T, d *testDaemon, width, height int, env []string, args ...string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	// The path of a socket is short.
	term := &terminal{t, filepath.Join(d.run, "tmux")}
	cmd := d.command(args...)
	words := append([]string{"-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "env", "-i"}, append(cmd.Env, env...)...)
	words = append(words, "TERM=screen-256color")
	words = append(words, cmd.Args...)
	term.tmux(words...)
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", term.socket, "kill-server").Run() })
	term.tmux("set-option", "-g", "remain-on-exit", "on")
	return term
}

func (s *terminal) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), "tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// screen returns what the terminal shows.
func (s *terminal) screen() string { return s.tmux("capture-pane", "-p") }

func (s *terminal) keys(keys ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys"}, keys...)...)
}

// shows waits until the terminal shows all these texts.
func (s *terminal) shows(texts ...string) string {
	s.t.Helper()
	last := ""
	eventually.Holds(s.t, fmt.Sprintf("the page shows %q", texts), func() bool {
		last = s.screen()
		for _, text := range texts {
			if !strings.Contains(last, text) {
				return false
			}
		}
		return true
	}, func() string { return last })
	return last
}

// TestReview: a person answers, in a terminal, the questions of a client that waits.
func TestReview(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	l := &late{t, d, d.dial(t), projectOf(t)}
	l.write("run.sh", "echo 1\n")
	l.session(l.project, "default")
	got := l.waits(l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, lateCall)))
	page := terminalOf(t, d, 80, 24, nil, "review")
	t.Log(page.shows("1 questions 1", "> ", "run sh"))
	page.shows("a allow once")
	page.keys("a")
	if a := <-got; a.err != nil || a.Answer != "allow" {
		t.Fatalf("the client hears %+v", a)
	}
	t.Log(page.shows("allowed once"))
	page.keys("q")
}
