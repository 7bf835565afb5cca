package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// aiScene is a call by a model of the AI SDK, see testdata/node/policy_opa.mjs.
type aiScene struct {
	URL            string `json:"url"`
	Token          string `json:"token,omitzero"`
	Tool           string `json:"tool"`
	Args           any    `json:"args"`
	Path           string `json:"path,omitzero"`
	Prompt         string `json:"prompt,omitzero"`
	Input          any    `json:"input,omitzero"`
	RuntimeContext any    `json:"runtimeContext,omitzero"`
}

// aiOutcome is its result.
type aiOutcome struct {
	Type, Reason string
	Ran          int
	Asks         bool
	Error        string
}

// aiRunner runs scenes, in one process of node.
func aiRunner(t *testing.T) func(aiScene) aiOutcome {
	t.Helper()
	run := node(t, "policy_opa.mjs")
	if _, err := os.Stat(filepath.Join(os.Getenv(nodeModules), "@ai-sdk", "policy-opa", "package.json")); err != nil {
		t.Skip(nodeModules + " has no @ai-sdk/policy-opa: npm ci with testdata/node/package.json installs it")
	}
	cmd := exec.Command(run[0], run[1:]...)
	cmd.Stderr = os.Stderr
	in, lines := started(t, cmd)
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("node: %v", err)
		}
	})
	return func(s aiScene) (o aiOutcome) {
		t.Helper()
		if err := json.NewEncoder(in).Encode(s); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatalf("node: %v", err)
		}
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatalf("node: %v\n%s", err, line)
		}
		return o
	}
}

const httpRules = `allow:
  use: ["weather", "github:get_*"]
deny:
  use: ["wipe"]
`

// TestPolicyOPA: @ai-sdk/policy-opa, as published on npm and used by the AI SDK, runs a
// tool if permd allows it, and in no other case.
func TestPolicyOPA(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs a package of npm")
	}
	t.Parallel()
	play := aiRunner(t)
	d := newTestDaemon(t)
	d.listensHTTP(t, "127.0.0.1:0")
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), httpRules)
	d.policy(t, "frozen.rego", `deny contains {"reason": "canary-of-a-reason", "message": "frozen, use staging"} if input.effect.tool == "release"`)
	project := d.project(t, nil)
	d.start(t)
	c := d.http(t)
	session := map[string]any{"permd": httpSession(project)}
	empty := map[string]any{}
	for _, tt := range []struct {
		name   string
		scene  aiScene
		kind   string
		reason string
	}{
		{"allow", aiScene{Tool: "weather", Args: empty}, "approved", ""},
		{"allow, in a session", aiScene{Tool: "Bash", Args: map[string]string{"command": "git status"}, RuntimeContext: session}, "approved", ""},
		{"allow, by an input of the application's", aiScene{Tool: "x", Args: empty, Input: map[string]any{
			"tool": map[string]string{"name": "get_issue", "server": "github"}, "args": empty, "callId": "c7",
		}}, "approved", ""},
		{"deny", aiScene{Tool: "wipe", Args: empty}, "denied", "permd denies this call"},
		{"deny, with a message", aiScene{Tool: "release", Args: empty}, "denied", "frozen, use staging"},
		{"deny, in a session", aiScene{Tool: "Bash", Args: map[string]string{"command": "rm -rf /"}, RuntimeContext: session}, "denied", ""},
		{"ask", aiScene{Tool: "deploy", Args: map[string]string{"to": "staging"}}, "user-approval", "cannot look into"},
		{"ask, in a session", aiScene{Tool: "Bash", Args: map[string]string{"command": "make install"}, RuntimeContext: session}, "user-approval", ""},
		{"another token", aiScene{Tool: "weather", Args: empty, Token: strings.Repeat("0", 64)}, "denied", "401"},
		{"another path", aiScene{Tool: "weather", Args: empty, Path: "permd/nothing"}, "denied", "404"},
		{"a path of nobody", aiScene{Tool: "weather", Args: empty, Path: "agent/call/decision"}, "denied", "404"},
		{"a session that is none", aiScene{Tool: "weather", Args: empty, RuntimeContext: map[string]any{"permd": map[string]any{"cwd": project}}}, "denied", "sessionId is missing"},
		{"a session in other letters", aiScene{Tool: "weather", Args: empty, RuntimeContext: map[string]any{"Permd": map[string]any{}}}, "denied", "a name is written almost like"},
		{"an input without arguments", aiScene{Tool: "weather", Args: empty, Input: map[string]any{"tool": map[string]string{"name": "weather"}}}, "denied", "args is missing"},
		{"an input without a tool", aiScene{Tool: "weather", Args: empty, Input: empty}, "denied", "tool is missing"},
		{"an input that is text", aiScene{Tool: "weather", Args: empty, Input: "weather"}, "denied", "must be an object"},
		{"a conversation that is too long", aiScene{Tool: "weather", Args: empty, Prompt: strings.Repeat("x", 5<<20)}, "denied", "413"},
		{"allow, then", aiScene{Tool: "weather", Args: empty}, "approved", ""},
	} {
		if tt.scene.URL = c.url; tt.scene.Token == "" {
			tt.scene.Token = c.token
		}
		got := play(tt.scene)
		want := aiOutcome{Type: tt.kind, Reason: got.Reason, Asks: tt.kind == "user-approval"}
		if tt.kind == "approved" {
			want.Ran = 1
		}
		if got != want || !strings.Contains(got.Reason, tt.reason) || strings.Contains(got.Reason, "canary") {
			t.Errorf("%s: %+v, want %+v with %q in the reason", tt.name, got, want, tt.reason)
		}
	}
	d.kill()
	for name, s := range map[string]aiScene{
		"no daemon":             {URL: c.url, Token: c.token, Tool: "weather", Args: empty},
		"no address":            {URL: "http://127.0.0.1:1", Token: c.token, Tool: "weather", Args: empty},
		"an address of nothing": {URL: "nothing", Token: c.token, Tool: "weather", Args: empty},
	} {
		if got := play(s); got.Type != "denied" || got.Ran != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
