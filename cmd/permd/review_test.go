package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/cmd/permd/internal/rulecost"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/admin"
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
	term := &terminal{t, filepath.Join(d.run, fmt.Sprintf("tmux%d", len(env)))}
	cmd := d.command(args...)
	words := append([]string{"-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "env", "-i"}, append(append(cmd.Env, "TERM=screen-256color"), env...)...)
	// The shell says how the page ended, and stays: tmux may miss that a command has ended, and
	// then never writes "Pane is dead".
	words = append(words, "/bin/sh", "-c", `"$@"; echo "ended with $?"; read -r _`, "sh")
	words = append(append(words, cmd.Args...), ";", "set-option", "-g", "status", "off")
	term.tmux(words...)
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", term.socket, "kill-server").Run() })
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

// screen returns what the terminal shows, and what has gone up.
func (s *terminal) screen() string { return s.tmux("capture-pane", "-p", "-S", "-") }

func (s *terminal) keys(keys ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys"}, keys...)...)
}

// shows waits until the terminal shows all these texts; a space in them matches any white space.
func (s *terminal) shows(texts ...string) string {
	s.t.Helper()
	last := ""
	eventually.Holds(s.t, fmt.Sprintf("the page shows %q", texts), func() bool {
		last = s.screen()
		for _, text := range texts { // which may be on two lines
			if !strings.Contains(strings.Join(strings.Fields(last), " "), text) {
				return false
			}
		}
		return true
	}, func() string { return last })
	return last
}

// TestReview: a person answers, in a terminal, the questions of a client that waits, forgets what was
// remembered and takes that back. What the page says is what the daemon has.
func TestReview(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it goes through pages in a terminal; TestReviewColours is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	l := &late{t, d, d.dial(t), projectOf(t)}
	l.write("run.sh", "echo 1\n")
	l.session(l.project, "default")
	ask := func(command string) <-chan waitedAnswer {
		t.Helper()
		return l.waits(l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", command, 1))))
	}
	hears := func(got <-chan waitedAnswer, want string) {
		t.Helper()
		if a := <-got; a.err != nil || a.Answer != want {
			t.Fatalf("the client hears %+v, want %s", a, want)
		}
	}
	remembered := func() string {
		t.Helper()
		return d.permd(t, "remember", "list")
	}
	got := ask("sh run.sh once")
	page := terminalOf(t, d, 80, 24, nil, "review")
	const ready = "a allow once"
	page.shows("[1 questions 1]", "> ", "run sh run.sh once", ready)
	page.keys("a")
	hears(got, "allow")
	page.shows("allowed: this call only", "[1 questions 0]")
	d.wantAuthor(t, author.Review, false)

	// The yes that is remembered has the width that was shown, and the next call runs.
	got = ask("sh run.sh always")
	page.keys("j") // what was answered goes with this key
	page.shows("> ", "run sh run.sh always", ready)
	page.keys("A")
	page.shows("always allow", "is allowed, and from now on", "> remember: exactly this", d.countOf(t, "w1"))
	page.shows("enter does it")
	page.keys("Enter")
	hears(got, "allow")
	page.shows("remembered: allow run sh run.sh always", "u takes it back")
	if list := remembered(); !strings.Contains(list, "sh run.sh always") {
		t.Fatalf("remembered is\n%s", list)
	}
	if _, err := l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", "sh run.sh always", 1)); err != nil {
		t.Fatal(err)
	}

	got = ask("sh run.sh no")
	page.keys("j")
	page.shows("> ", "run sh run.sh no", ready)
	page.keys("d")
	hears(got, "deny")
	page.shows("denied; nothing is remembered")
	d.wantAuthor(t, author.Review, false)

	// A no that is remembered.
	got = ask("sh run.sh never")
	page.keys("j")
	page.shows("> ", "run sh run.sh never", ready)
	page.keys("D")
	page.shows("always deny", "> remember: run sh run.sh never", d.countOf(t, "r1"))
	page.shows("enter does it")
	page.keys("Enter")
	hears(got, "deny")
	page.shows("remembered: deny run sh run.sh never")
	page.keys("u")
	page.shows("taken back: answer", "forgotten: deny run sh run.sh never")
	if list := remembered(); strings.Contains(list, "never") {
		t.Fatalf("remembered is\n%s", list)
	}

	// Somebody else answers what the page shows: it stays, and a key does nothing to it.
	id := l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", "sh run.sh elsewhere", 1)))
	got = l.waits(id)
	page.keys("j")
	page.shows("> ", "run sh run.sh elsewhere", ready)
	d.permd(t, "deny", id)
	hears(got, "deny")
	page.shows("run sh run.sh elsewhere (+1): no longer waits")
	page.keys("a")
	page.shows("nothing was answered", "no question waits")

	page.keys("3")
	page.shows("[3 choices]", "> allow run sh run.sh always", "1 of 1", "holds for")
	page.keys("x")
	page.shows("y n: forget allow run sh run.sh always")
	page.keys("n")
	page.shows("nothing was done")
	page.keys("x", "y")
	page.shows("forgotten: allow run sh run.sh always", "u takes it back")
	if list := remembered(); strings.Contains(list, "always") {
		t.Fatalf("remembered is\n%s", list)
	}
	page.keys("u")
	page.shows("taken back: forget", "holds again: allow run sh run.sh always")
	if list := remembered(); !strings.Contains(list, "sh run.sh always") {
		t.Fatalf("remembered is\n%s", list)
	}
	page.shows("> allow run sh run.sh always")
	page.keys("c", "j", "l", "l")
	page.shows("> ends: 1 hour")
	page.shows("enter does it")
	page.keys("Enter")
	page.shows("now: allow run sh run.sh always")

	// Another line, with what the command says of it, and taken back.
	id = strings.Fields(d.permd(t, "remember", "add", "run", "frob build", "--dir", l.project))[0]
	page.keys("r")
	page.shows("1 of 2")
	page.keys("G")
	page.shows("> allow run frob build (project")
	page.keys("c", "Up", " ", "*")
	would := strings.Join(strings.Fields(d.permd(t, "remember", "change", id, "--line", "frob build *", "--dry-run")), " ")
	page.shows("> line: frob build *", would, "enter does it")
	if !strings.Contains(would, "would have matched ") {
		t.Errorf("a dry run says %s", would)
	}
	page.keys("Enter")
	page.shows("now: allow run frob build *", "u takes it back")
	if list := remembered(); !strings.Contains(list, "frob build *") {
		t.Fatalf("remembered is\n%s", list)
	}
	page.keys("u")
	page.shows("taken back: change")
	if list := remembered(); strings.Contains(list, "frob build *") || !strings.Contains(list, "frob build") {
		t.Fatalf("remembered is\n%s", list)
	}

	page.keys("2")
	page.shows("[2 decisions]", "ask, denied", "run sh run.sh never")
	page.keys("e")
	page.shows("is taken back", "decided by human", "q back")
	page.keys("q", "4")
	page.shows("[4 rules]", "ask")
	d.waitCosts(t, "the rules are measured", func(s rulecost.State) bool { return !s.Running && s.Report != nil })
	page.keys("r")
	page.shows("% of the time of all rules")
	page.keys("q")
	page.shows("ended with 0")
}

// countOf returns what permd allow says that a width of the only question would have matched.
func (d *testDaemon) countOf(t *testing.T, width string) string {
	t.Helper()
	list := objects[struct {
		admin.Question
		Previews []admin.Preview `json:"previews"`
	}](t, d, "allow")
	if len(list) != 1 {
		t.Fatalf("%d questions wait", len(list))
	}
	for i := range list[0].Previews {
		if p := &list[0].Previews[i]; p.Width == width && p.Requests > 0 {
			words := choices.WouldHave(p)
			if text := strings.Join(strings.Fields(d.permd(t, "allow")), " "); !strings.Contains(text, words) {
				t.Errorf("permd allow does not say %q:\n%s", words, text)
			}
			return words
		}
	}
	t.Fatalf("nothing is said of %s: %+v", width, list[0].Previews)
	return ""
}

// TestReviewRefused: without a terminal that can show it, the page says what can be used instead.
func TestReviewRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for what is refused; TestReviewColours is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	for _, args := range [][]string{{"review"}, {"review", "--json"}} {
		out, err := d.command(args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "permd allow") || !strings.Contains(string(out), "permd log list") {
			t.Errorf("permd %q says %v %s", args, err, out)
		}
	}
	// Standard input is a terminal, and what is printed goes into a pipe, whatever COLUMNS says.
	control, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	defer tty.Close()
	cmd := d.command("review")
	cmd.Stdin, cmd.Env = tty, append(cmd.Env, "COLUMNS=80", "TERM=xterm")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "needs a terminal") {
		t.Errorf("into a pipe: %v %s", err, out)
	}
	page := terminalOf(t, d, 120, 24, []string{"TERM=dumb"}, "review")
	page.shows("TERM is dumb", "permd allow", "permd log list")
}

// TestReviewColours: NO_COLOR is respected, and a very small terminal shows the page.
func TestReviewColours(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	d.permd(t, "remember", "add", "run", "frob", "--scope", "user")
	for _, env := range [][]string{nil, {"NO_COLOR=1"}} {
		t.Run(fmt.Sprint(env), func(t *testing.T) {
			page := terminalOf(t, d, 20, 6, env, "review")
			page.shows("no question waits")
			page.keys("3")
			page.shows("> allow run frob")
			if got, want := strings.Contains(page.tmux("capture-pane", "-p", "-e"), "\x1b[32m"), env == nil; got != want {
				t.Errorf("colours: %v, want %v: %q", got, want, page.tmux("capture-pane", "-p", "-e"))
			}
		})
	}
}
