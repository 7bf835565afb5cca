package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// reference returns the command of a reference server, by the name of its package, and skips where
// it is not there.
func reference(t *testing.T, name string) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("long: it runs a server of other people")
	}
	loopback := node(t, "loopback.cjs")
	path := filepath.Join(os.Getenv(nodeModules), "@modelcontextprotocol", name, "dist", "index.js")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the packages are those of an earlier testdata/node/package.json: %v", err)
	}
	return []string{loopback[0], "--require", loopback[1], path}
}

// TestMCPEverything: what a client sees of the reference server of the TypeScript SDK through
// permd mcp, over both transports, is what it sees without, but for what is decided and signed.
func TestMCPEverything(t *testing.T) {
	t.Parallel()
	command := reference(t, "server-everything")
	d := newTestDaemon(t)
	d.mcp.sessions = true // as the server has them
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), "allow:\n  use: [\"test:*\"]\ndeny:\n  use: [\"test:get-env\"]\n")
	d.start(t)
	direct, err := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	}).Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command(command[0], append(command[1:], "stdio")...)}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { direct.Close() })
	want := seenOf(t, direct)
	if len(want) < 10 || !strings.Contains(want["call get-sum"], "42") {
		t.Fatalf("without permd mcp: %v", want)
	}
	for over, line := range map[string]func() []string{
		"stdio": func() []string { return append(append([]string{"--"}, command...), "stdio") },
		"http":  func() []string { return []string{"--upstream", serveEverything(t, command)} },
	} {
		t.Run(over, func(t *testing.T) {
			c := d.startMCPWith(t, "", "decline", line()...)
			if diff := cmp.Diff(want, seenOf(t, c.session)); diff != "" {
				t.Errorf("through permd mcp (-without +with):\n%s", diff)
			}
			wantHas(t, "a deny", c.call(t, "get-env", ""), "permd denied this call")
			r, err := c.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "trigger-elicitation-request", Arguments: map[string]any{}})
			if err != nil || len(c.forms) != 2 { // seenOf calls it too
				t.Fatalf("%v, %v, forms %q", r, err, c.forms)
			}
			if !strings.HasPrefix(c.forms[0], "The server test asks: Please provide inputs") {
				t.Errorf("the form says %q", c.forms[0])
			}
		})
	}
}

// seenOf returns what a client sees of the server, as JSON.
func seenOf(t *testing.T, s *mcp.ClientSession) map[string]string {
	t.Helper()
	seen := map[string]string{}
	see := func(what string, v any, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		seen[what] = string(text)
	}
	ctx := t.Context()
	tools, err := s.ListTools(ctx, nil)
	see("tools", tools, err)
	prompts, err := s.ListPrompts(ctx, nil)
	see("prompts", prompts, err)
	resources, err := s.ListResources(ctx, nil)
	see("resources", resources, err)
	templates, err := s.ListResourceTemplates(ctx, nil)
	see("templates", templates, err)
	if resources != nil && len(resources.Resources) > 0 {
		r, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: resources.Resources[0].URI})
		see("resource", r, err)
	}
	prompt, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "simple-prompt"})
	see("prompt", prompt, err)
	for name, arguments := range map[string]map[string]any{
		"echo":                           {"message": "line\u2028s \u00e4 \"x\""},
		"get-sum":                        {"a": 40, "b": 2},
		"get-structured-content":         {"location": "New York"},
		"get-annotated-message":          {"messageType": "error", "includeImage": true},
		"get-tiny-image":                 {},
		"get-resource-links":             {"count": 3},
		"trigger-long-running-operation": {"duration": 0.2, "steps": 2},
		"trigger-elicitation-request":    {},
	} {
		params := &mcp.CallToolParams{Name: name, Arguments: arguments}
		params.SetProgressToken("p")
		r, err := s.CallTool(ctx, params)
		see("call "+name, r, err)
	}
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "get-sum", Arguments: map[string]any{"a": "x"}})
	see("call with an error", r, err)
	return seen
}

// serveEverything runs the server over HTTP, and returns its address.
func serveEverything(t *testing.T, command []string) string {
	t.Helper()
	cmd := exec.Command(command[0], append(command[1:], "streamableHttp")...)
	cmd.Env = append(os.Environ(), "PORT=0")
	says, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	r := bufio.NewReader(says)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if port, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on "); ok {
			go discardLines(r)
			return "http://127.0.0.1:" + port + "/mcp"
		}
	}
}

func discardLines(r *bufio.Reader) {
	for {
		if _, err := r.ReadString('\n'); err != nil {
			return
		}
	}
}
