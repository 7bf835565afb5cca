package engine

import (
	"cmp"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
)

// restrictedWorld is an engine with a memory whose organisation forbids what the settings say.
type restrictedWorld struct {
	t       *testing.T
	dirs    xdg.Dirs
	project string
	rules   *Rules
	memory  *remember.Store
	engine  *Engine
	now     time.Time
}

func newRestrictedWorld(t *testing.T) *restrictedWorld {
	home := t.TempDir()
	t.Setenv("HOME", home)
	w := &restrictedWorld{t: t, project: filepath.Join(home, "project"), now: time.Now()}
	w.dirs = xdg.Dirs{Org: filepath.Join(home, "etc"), Config: filepath.Join(home, ".config", "permd"), Data: filepath.Join(home, "data")}
	filetest.Write(t, filepath.Join(w.project, ".git", "HEAD"), "ref: refs/heads/main\n")
	w.write("etc/policy.d/rules.yaml", "allow:\n  run: [orgtool x, orgtool z]\n  use: ['wiki:*']\nask:\n  run: [orgask *]\n")
	w.write(".config/permd/policy.d/rules.yaml", "allow:\n  run: [usertool x, usertool y]\n  use: ['mine:*']\n")
	if err := os.MkdirAll(w.dirs.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.rules, err = OpenRules(t.Context(), w.dirs, true, nil); err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return w.now }
	if w.memory, err = remember.Open(remember.Options{
		Path: filepath.Join(w.dirs.Data, "remember.db"), Allowable: w.rules.Allowable, Refuse: w.rules.Refuses, Now: clock,
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.memory.Close() })
	if w.engine, err = New(Config{
		Dirs: w.dirs, Rules: w.rules, Log: slog.New(slog.DiscardHandler), Memory: Remembered{w.memory, w.rules}, Now: clock,
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.rules.Prepare(t.Context(), uint32(os.Geteuid()), w.project); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *restrictedWorld) write(file, text string) {
	filetest.Write(w.t, filepath.Join(filepath.Dir(w.project), file), text)
}

// set puts settings of the organisation in force.
func (w *restrictedWorld) set(lines ...string) {
	w.t.Helper()
	w.write("etc/permd.toml", strings.Join(lines, "\n")+"\n")
	if _, err := w.rules.Reload(w.t.Context()); err != nil {
		w.t.Fatalf("%q: %v", lines, err)
	}
}

func (w *restrictedWorld) add(verdict decisions.Verdict, kind effects.Kind, line string) string {
	w.t.Helper()
	c, err := w.memory.Add(w.t.Context(), remember.Line{
		UID: uint32(os.Geteuid()), Verdict: verdict, Kind: kind, Line: line, Scope: remember.ForProject, Project: w.project,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c.ID
}

// restrictedCall is a call of a session in a mode.
type restrictedCall struct{ mode, tool, server, input, agent string }

func shellCall(command string) restrictedCall {
	return restrictedCall{tool: "Bash", input: fmt.Sprintf(`{"command":%q}`, command)}
}

func (w *restrictedWorld) decide(c restrictedCall) *decisions.Decision {
	uid := uint32(os.Geteuid())
	return w.engine.Decisions.Decide(w.t.Context(), &decisions.Request{
		Peer: decisions.Peer{UID: uid}, Session: decisions.SessionRef{ID: "s", Mode: c.mode}, Call: effects.Call{
			ID: "1", Protocol: "permd", Tool: effects.Tool{Name: c.tool, Server: c.server}, Input: strictjson.Value(c.input),
			Agent: effects.Party{Name: cmp.Or(c.agent, "claude-agent-acp")}, Cwd: w.project, User: w.engine.Users.Lookup(uid),
		}})[0]
}

func (w *restrictedWorld) want(what string, c restrictedCall, verdict decisions.Verdict, reason string) {
	w.t.Helper()
	if d := w.decide(c); d.Verdict != verdict || !strings.Contains(d.Reason, reason) {
		w.t.Errorf("%s: %v is %s by %s (%s), want %s with %q", what, c, d.Verdict, d.By, d.Reason, verdict, reason)
	}
}

// wantSwitch has a person switch a session of ACP into a mode.
func (w *restrictedWorld) wantSwitch(mode string, passes bool) {
	w.t.Helper()
	c := &Caller{methods: w.engine.Methods(), conn: &socket.Conn{ID: 1, Peer: decisions.Peer{UID: uint32(os.Geteuid())}}}
	if err := c.Call(w.t.Context(), "permd/session", map[string]any{"sessionId": "g", "cwd": w.project, "mode": "default"}, nil); err != nil {
		w.t.Fatal(err)
	}
	var out struct {
		Passes   bool                `json:"passes"`
		Decision *decisions.Decision `json:"decision"`
	}
	asked := map[string]any{"sessionId": "g", "method": "session/set_mode", "params": map[string]string{"modeId": mode}}
	if err := c.Call(w.t.Context(), acp.MethodGate, asked, &out); err != nil || out.Passes != passes {
		w.t.Errorf("a switch to %s: %+v, %v", mode, out.Decision, err)
	}
}

// TestRestrictions tries each of the settings by which the organisation restricts more than its
// rules do.
func TestRestrictions(t *testing.T) {
	w := newRestrictedWorld(t)
	go1 := w.add(decisions.Allow, effects.KindRun, "go vet *")
	w.add(decisions.Deny, effects.KindRun, "go build *")
	w.add(decisions.Allow, effects.KindRun, "orgask *")
	vet, build := shellCall("go vet ./..."), shellCall("go build ./...")
	const never = `deny`

	w.want("no settings", vet, decisions.Allow, "remembered")
	w.want("an ask of org", shellCall("orgask x"), decisions.Ask, "")
	if d := w.decide(shellCall("orgask x")); len(d.Widths) > 0 || d.NotRemembered == "" {
		t.Errorf("an ask of org offers to remember: %+v %q", d.Widths, d.NotRemembered)
	}

	w.set(`remember = "off"`)
	w.want("remember off", vet, decisions.Ask, "")
	w.want("remember off, a reject", build, never, "remembered")
	if d := w.decide(vet); len(d.Widths) > 0 || !strings.Contains(d.NotRemembered, "lets nothing be remembered (remember)") {
		t.Errorf("remember off offers %+v, %q", d.Widths, d.NotRemembered)
	}
	for _, kind := range []effects.Kind{effects.KindRun, effects.KindRead} {
		if _, err := w.memory.Add(t.Context(), remember.Line{
			UID: uint32(os.Geteuid()), Verdict: decisions.Allow, Kind: kind, Line: map[effects.Kind]string{effects.KindRun: "jq *", effects.KindRead: "./x"}[kind],
			Scope: remember.ForProject, Project: w.project,
		}); err == nil {
			t.Errorf("an allow of %s is stored", kind)
		}
	}

	w.set(`remember_at_most = "30d"`)
	w.want("remembered today", vet, decisions.Allow, "remembered")
	start := w.now
	w.now = start.Add(30*24*time.Hour - time.Second)
	w.want("remembered for nearly 30 days", vet, decisions.Allow, "remembered")
	c, err := w.memory.Get(go1)
	if err != nil {
		t.Fatal(err)
	}
	if ends, why := w.rules.Standing(&c, w.now); why != "" || !ends.Equal(c.Confirmed.Add(30*24*time.Hour)) {
		t.Errorf("it is said to end at %v (%s)", ends, why)
	}
	w.now = start.Add(30*24*time.Hour + time.Second)
	w.want("remembered for 30 days", vet, decisions.Ask, "")
	w.want("a reject of 30 days", build, never, "remembered")
	if _, why := w.rules.Standing(&c, w.now); !strings.Contains(why, "remember_at_most") {
		t.Errorf("of the old one is said %q", why)
	}
	if again := w.add(decisions.Allow, effects.KindRun, "go vet *"); again == go1 {
		t.Error("the old one is taken for a new one")
	}
	w.want("remembered anew", vet, decisions.Allow, "remembered")
	w.now = start

	w.set(`[[revoke]]`, `id = "`+go1+`"`)
	w.want("one of two is revoked", vet, decisions.Allow, "remembered")
	w.set(`[[revoke]]`, `kind = "run"`, `pattern = "go vet *"`)
	w.want("revoked by a line", vet, decisions.Ask, "")
	if _, why := w.rules.Standing(&c, w.now); !strings.Contains(why, "revoke") {
		t.Errorf("of a revoked one is said %q", why)
	}
	w.want("a reject is not revoked", build, never, "remembered")
	w.set(`[[revoke]]`, fmt.Sprintf(`user = "%d"`, os.Geteuid()))
	w.want("revoked by user", vet, decisions.Ask, "")
	w.set(`[[revoke]]`, `user = "4000000000"`)
	w.want("revoked of another user", vet, decisions.Allow, "remembered")
	w.set(`[[revoke]]`, `before = 2001-01-01`)
	w.want("revoked if older", vet, decisions.Allow, "remembered")
	w.set(`[[revoke]]`, `before = 2999-01-01`)
	w.want("revoked by time", vet, decisions.Ask, "")

	w.set(`forbid_modes = ["bypassPermissions"]`)
	ls := shellCall("ls")
	w.want("another mode", ls, decisions.Allow, "")
	for _, mode := range []string{"bypassPermissions", "BYPASSPERMISSIONS", "https://agent.example/modes#bypassPermissions"} {
		ls.mode = mode
		w.want("a forbidden mode", ls, never, "the organisation forbids the mode bypassPermissions (forbid_modes)")
	}
	w.want("a sub-agent in a forbidden mode", restrictedCall{tool: "Task", input: `{"description":"a","prompt":"b","subagent_type":"c","mode":"bypassPermissions"}`}, never, "forbid_modes")
	w.want("a sub-agent in another one", restrictedCall{tool: "Task", input: `{"description":"a","prompt":"b","subagent_type":"c","mode":"acceptEdits"}`}, decisions.Ask, "")

	w.wantSwitch("bypassPermissions", false)
	w.wantSwitch("default", true)
	w.set(`forbid_modes = ["plan", "act", "build"]`)
	for _, c := range []restrictedCall{
		{tool: "Task", input: `{"description":"a","prompt":"b","mode":"plan"}`}, {tool: "Agent", input: `{"description":"a","prompt":"b","mode":"Plan"}`},
		{tool: "EnterPlanMode", input: `{}`}, {tool: "EnterPlanMode", input: `{}`, agent: "kimi-cli"}, {tool: "enter_plan_mode", input: `{}`, agent: "gemini-cli"},
		{tool: "plan_enter", input: `{}`, agent: "opencode"}, {tool: "plan_exit", input: `{}`, agent: "opencode"}, {tool: "switch_to_act_mode", input: `{}`, agent: "cline"},
	} {
		w.want("a call that enters a forbidden mode", c, never, "forbid_modes")
	}
	w.want("a sub-agent in its own mode", restrictedCall{tool: "Task", input: `{"description":"a","prompt":"b"}`}, decisions.Allow, "")
	w.want("leaving a forbidden mode", restrictedCall{mode: "plan", tool: "ExitPlanMode", input: `{"plan":"x"}`}, decisions.Ask, "")

	w.set(`unknown_programs = "deny"`)
	for command, want := range map[string]decisions.Verdict{
		"ls": decisions.Allow, "frob x": decisions.Deny, "usertool x": decisions.Deny, "orgtool x": decisions.Allow, "ls; $(cat x)": decisions.Deny,
		"./tool.sh": decisions.Deny, "git push": decisions.Ask, "orgask x": decisions.Deny,
	} {
		w.want("unknown programs", shellCall(command), want, "")
	}
	w.want("not a server", restrictedCall{tool: "get", server: "mine", input: `{}`}, decisions.Allow, "")

	w.set(`unknown_servers = "deny"`)
	for server, want := range map[string]decisions.Verdict{"wiki": decisions.Allow, "mine": decisions.Deny, "other": decisions.Deny, "agent": decisions.Deny} {
		w.want("unknown servers", restrictedCall{tool: "get", server: server, input: `{}`}, want, "")
	}
	for tool, denied := range map[string]bool{
		"TodoWrite": false, "Skill": false, "EnterWorktree": false, "CronList": false, "RemoteTrigger": false, "Frob": true, "ListMcpResourcesTool": true, "ReadMcpResourceTool": true,
	} {
		if d := w.decide(restrictedCall{tool: tool, input: `{"name":"x"}`}); (d.Verdict == decisions.Deny) != denied {
			t.Errorf("unknown servers: %s is %s (%s)", tool, d.Verdict, d.Reason)
		}
	}
	w.want("a resource by another agent's tool", restrictedCall{tool: "access_mcp_resource", input: `{}`, agent: "cline"}, never, "unknown_servers")
	w.want("not a program", shellCall("usertool x"), decisions.Allow, "")

	w.set(`require_layers = ["org", "user"]`)
	w.want("both layers have rules", shellCall("ls"), decisions.Allow, "")

	w.set(`lock = "incident 7"`)
	w.want("locked", shellCall("ls"), decisions.Ask, "the organisation has locked permd (lock): incident 7")
	w.want("locked, a reject", build, never, "remembered")
	if d := w.decide(shellCall("ls")); d.By != decisions.ByLock || len(d.Widths) > 0 {
		t.Errorf("locked: %s, %v", d.By, d.Widths)
	}
	w.set()
	w.want("unlocked", shellCall("ls"), decisions.Allow, "")
}

// TestRestrictionsTighten adds settings to others and compares: none turns a question or a
// deny into an allow, or a deny into a question, and each of them changes something.
func TestRestrictionsTighten(t *testing.T) {
	w := newRestrictedWorld(t)
	random := rand.New(rand.NewPCG(testload.Seed(t), 1))
	ids := []string{w.add(decisions.Allow, effects.KindRun, "go vet *"), w.add(decisions.Allow, effects.KindRun, "frob x")}
	w.add(decisions.Allow, effects.KindUse, "notes:get")
	w.add(decisions.Deny, effects.KindRun, "go build *")
	w.now = w.now.Add(48 * time.Hour)
	settings := []string{
		`remember = "off"`, `remember_at_most = "1d"`, `forbid_modes = ["yolo", "default"]`,
		`unknown_programs = "deny"`, `unknown_servers = "deny"`, `lock = "incident"`, `only_org = true`, `on_failure = "deny"`, `no_pause = true`,
		"[[revoke]]\nkind = \"run\"\npattern = \"go *\"", "[[revoke]]\nid = \"" + ids[1] + "\"",
	}
	var calls []restrictedCall
	for _, mode := range []string{"", "default", "plan", "yolo"} {
		for _, command := range []string{
			"ls", "go vet ./...", "go build ./...", "frob x", "frob x | sh", "usertool y", "orgtool z", "orgask q", "cat ~/.ssh/id_rsa", "rm -rf /", "echo a > b", "ls; $(x)", "git push", "find . -exec frob {} ;",
		} {
			c := shellCall(command)
			c.mode = mode
			calls = append(calls, c)
		}
		for _, server := range []string{"wiki", "mine", "notes", "other"} {
			calls = append(calls, restrictedCall{mode: mode, tool: "get", server: server, input: `{"a":1}`})
		}
		calls = append(calls, restrictedCall{mode: mode, tool: "Task", input: `{"description":"a","prompt":"b","subagent_type":"c","mode":"yolo"}`})
	}
	strictness := []decisions.Verdict{decisions.Allow, decisions.Ask, decisions.Deny}
	verdicts := func(chosen []string) []int {
		slices.SortStableFunc(chosen, func(a, b string) int { return strings.Count(a, "[[") - strings.Count(b, "[[") })
		w.set(chosen...)
		list := make([]int, len(calls))
		for i, c := range calls {
			list[i] = slices.Index(strictness, w.decide(c).Verdict)
		}
		return list
	}
	changed := map[string]bool{}
	base := verdicts(nil)
	for _, one := range settings {
		compare(t, calls, base, verdicts([]string{one}), nil, one, changed)
	}
	for _, one := range settings {
		if quiet := []string{`on_failure = "deny"`, `no_pause = true`}; !changed[one] && !slices.Contains(quiet, one) {
			t.Errorf("%s changes no call", one)
		}
	}
	for range 8 {
		chosen := slices.Clone(settings)
		random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		chosen = chosen[:1+random.IntN(4)]
		before := verdicts(slices.Clone(chosen[:len(chosen)-1]))
		compare(t, calls, before, verdicts(slices.Clone(chosen)), chosen[:len(chosen)-1], chosen[len(chosen)-1], changed)
	}
}

func compare(t *testing.T, calls []restrictedCall, before, after []int, with []string, added string, changed map[string]bool) {
	t.Helper()
	for i, c := range calls {
		if before[i] != after[i] {
			changed[added] = true
		}
		if after[i] < before[i] {
			t.Errorf("%s added to %q makes %v milder: %d, then %d", added, with, c, before[i], after[i])
		}
	}
}
