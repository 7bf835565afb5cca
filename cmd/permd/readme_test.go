package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/eventually"
)

// The README is followed as a person would: its commands print what it shows, and
// its rules compile.

// readme is the README with its parts.
type readme struct {
	path, text string
	blocks     []block
}

type block struct{ language, text string }

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

func readReadme(t *testing.T) readme {
	t.Helper()
	return readDocument(t, "README.md")
}

func readDocument(t *testing.T, path string) readme {
	t.Helper()
	r := readme{path: filepath.Join("..", "..", filepath.FromSlash(path))}
	b, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	r.text = string(b)
	for _, m := range fence.FindAllStringSubmatch(r.text, -1) {
		r.blocks = append(r.blocks, block{m[1], m[2]})
	}
	return r
}

// find returns the only block of that language that contains a text.
func (r readme) find(t *testing.T, language, contains string) string {
	t.Helper()
	var found []string
	for _, b := range r.blocks {
		if b.language == language && strings.Contains(b.text, contains) {
			found = append(found, b.text)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has %d %q blocks with %q", r.path, len(found), language, contains)
	}
	return found[0]
}

// shown is one command of a transcript with what it prints.
type shown struct{ command, output string }

func transcript(text string) (commands []shown) {
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			commands = append(commands, shown{command: strings.TrimSuffix(command, "\n")})
		} else if n := len(commands); n > 0 {
			commands[n-1].output += line
		}
	}
	return commands
}

// The parts of an output that are different each time.
var changing = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`permd \S+, pid \d+, for \S+`), "permd devel, pid 4711, for ana"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`policy [0-9a-f]{12}\b`), "policy DIGEST"},
	// They move with each change of the shipped rules.
	{regexp.MustCompile(`base/\w+\.rego:\d+`), "base/FILE:LINE"},
}

func steady(s string) string {
	for _, c := range changing {
		s = c.what.ReplaceAllString(s, c.with)
	}
	return s
}

// TestReadmeTranscript: with UPDATE_SCRIPTS set, the README gets what the
// commands print now.
func TestReadmeTranscript(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it types all commands of a page; TestReadmeRules is the quick one")
	}
	t.Parallel()
	r := readReadme(t)
	old := r.find(t, "", "$ permd serve")
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{".env": "API_KEY=canary\n"})
	d.typePermd(t)
	// As it would read for ana.
	paths := strings.NewReplacer(filepath.Join(d.home, "root")+"/etc", "/etc", d.home, "/home/ana", d.run, "/run/user/1000")

	var now strings.Builder
	for _, c := range transcript(old) {
		var got string
		switch {
		case c.command == "permd serve &":
			d.start(t, "--root", filepath.Join(d.home, "root"))
			got = d.greeting(t)
			d.tryGreeting(t, project, got)
		case strings.HasPrefix(c.command, "cat "):
			writeFile(t, filepath.Join(project, strings.TrimPrefix(c.command, "cat ")), c.output)
			got = c.output
		default:
			got, _ = d.shell(project, c.command) // its exit code tells the verdict
		}
		got = paths.Replace(got)
		if diff := cmp.Diff(steady(c.output), steady(got)); diff != "" && os.Getenv("UPDATE_SCRIPTS") == "" {
			t.Errorf("$ %s (-README +printed)\n%s", c.command, diff)
		}
		if steady(c.output) == steady(got) {
			got = c.output
		}
		now.WriteString("$ " + c.command + "\n" + changing[0].what.ReplaceAllString(got, changing[0].with))
	}
	if os.Getenv("UPDATE_SCRIPTS") != "" && now.String() != old {
		if err := os.WriteFile(r.path, []byte(strings.Replace(r.text, old, now.String(), 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// greeting is what the daemon prints at its start, up to the last line.
func (d *testDaemon) greeting(t *testing.T) string {
	t.Helper()
	d.waitOutput(t, " decide --agent claude-agent-acp -\n")
	return d.output.String()
}

// tryGreeting runs the command that the daemon suggests.
func (d *testDaemon) tryGreeting(t *testing.T, project, greeting string) {
	t.Helper()
	_, line, ok := strings.Cut(greeting, "\n  try      ")
	if !ok {
		t.Fatalf("the greeting has nothing to try:\n%s", greeting)
	}
	line, _, _ = strings.Cut(line, "\n")
	if out, err := d.shell(project, line); err != nil || !strings.HasPrefix(out, "allow: ") {
		t.Errorf("$ %s\n%s%v", line, out, err)
	}
}

// typePermd lets a shell find permd by its name.
func (d *testDaemon) typePermd(t *testing.T) {
	t.Helper()
	bin := filepath.Join(d.home, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, filepath.Join(bin, "permd")); err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "PATH="+bin+":"+os.Getenv("PATH"))
}

// shell runs a line of a shell and returns all that it prints.
func (d *testDaemon) shell(dir, line string) (string, error) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = dir, d.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestGreetingWithoutName: started by go run, permd is not in PATH, and the command
// that the greeting suggests still works.
func TestGreetingWithoutName(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for its greeting alone; TestReadmeTranscript is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.start(t)
	d.tryGreeting(t, project, d.greeting(t))
}

func TestReadmeRules(t *testing.T) {
	t.Parallel()
	r := readReadme(t)
	d := newTestDaemon(t)
	dir := filepath.Join(d.home, "rules")
	writeFile(t, filepath.Join(dir, "rules.yaml"), r.find(t, "yaml", "allow:"))
	writeFile(t, filepath.Join(dir, "rules.rego"), r.find(t, "rego", "package permd.user"))
	out, err := d.command("policy", "check", dir).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "ok: ") || strings.Count(string(out), "\n") != 1 {
		t.Errorf("permd policy check: %v\n%s", err, out)
	}
}

// TestStartClient sends the messages of docs/start-client.md and checks the answers
// that it shows; … matches anything.
func TestStartClient(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it does what a page says")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	for name, marker := range map[string]string{"ACP": "session/request_permission", "declared tools": `"tools":`} {
		t.Run(name, func(t *testing.T) {
			replayLines(t, d.wire(t), strings.ReplaceAll(readDocument(t, "docs/start-client.md").find(t, "", marker), "/home/ana/shop", project))
		})
	}
}

// replay sends the messages of a conversation and checks the answers.
func replayLines(t *testing.T, w *wire, conversation string) {
	t.Helper()
	sent, answered := 0, 0
	for line := range strings.Lines(conversation) {
		line = strings.TrimSuffix(line, "\n")
		if message, ok := strings.CutPrefix(line, "→ "); ok {
			sent++
			if _, err := w.Write([]byte(message + "\n")); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, ok := strings.CutPrefix(line, "← ")
		if !ok {
			t.Fatalf("neither sent nor answered: %s", line)
		}
		answered++
		if err := w.SetReadDeadline(time.Now().Add(eventually.Limit)); err != nil {
			t.Fatal(err)
		}
		got, err := w.lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*") + "\n$"
		if !regexp.MustCompile(pattern).MatchString(got) {
			t.Errorf("the answer is\n%swant\n%s", got, want)
		}
	}
	if sent < 2 || answered < 2 {
		t.Errorf("%d messages, %d answers", sent, answered)
	}
}
