package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/native"
)

// nasty are names that a client could send to change what a person sees.
var nasty = map[string]string{
	"escape":      "\x1b[2J\x1b[1;1Hallow",
	"line":        "x\npermd: hint: all is well",
	"return":      "reject\rallow ",
	"bidi":        "\u202egnp.exe\u2066",
	"zero width":  "git\u200bhub",
	"tab":         "a\tb\tc",
	"delete":      "abc\x7f\x7f\x7f",
	"c1":          "\u009b31mred",
	"separator":   "a\u2028b",
	"private use": "\ue000\U000e0041",
	"long":        strings.Repeat("long", 250),
}

// TestNastyNames: whatever the names of agents, clients, tools, sessions and
// folders are, a person reads one line for each, without control characters for the
// terminal.
func TestNastyNames(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs a process for each of many names")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	p := d.asks(t, project)
	manage := d.dialAdmin(t)
	choices, records := 0, 0
	for what, name := range nasty {
		folder := project
		if what != "long" {
			folder = filepath.Join(project, strings.ReplaceAll(name, "/", "_"))
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		err := p.Call(t.Context(), native.MethodSession, map[string]any{
			"sessionId": name, "cwd": folder, "mode": name,
			"agent": map[string]string{"name": name, "version": name}, "client": map[string]string{"name": name, "version": name},
		}, nil)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for _, tool := range []map[string]string{{"name": name}, {"name": name, "server": name}, {"name": "get_issue", "server": "github"}} {
			var got struct {
				Decisions []*decisions.Decision `json:"decisions"`
			}
			call := map[string]any{
				"callId": name, "tool": tool, "title": name, "kind": name, "input": map[string]string{"command": "mytool " + name, name: name},
			}
			if tool["server"] == "github" { // a call that nothing is wrong with
				call = map[string]any{"callId": name, "tool": tool, "input": map[string]string{}}
			}
			err = p.Call(t.Context(), native.MethodDecide, map[string]any{"sessionId": name, "calls": []any{call}}, &got)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			records++
			q := got.Decisions[0]
			if q.Verdict == decisions.Allow {
				t.Errorf("%s: allowed: %+v", what, q)
			}
			if tool["server"] == "github" && len(q.Widths) == 0 {
				t.Errorf("%s: no widths: %+v", what, q)
			}
			if len(q.Widths) > 0 {
				p.choose(q, map[string]any{"width": q.Widths[0].ID, "scope": "session"}, "")
				choices++
			}
		}
	}
	if choices < len(nasty) {
		t.Errorf("only %d choices", choices)
	}
	var ids []string
	for _, c := range choicesOf(t, manage) {
		ids = append(ids, c.ID)
	}
	clean := func(lines int, args ...string) {
		t.Helper()
		out := d.permd(t, args...)
		for n, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
			for _, c := range line {
				if c != ' ' && !unicode.IsPrint(c) {
					t.Errorf("permd %v: line %d holds %U: %q", args[:2], n+1, c, line)
					break
				}
			}
			if len(line) > 2000 {
				t.Errorf("permd %v: line %d has %d bytes", args[:2], n+1, len(line))
			}
		}
		if have := strings.Count(out, "\n"); lines > 0 && have != lines {
			t.Errorf("permd %v: %d lines, want %d:\n%s", args[:2], have, lines, out)
		}
	}
	clean(len(ids), "remember", "list")
	clean(0, append([]string{"remember", "show"}, ids...)...)
	clean(0, "remember", "export")
	clean(records, "log", "list", "--limit", "1000")
	for _, rec := range d.records(t) {
		clean(0, "log", "show", rec.Decision.ID)
	}
	clean(0, "status", "--root", "")
	clean(0, append([]string{"remember", "forget"}, ids...)...)
}

// TestLongNames: names of 10,000 characters are refused, and nothing of their
// messages is stored.
func TestLongNames(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	p := d.asks(t, project)
	long := strings.Repeat("x", 10_000)
	for _, member := range []string{"sessionId", "parent", "mode", "agent", "client", "cwd"} {
		params := map[string]any{"sessionId": "other", "cwd": project}
		switch params[member] = long; member {
		case "agent", "client":
			params[member] = map[string]string{"name": long}
		case "cwd":
			params[member] = "/" + long
		}
		if err := p.Call(t.Context(), native.MethodSession, params, nil); err == nil {
			t.Errorf("%s: taken", member)
		}
		line := decideLine(probe)
		if got := d.wire(t).ask(t, strings.Replace(line, `"s1"`, `"other"`, 1)); got.Verdict != "" {
			t.Errorf("%s: the session is there: %+v", member, got)
		}
	}
	if st := d.status(t); st.Sessions != 1 {
		t.Errorf("%d sessions", st.Sessions)
	}
	for member, value := range map[string]any{"tool": map[string]string{"name": long}, "callId": long} {
		call := map[string]any{"callId": "1", "tool": map[string]string{"name": "Bash"}, "input": map[string]string{"command": probe}}
		call[member] = value
		if err := p.Call(t.Context(), native.MethodDecide, map[string]any{"sessionId": "s", "calls": []any{call}}, nil); err == nil {
			t.Errorf("%s: decided", member)
		}
	}
	if recs := d.records(t); len(recs) != 0 {
		t.Errorf("in the journal: %+v", recs)
	}
	for _, args := range [][]string{
		{"remember", "add", "run", "go " + long, "--dir", project}, {"remember", "show", long}, {"remember", "forget", "\x1b[2J\u202e"},
		{"remember", "add", "run", "go vet", "--scope", "\u202e" + long}, {"remember", "list", "--kind", "\x1b[2J"},
	} {
		out, err := d.command(args...).CombinedOutput()
		if err == nil || len(out) > 12_000 || strings.ContainsFunc(strings.TrimSuffix(string(out), "\n"), func(c rune) bool { return c != '\n' && !unicode.IsPrint(c) }) {
			t.Errorf("permd %.40v: %v, %d bytes: %.300q", args, err, len(out), out)
		}
	}
}

// TestHome: a home that does not exist or belongs to another user is an error with
// a hint, and nothing is made in it.
func TestHome(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs a process for each of many homes")
	}
	t.Parallel()
	d := newTestDaemon(t)
	missing, file := filepath.Join(d.home, "missing"), filepath.Join(d.home, "file")
	writeFile(t, file, "")
	homes := map[string]string{missing: "does not exist", file: "is not a folder"}
	if os.Geteuid() == 0 {
		foreign := filepath.Join(d.home, "foreign")
		if err := os.Mkdir(foreign, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(foreign, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		homes[foreign] = "belongs to uid 12345"
	} else {
		homes["/"] = "belongs to uid 0"
	}
	for home, says := range homes {
		for _, args := range [][]string{{"serve"}, {"init"}} {
			cmd := d.command(args...)
			cmd.Env = append(cmd.Env, "HOME="+home)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != cli.ExitError || !strings.Contains(string(out), says) || !strings.Contains(string(out), "permd: hint: ") {
				t.Errorf("HOME=%s permd %v: %v, want %q and a hint\n%s", home, args, err, says, out)
			}
		}
		for _, args := range [][]string{{"status"}, {"remember", "list"}, {"reload"}, {"log", "list"}} {
			cmd := d.command(args...)
			cmd.Env = append(cmd.Env, "HOME="+home)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.HasPrefix(string(out), "permd: error: ") || args[0] != "log" && cmd.ProcessState.ExitCode() != cli.ExitUnreachable {
				t.Errorf("HOME=%s permd %v: %v\n%s", home, args, err, out)
			}
		}
		if home == missing {
			if _, err := os.Lstat(home); err == nil {
				t.Errorf("the home %s was made", home)
			}
		} else if entries, err := os.ReadDir(home); err == nil && home != "/" && len(entries) > 0 {
			t.Errorf("in %s there is %v", home, entries)
		}
	}
	// The folders that XDG names need no home.
	cmd := d.command("init")
	cmd.Env = append(cmd.Env, "HOME="+missing)
	for _, name := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		cmd.Env = append(cmd.Env, fmt.Sprintf("XDG_%s_HOME=%s", name, filepath.Join(d.home, strings.ToLower(name))))
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("with folders elsewhere: %v\n%s", err, out)
	}
}

// TestNamesNoLineSays: a choice about a tool whose names have characters with a
// meaning in lines is not exported as a line, which would match other tools.
func TestNamesNoLineSays(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs a process for each of many names")
	}
	t.Parallel()
	d := startDaemon(t)
	p := d.asks(t, d.project(t, nil))
	for _, tool := range []map[string]string{
		{"server": "github", "name": "get_issue"},
		{"server": "git*", "name": "get_issue"}, {"server": "github", "name": "get_*"},
		{"server": "a:b", "name": "c"}, {"name": "github:get_issue"},
	} {
		var got struct {
			Decisions []*decisions.Decision `json:"decisions"`
		}
		err := p.Call(t.Context(), native.MethodDecide, map[string]any{
			"sessionId": "s", "calls": []any{map[string]any{"callId": "1", "tool": tool, "input": map[string]string{}}},
		}, &got)
		if err != nil || len(got.Decisions[0].Widths) == 0 {
			t.Fatalf("%v: %v, %+v", tool, err, got.Decisions)
		}
		q := got.Decisions[0]
		p.choose(q, map[string]any{"width": q.Widths[len(q.Widths)-1].ID}, "")
	}
	out := d.permd(t, "remember", "export")
	if strings.Count(out, "    - ") != 1 || !strings.Contains(out, "'github:get_issue'") || !strings.Contains(out, "Left out: all or a part of 4 choices") {
		t.Errorf("exported:\n%s", out)
	}
}
