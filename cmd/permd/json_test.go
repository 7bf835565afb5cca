package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/strictjson"
)

// TestJSON: what commands print with --json is strict JSON with the members
// that scripts rely on. Members may be added; none is renamed or left out.
func TestJSON(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs all commands that print JSON")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, nil)
	writeFile(t, filepath.Join(d.home, "rules", "a.rego"), "package permd.user\nimport rego.v2\n# METADATA\n# title: No rm\n# custom: {id: no-rm}\ndeny contains \"no rm\" if input.effect.program == \"rm\"\n")
	writeFile(t, filepath.Join(d.home, "rules", "a_test.rego"), "package permd.user\nimport rego.v2\ntest_denies if deny[\"no rm\"] with input.effect.program as \"rm\"\n")
	writeFile(t, filepath.Join(d.home, "wrong", "a.rego"), "package permd.user\nimport rego.v2\ndeny contains \"x\" if input.effect.nonsense\n")
	d.start(t)

	decision := []string{
		"decisionId", "callId", "verdict", "needed", "reason", "decidedBy", "policy.digest",
		"effects[].kind", "effects[].text", "effects[].from", "effects[].verdict", "effects[].reason",
		"effects[].rules[].id", "effects[].rules[].title", "effects[].rules[].at", "effects[].rules[].layer",
	}
	record := []string{
		"seq", "time", "peer.uid", "peer.gid", "peer.pid", "agent.name", "client.name", "session.id",
		"protocol", "tool", "cwd", "project", "latencyNs",
	}
	for _, m := range decision {
		record = append(record, "decision."+m)
	}
	tests := []struct {
		name    string
		command []string
		stdin   string
		code    int
		members []string
	}{
		{
			name: "decide", command: []string{"decide", "--agent", "claude-agent-acp", "-"},
			stdin: `{"tool":{"name":"Bash"},"input":{"command":"git status"}}`, members: decision,
		},
		{name: "log list", command: []string{"log", "list"}, members: record},
		{name: "log stats", command: []string{"log", "stats"}, members: []string{
			"since", "decisions", "allow", "ask", "deny", "decidedBy.policy", "answered", "agents[].by", "agents[].name", "agents[].allow", "tools[].name", "days[].name",
		}},
		{name: "today", command: []string{"today"}, members: []string{"since", "until", "decisions", "agents[].name", "projects[].name", "programs[].name"}},
		{name: "log list by", command: []string{"log", "list", "--by", "program"}, members: []string{"by", "name", "allow", "ask", "deny"}},
		{name: "log export for OPA", command: []string{"log", "export", "--format", "opa"}, members: []string{
			"labels.app", "labels.version", "decision_id", "bundles.permd.revision", "path", "input.agent.name", "input.tool", "result.verdict", "requested_by", "timestamp", "metrics.timer_server_handler_ns",
		}},
		{name: "log show", command: []string{"log", "show", "ID"}, members: record},
		{name: "status", command: []string{"status"}, members: []string{
			"pid", "version", "started", "degraded", "digest", "socket", "adminSocket", "sessions",
			"policy.layers[].layer", "policy.layers[].state", "policy.layers[].allow", "policy.layers[].ask",
			"policy.layers[].deny", "policy.layers[].digest", "policy.layers[].paths[]",
			"journal.last", "journal.records", "journal.failed", "memory.allows", "memory.rejects",
		}},
		{name: "reload", command: []string{"reload"}, members: []string{"changed", "digest"}},
		{name: "policy check", command: []string{"policy", "check", "../rules"}, members: []string{"layer", "files", "rules", "problems"}},
		{
			name: "policy check of what is wrong", command: []string{"policy", "check", "../wrong"}, code: cli.ExitCompile,
			members: []string{"layer", "files", "rules", "problems[].severity", "problems[].text", "problems[].file", "problems[].line"},
		},
		{name: "policy test", command: []string{"policy", "test", "../rules"}, members: []string{
			"results[].file", "results[].line", "results[].package", "results[].name", "results[].outcome", "results[].durationNs", "coverage",
		}},
		{name: "policy list", command: []string{"policy", "list", "../rules"}, members: []string{
			"id", "title", "layer", "set", "at", "reason",
		}},
		{name: "policy list of all", command: []string{"policy", "list"}, members: []string{"id", "layer", "set", "at"}},
	}
	id := ""
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := tt.command
			if args[len(args)-1] == "ID" {
				args = append(args[:len(args)-1:len(args)-1], id)
			}
			cmd := d.command(append([]string{"--json"}, args...)...)
			cmd.Dir, cmd.Stdin = project, strings.NewReader(tt.stdin)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			_ = cmd.Run() // how it ended is its exit code
			if code := cmd.ProcessState.ExitCode(); code != tt.code || errs.Len() > 0 {
				t.Fatalf("exit code %d, want %d; it said %s", code, tt.code, &errs)
			}
			values, err := strictjson.Values(out.Bytes())
			lines := strings.Count(out.String(), "\n")
			if err != nil || len(values) != 1 && (!strings.HasPrefix(tt.name, "policy list") || len(values) != lines) {
				t.Fatalf("%d values, %v: %s", len(values), err, &out)
			}
			value := values[0]
			have := map[string]bool{}
			membersOf(t, "", value, have)
			var missing []string
			for _, m := range tt.members {
				if !have[m] {
					missing = append(missing, m)
				}
			}
			if diff := cmp.Diff([]string(nil), missing); diff != "" {
				t.Errorf("members that are missing: %s\n%s", diff, &out)
			}
			if tt.name == "decide" {
				id = stringAt(t, value, "decisionId")
			}
		})
	}
}

// membersOf collects the paths of all members of a value.
func membersOf(t *testing.T, path string, v strictjson.Value, into map[string]bool) {
	t.Helper()
	into[path] = true
	switch strictjson.Kind(v) {
	case '{':
		o, err := strictjson.ParseObject(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range o {
			membersOf(t, strings.TrimPrefix(path+"."+m.Name, "."), m.Value, into)
		}
	case '[':
		a, err := strictjson.ParseArray(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range a {
			membersOf(t, path+"[]", e, into)
		}
	}
}

func stringAt(t *testing.T, v strictjson.Value, name string) string {
	t.Helper()
	o, err := strictjson.ParseObject(v)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := o.Get(name)
	s, ok := strictjson.ParseString(raw)
	if !ok {
		t.Fatalf("%s is %s", name, raw)
	}
	return s
}

// TestJSONErrors: with --json, errors are objects on standard error, and there is nothing
// on standard output.
func TestJSONErrors(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	for command, want := range map[string]string{
		"status --json":                  `"exitCode":7}}`,
		"--json nonsense":                `"message":"unknown command \"nonsense\" for \"permd\"","hint":"see permd --help","exitCode":2}}`,
		"log list --wrong --json":        `"exitCode":2}}`,
		"decide --local --json nowhere":  `"exitCode":1}}`,
		"policy check --json nowhere":    `"exitCode":1}}`,
		"remember forget --json":         `"exitCode":2}}`,
		"log list --json --since yester": `write a duration such as 30m, 8h, 7d or 2w, or a time such as 2026-11-28, \"2026-11-28 14:00\" or today","hint":"see permd log list --help","exitCode":2}}`,
	} {
		cmd := d.command(strings.Fields(command)...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // how it ended is its exit code
		values, err := strictjson.Values(errs.Bytes())
		if err != nil || len(values) != 1 || out.Len() > 0 || !strings.HasPrefix(errs.String(), `{"error":{"message":"`) || !strings.Contains(errs.String(), want) {
			t.Errorf("permd %s: it printed %q and said %s", command, &out, &errs)
		}
	}
}
