package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/hook"
	"github.com/permd/permd/socket/hook/hooktest"
)

// waitingHook is a hook process that waits for a person.
type waitingHook struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	begun          time.Time
}

// installsWaits writes the settings of all harnesses with a hook that waits.
func (d *testDaemon) installsWaits(t *testing.T, wait string) {
	t.Helper()
	program := filepath.Join(d.home, "permd") // the path alone counts
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, harness := range hook.Names() {
		of := wait
		if harness == "cline" {
			of = "20s" // it has a limit of its own
		}
		d.permd(t, "hook", "install", harness, "--wait", of, "--exec", program, "--yes", "--no-service")
	}
}

// startHook starts a hook in the environment of an unattended harness.
func (d *testDaemon) startHook(t *testing.T, harness, in, wait string) *waitingHook {
	t.Helper()
	h := &waitingHook{cmd: d.command("hook", harness, "--wait", wait), begun: time.Now()}
	h.cmd.Env = append(slices.Clone(d.env), "PERMD_UNATTENDED=1")
	h.cmd.Stdin, h.cmd.Stdout, h.cmd.Stderr = strings.NewReader(in), &h.stdout, &h.stderr
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.cmd.Process.Kill() })
	return h
}

// ends waits for the hook's answer.
func (h *waitingHook) ends() hook.Output {
	_ = h.cmd.Wait()
	return hook.Output{Stdout: h.stdout.Bytes(), Stderr: h.stderr.String(), Code: h.cmd.ProcessState.ExitCode()}
}

// questions returns the open questions.
func (d *testDaemon) questions(t *testing.T) []admin.Question {
	t.Helper()
	var list admin.Questions
	if err := d.manage(t, admin.MethodQuestionsList, struct{}{}, &list); err != nil {
		t.Fatal(err)
	}
	return list.Questions
}

// hooksWait returns the ids of the questions about a command, when as many hooks wait for one.
func (d *testDaemon) hooksWait(t *testing.T, command string, n int) (ids []string) {
	t.Helper()
	eventually.Holds(t, fmt.Sprintf("%d hooks wait for an answer about %s", n, command), func() bool {
		ids = nil
		for _, q := range d.questions(t) {
			if !q.Until.IsZero() && slices.Contains(q.Effects, "run "+command) {
				ids = append(ids, q.DecisionID)
			}
		}
		return len(ids) == n
	})
	return ids
}

// unattended is what a harness does after an answer of a person, and after none: by rules, and by
// the default.
var unattended = map[string]struct{ yes, none, byDefault string }{
	"claude":                    {hooktest.Runs, hooktest.Asks, hooktest.Leaves},
	"claude, bypassPermissions": {hooktest.Runs, hooktest.Stops, hooktest.Stops},
	"claude, plan":              {hooktest.Leaves, hooktest.Asks, hooktest.Leaves},
	"claude, sub-agent":         {hooktest.Runs, hooktest.Asks, hooktest.Leaves},
	"claude, asked":             {hooktest.Runs, hooktest.Leaves, hooktest.Leaves},
	"codex":                     {hooktest.Leaves, hooktest.Stops, hooktest.Leaves},
	"codex, asked":              {hooktest.Runs, hooktest.Leaves, hooktest.Leaves},
	"gemini":                    {hooktest.Runs, hooktest.Asks, hooktest.Asks},
	"cursor":                    {hooktest.Runs, hooktest.Stops, hooktest.Stops},
	"copilot":                   {hooktest.Runs, hooktest.Stops, hooktest.Stops},
	"copilot, text":             {hooktest.Runs, hooktest.Stops, hooktest.Stops},
	"copilot, asked":            {hooktest.Runs, hooktest.Stops, hooktest.Stops},
	"cline":                     {hooktest.Runs, hooktest.Stops, hooktest.Stops},
}

// unattendedShell are the requests whose hooks wait at one time, with a session for each.
func unattendedShell(t *testing.T) (list []struct{ name, harness, event, in string }) {
	t.Helper()
	for i, s := range hookShell {
		if testing.Short() && strings.Contains(s.name, ",") {
			continue // long: the further modes and events of a harness
		}
		s.in = strings.Replace(s.in, `"s"`, fmt.Sprintf(`"s%d"`, i), 1)
		list = append(list, s)
	}
	return list
}

// TestHookWait: the hooks of an unattended agent wait, and a person answers in a terminal.
func TestHookWait(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "hook.rego", hookRules)
	d.start(t)
	d.installsWaits(t, "5m")
	project := d.project(t, nil)
	shell := unattendedShell(t)
	// all has every hook ask about a command, each of its session.
	all := func(command, wait string) (hooks []*waitingHook) {
		t.Helper()
		for _, s := range shell {
			hooks = append(hooks, d.startHook(t, s.harness, hookInput(s.in, project, command), wait))
		}
		return hooks
	}
	want := func(hooks []*waitingHook, command string, means func(name string) string) {
		t.Helper()
		for i, s := range shell {
			wantHook(t, command+": "+s.name, s.harness, s.event, hooks[i].ends(), means(s.name))
		}
	}

	hooks := all("questioned yes", "5m")
	ids := d.hooksWait(t, "questioned yes", len(shell))
	for i, id := range ids {
		if out := d.permd(t, "allow", id); i == 0 && !strings.Contains(out, "was handed to the client that waited") {
			t.Errorf("permd allow says %s", out)
		}
	}
	want(hooks, "allowed", func(name string) string { return unattended[name].yes })

	// The answer was for the calls that waited, and no other.
	hooks = all("questioned yes", "5m")
	ids = d.hooksWait(t, "questioned yes", len(shell))
	for _, id := range ids {
		d.permd(t, "deny", id)
	}
	want(hooks, "denied", func(string) string { return hooktest.Stops })
	if open := d.questions(t); len(open) != 0 {
		t.Errorf("%d questions wait after their answers", len(open))
	}

	// Rules decide by now.
	hooks = all("later", "5m")
	d.hooksWait(t, "later", len(shell))
	d.policy(t, "hook.rego", hookRules+"\nallow contains \"later\" if input.effect.program == \"later\"\n")
	d.permd(t, "reload")
	want(hooks, "allowed by rules", func(name string) string { return unattended[name].yes })

	// Nobody answers. The question waits for the agent to try again.
	for command, means := range map[string]func(name string) string{
		"questioned no": func(name string) string { return unattended[name].none },
		"whatever":      func(name string) string { return unattended[name].byDefault },
	} {
		hooks = all(command, "2s")
		want(hooks, "nobody, "+command, means)
		for _, h := range hooks {
			if took := time.Since(h.begun); took > 30*time.Second {
				t.Errorf("the hook took %v", took)
			}
		}
	}
	if open := d.questions(t); len(open) != 2*len(shell) || !open[0].Until.IsZero() {
		t.Errorf("%d questions are open, of %d", len(open), 2*len(shell))
	}
	in := hookInput(shell[0].in, project, "questioned no")
	for _, q := range d.questions(t) {
		if q.Session == "s0" && slices.Contains(q.Effects, "run questioned no") {
			d.permd(t, "allow", q.DecisionID)
		}
	}
	for _, means := range []string{hooktest.Runs, hooktest.Asks} { // once
		wantHook(t, "tried again", shell[0].harness, shell[0].event, d.startHook(t, shell[0].harness, in, "1s").ends(), means)
	}
}

// TestHookWaitEnds: a question ends with its hook, and whatever ends the hook, or the daemon, no call
// runs.
func TestHookWaitEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a process for each harness and failure; TestHookWait is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "hook.rego", hookRules)
	d.start(t)
	d.installsWaits(t, "5m")
	project := d.project(t, nil)
	for _, s := range testload.Sample(t, 4, unattendedShell(t)) {
		want := undecidedHooks[s.name]
		if want == "" {
			want = hooktest.Stops
		}
		start := func() *waitingHook {
			t.Helper()
			h := d.startHook(t, s.harness, hookInput(s.in, project, "questioned"), "5m")
			d.hooksWait(t, "questioned", 1)
			return h
		}
		gone := func(how string) {
			t.Helper()
			eventually.Holds(t, "no question of a hook is left that "+how, func() bool { return len(d.questions(t)) == 0 })
		}
		// The harness kills it, as at the end of a turn, and waits for nothing.
		h := start()
		if err := h.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		h.ends()
		gone("was killed")
		// It is told to end, and says no.
		h = start()
		if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		wantHook(t, s.name+": told to end", s.harness, s.event, h.ends(), want)
		gone("was told to end")
		// The daemon crashes, or stops.
		h = start()
		d.kill()
		wantHook(t, s.name+": no daemon", s.harness, s.event, h.ends(), want)
		d.start(t)
		h = start()
		if err := d.stop(t); err != nil {
			t.Error(err)
		}
		got, err := hooktest.Interpret(s.harness, s.event, h.ends().Stdout, h.stderr.String(), h.cmd.ProcessState.ExitCode())
		if none := unattended[s.name].none; err != nil || got != none && got != want {
			t.Errorf("%s: the daemon stops, and it %s, %v", s.name, got, err)
		}
		d.start(t)
	}
}

// TestHookWaitsOnlyWithoutPerson: where the harness asks its person, no hook delays that, and a hook waits only
// for as long as the harness lets it.
func TestHookWaitsOnlyWithoutPerson(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a process for each harness; TestHookWait is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "hook.rego", hookRules)
	d.start(t)
	project := d.project(t, nil)
	claude := func(mode, command, env string) (hook.Output, time.Duration) {
		t.Helper()
		cmd := d.command("hook", "claude", "--wait", "2s")
		cmd.Env = append(slices.Clone(d.env), env)
		cmd.Stdin = strings.NewReader(strings.Replace(hookInput(hookShell[0].in, project, command), `"default"`, `"`+mode+`"`, 1))
		begun := time.Now()
		return runHook(t, cmd), time.Since(begun)
	}
	// Without settings it is not known how long the hook may run.
	out, _ := claude("bypassPermissions", "questioned a", "X=")
	wantHook(t, "no settings", "claude", "PreToolUse", out, hooktest.Stops)
	if !strings.Contains(string(out.Stdout), "nobody is waited for") {
		t.Errorf("it says %s", out.Stdout)
	}
	d.installsWaits(t, "5m")
	for _, tt := range []struct {
		mode, command, env string
		waits              bool
		means              string
	}{
		{"default", "questioned", "X=", false, hooktest.Asks},
		{"default", "whatever", "X=", false, hooktest.Leaves},
		{"default", "questioned", "PERMD_UNATTENDED=0", false, hooktest.Asks},
		{"default", "questioned", "CLAUDE_CODE_ENTRYPOINT=cli", false, hooktest.Asks},
		{"default", "questioned", "CLAUDE_CODE_ENTRYPOINT=sdk-cli", true, hooktest.Asks},
		{"default", "questioned", "PERMD_UNATTENDED=1", true, hooktest.Asks},
		{"bypassPermissions", "questioned", "X=", true, hooktest.Stops},
		{"default", "welcome", "PERMD_UNATTENDED=1", false, hooktest.Runs},
		{"default", "forbidden", "PERMD_UNATTENDED=1", false, hooktest.Stops},
	} {
		out, took := claude(tt.mode, tt.command, tt.env)
		wantHook(t, fmt.Sprint(tt), "claude", "PreToolUse", out, tt.means)
		if waited := took >= time.Second; tt.waits && !waited {
			t.Errorf("%v: it took %v", tt, took)
		}
		if !tt.waits && strings.Contains(string(out.Stdout), "nobody is waited for") {
			t.Errorf("%v: it says %s", tt, out.Stdout)
		}
	}
	// Somebody has made the limit shorter than the wait: the hook ends before that.
	file := filepath.Join(d.home, ".claude", "settings.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for limit, least := range map[string]time.Duration{"12": time.Second, "4": 0} {
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "310", limit)), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := d.command("hook", "claude", "--wait", "5m")
		cmd.Stdin = strings.NewReader(strings.Replace(hookInput(hookShell[0].in, project, "questioned b"), `"default"`, `"dontAsk"`, 1))
		begun := time.Now()
		wantHook(t, "a limit of "+limit, "claude", "PreToolUse", runHook(t, cmd), hooktest.Stops)
		if took := time.Since(begun); took < least || took > 11*time.Second {
			t.Errorf("with a limit of %s s it took %v", limit, took)
		}
	}
}

// TestHookWaitChanged: what a hook waits for is asked anew if the call would do something else by now, and a yes
// for what was shown before runs nothing.
func TestHookWaitChanged(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon of its own; TestHookWait is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.start(t)
	d.installsWaits(t, "5m")
	project := d.project(t, map[string]string{"run.sh": "echo 1\n"})
	h := d.startHook(t, "cursor", hookInput(hookShell[8].in, project, "sh run.sh"), "5m")
	id := d.hooksWait(t, "sh run.sh", 1)[0]
	if err := os.WriteFile(filepath.Join(project, "run.sh"), []byte("rm -rf data\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := d.command("allow", id).CombinedOutput(); err == nil {
		t.Fatalf("a yes for another script was taken: %s", out)
	}
	var next string
	eventually.Holds(t, "the hook asks again", func() bool {
		for _, q := range d.questions(t) {
			if !q.Until.IsZero() && q.DecisionID != id {
				next = q.DecisionID
			}
		}
		return next != ""
	})
	d.permd(t, "allow", next)
	wantHook(t, "asked again", "cursor", "beforeShellExecution", h.ends(), hooktest.Runs)
	if n := len(d.questions(t)); n != 0 {
		t.Errorf("%d questions are left", n)
	}
}

// TestHookWaitAskedOtherwise: a question whose reason changes while a hook waits is another one. The hook names it
// when nobody has answered, and a yes to it counts for the call that is tried again.
func TestHookWaitAskedOtherwise(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon of its own; TestHookWait is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "hook.rego", hookRules)
	d.start(t)
	d.installsWaits(t, "5m")
	in := hookInput(hookShell[8].in, d.project(t, nil), "questioned")
	h := d.startHook(t, "cursor", in, "6s")
	first := d.hooksWait(t, "questioned", 1)[0]
	d.policy(t, "hook.rego", strings.Replace(hookRules, `"reason": "questioned"`, `"reason": "why then"`, 1))
	d.permd(t, "reload")
	var second string
	eventually.Holds(t, "it is asked otherwise", func() bool {
		list := d.questions(t)
		if len(list) == 1 {
			second = list[0].DecisionID
		}
		return second != "" && second != first
	})
	out := h.ends()
	wantHook(t, "nobody", "cursor", "beforeShellExecution", out, hooktest.Stops)
	if said := string(out.Stdout); !strings.Contains(said, "why then") || !strings.Contains(said, "permd allow "+second) {
		t.Errorf("it says %s", said)
	}
	if _, err := d.command("allow", first).CombinedOutput(); err == nil {
		t.Error("what was asked before is allowed")
	}
	d.permd(t, "allow", second)
	for _, means := range []string{hooktest.Runs, hooktest.Stops} { // once
		wantHook(t, "tried again", "cursor", "beforeShellExecution", d.startHook(t, "cursor", in, "1s").ends(), means)
	}
}
