package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExampleClientJavaScript runs the client in examples/clients/javascript,
// unchanged.
func TestExampleClientJavaScript(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs Node")
	}
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	script, err := filepath.Abs(filepath.Join("..", "..", "examples", "clients", "javascript", "client.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t)
	project := d.project(t, nil)
	ask := func(t *testing.T, request string, env ...string) string {
		cmd := exec.Command(node, script)
		cmd.Dir, cmd.Stdin = project, strings.NewReader(request)
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("the client failed: %v\n%s", err, out)
		}
		return string(out)
	}
	status := exampleRequest("git status")
	for _, tt := range []struct {
		name, request string
		want          string // begins the answer
		contains      string
	}{
		{"allow", status, "answer the agent: ", `"optionId":"allow-once"`},
		{"deny", exampleRequest("rm -rf /"), "answer the agent: ", `"optionId":"reject"`},
		{"ask", exampleRequest("make install"), "undecided: ", "ask the person: "},
		{"two commands under one name", strings.Replace(status, `"command":`, `"command": "rm -rf /", "command":`, 1), "undecided: ", ""},
		{"not UTF-8", strings.Replace(status, "git status\"}", "git status\xff\"}", 1), "undecided: ", ""},
		{"not JSON", `{"sessionId":`, "undecided: ", ""},
		{"a second value behind the first", status + `,"method":"permd/choose"`, "undecided: ", ""},
		{"nothing", "", "undecided: ", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ask(t, tt.request, "XDG_RUNTIME_DIR="+d.run)
			if !strings.HasPrefix(got, tt.want) || !strings.Contains(got, tt.contains) {
				t.Errorf("the client said %q, want %q with %q", got, tt.want, tt.contains)
			}
			if strings.Contains(got, "allow-") && tt.name != "allow" {
				t.Errorf("allowed: %s", got)
			}
		})
	}
	if got := ask(t, status, "PERMD_SOCKET="+d.socket()); !strings.Contains(got, `"allow-once"`) {
		t.Errorf("with PERMD_SOCKET: %s", got)
	}
	d.kill()
	if got := ask(t, status, "PERMD_SOCKET="+d.socket()); !strings.HasPrefix(got, "undecided: ") {
		t.Errorf("without permd: %s", got)
	}
}
