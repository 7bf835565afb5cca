package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// twoProjects begins a conversation in a project with rules of its own, and opens
// a session of another one in it.
func twoProjects(t *testing.T, rules string) (*testDaemon, *mirrored) {
	t.Helper()
	d := newTestDaemon(t)
	d.start(t)
	first := d.project(t, map[string]string{".permd/rules.yaml": rules})
	second := filepath.Join(d.home, "second")
	if err := os.MkdirAll(filepath.Join(second, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	m := d.mirror(t, first, "claude-agent-acp", 1)
	m.opens("t", second)
	return d, m
}

// opens opens a further session for the client.
func (m *mirrored) opens(session, cwd string) {
	m.t.Helper()
	m.passes(fmt.Sprintf(`{"jsonrpc":"2.0","id":"n%s","method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, session, cwd))
	m.passes(fmt.Sprintf(`{"jsonrpc":"2.0","id":"n%s","result":{"sessionId":%q}}`, session, session))
}

// TestTwoProjects: what an agent makes its client do is decided by the rules of all
// projects that it works in, whichever session it names.
func TestTwoProjects(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for one conversation; TestGates is the quick one")
	}
	t.Parallel()
	d, m := twoProjects(t, "deny:\n  run: [\"frob *\"]\n  write: [\"./migrations/**\"]\nask:\n  run: [\"quux *\"]\n  write: [\"./deploy/**\"]\n")
	id := 100
	in := func(session, line string) string {
		id++
		line = strings.Replace(line, `"sessionId":"s"`, fmt.Sprintf(`"sessionId":%q`, session), 1)
		return strings.Replace(line, `"id":1,`, fmt.Sprintf(`"id":%d,`, id), 1)
	}
	run := func(command string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"terminal/create","params":{"sessionId":"s","command":%q}}`, command)
	}
	write := func(path string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file","params":{"sessionId":"s","path":%q,"content":"x"}}`, path)
	}
	project := func(name string) string { return filepath.Join(d.home, "project", name) }
	second := func(name string) string { return filepath.Join(d.home, "second", name) }
	for _, session := range []string{"s", "t", "a session of the agent's own"} {
		for _, line := range []string{
			run("frob a"), run("cd " + project("") + " && frob a"), write(project("migrations/1.sql")), run("touch " + project("migrations/1.sql")),
		} {
			if got := m.shutAt(in(session, line)); !strings.Contains(got, "permd denies this") {
				t.Errorf("%s in %s: %s", line, session, got)
			}
		}
		for _, line := range []string{run("quux a"), write(project("deploy/a"))} {
			line = in(session, line)
			if got := m.replies(m.question(line), "permd-once"); got != line {
				t.Errorf("%s in %s: %s", line, session, got)
			}
		}
		// What no project's rules match passes.
		for _, line := range []string{run("make"), run("git status"), write(project("src/a")), write(second("src/a")), write(second("migrations/1.sql"))} {
			if session != "s" && session != "t" {
				continue
			}
			m.passes(in(session, line))
		}
	}

	// An approval in the other session does not answer this project's rule.
	asked := strings.Replace(mirrorAsks(7, "quux b"), `"sessionId":"s"`, `"sessionId":"t"`, 1)
	m.shows(asked)
	m.picks(7, "yes")
	m.question(in("t", run("quux b")))
}

// TestTwoProjectsOneRule: a rule that applies to both projects asks once.
func TestTwoProjectsOneRule(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a second daemon with two projects; TestTwoProjects is the quick one")
	}
	t.Parallel()
	d, m := twoProjects(t, "")
	d.policy(t, "quux.rego", "ask contains \"quux\" if input.effect.program == \"quux\"")
	d.reload(t)
	m.shows(mirrorAsks(7, "quux b"))
	m.picks(7, "yes")
	m.passes(`{"jsonrpc":"2.0","id":8,"method":"terminal/create","params":{"sessionId":"s","command":"quux b"}}`)
	m.question(`{"jsonrpc":"2.0","id":9,"method":"terminal/create","params":{"sessionId":"s","command":"quux b"}}`)
}

// TestProjectsOfMovedSession: for what an agent has its client do, a project's rules
// apply as long as the session that was opened there is open, even if the session is
// declared in another folder: by an agent that gives a new session the id of another
// one, by a client that opens it elsewhere, and by a client whose request to do so is
// refused.
func TestProjectsOfMovedSession(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it moves a session over and over; TestTwoProjects is the quick one")
	}
	t.Parallel()
	id := 200
	run := func(command string) string {
		id++
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"terminal/create","params":{"sessionId":"s","command":%q}}`, id, command)
	}
	for name, move := range map[string]func(m *mirrored, to string){
		"an id that is in use": func(m *mirrored, to string) {
			m.passes(fmt.Sprintf(`{"jsonrpc":"2.0","id":"again","method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, to))
			m.passes(`{"jsonrpc":"2.0","id":"again","result":{"sessionId":"s"}}`)
		},
		"not answered": func(m *mirrored, to string) {
			m.passes(fmt.Sprintf(`{"jsonrpc":"2.0","id":"load","method":"session/load","params":{"sessionId":"s","cwd":%q,"mcpServers":[]}}`, to))
		},
		"carried out": func(m *mirrored, to string) {
			m.passes(fmt.Sprintf(`{"jsonrpc":"2.0","id":"load","method":"session/load","params":{"sessionId":"s","cwd":%q,"mcpServers":[]}}`, to))
			m.passes(`{"jsonrpc":"2.0","id":"load","result":{}}`)
		},
		"refused twice": func(m *mirrored, to string) {
			for i := range 2 {
				m.passes(fmt.Sprintf(`{"jsonrpc":"2.0","id":"l%d","method":"session/load","params":{"sessionId":"s","cwd":%q,"mcpServers":[]}}`, i, filepath.Join(to, []string{"a", "b"}[i])))
			}
			for i := range 2 {
				m.passes(fmt.Sprintf(`{"jsonrpc":"2.0","id":"l%d","error":{"code":-32002,"message":"x"}}`, i))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, m := twoProjects(t, "deny:\n  run: [\"frob *\"]\n")
			second := filepath.Join(d.home, "second")
			for _, dir := range []string{"a", "b"} {
				if err := os.Mkdir(filepath.Join(second, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			move(m, second)
			for _, session := range []string{"s", "t"} {
				line := strings.Replace(run("frob a"), `"sessionId":"s"`, fmt.Sprintf(`"sessionId":%q`, session), 1)
				if got := m.shutAt(line); !strings.Contains(got, "permd denies this") {
					t.Errorf("in %s: %s", session, got)
				}
			}
			// What no project's rules match passes.
			m.passes(run("make"))
		})
	}
	t.Run("closed", func(t *testing.T) {
		_, m := twoProjects(t, "deny:\n  run: [\"frob *\"]\n")
		m.passes(`{"jsonrpc":"2.0","id":"c","method":"session/close","params":{"sessionId":"s"}}`)
		m.passes(`{"jsonrpc":"2.0","id":"c","result":{}}`)
		m.passes(strings.Replace(run("frob a"), `"sessionId":"s"`, `"sessionId":"t"`, 1))
	})
}
