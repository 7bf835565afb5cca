package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var examples = filepath.Join("..", "..", "examples")

// exampleRequest is the params of an ACP permission request, as an agent might
// write them: over several lines.
func exampleRequest(command string) string {
	return `{
  "sessionId": "s1",
  "toolCall": {
    "toolCallId": "t1",
    "title": "` + command + `",
    "kind": "execute",
    "rawInput": {"command": "` + command + `"},
    "_meta": {"claudeCode": {"toolName": "Bash"}}
  },
  "options": [
    {"optionId": "allow-always", "name": "Always Allow", "kind": "allow_always"},
    {"optionId": "allow-once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"}
  ]
}
`
}

// TestExampleClients runs the clients of examples/clients as they are.
func TestExampleClients(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the examples as processes")
	}
	t.Parallel()
	clients := []struct {
		name    string
		program func(t *testing.T) []string
	}{
		{"go", func(t *testing.T) []string {
			tool, err := exec.LookPath("go")
			if err != nil {
				t.Skip("the go command is not in PATH")
			}
			bin := filepath.Join(t.TempDir(), "client")
			if out, err := exec.Command(tool, "build", "-o", bin, "./"+filepath.Join(examples, "clients", "go")).CombinedOutput(); err != nil {
				t.Fatalf("building the client: %v\n%s", err, out)
			}
			return []string{bin}
		}},
		{"python", func(t *testing.T) []string {
			python, script := pythonExample(t, "client.py")
			return []string{python, script}
		}},
	}
	tests := []struct {
		name, request string
		want          string // begins the answer
		contains      string
	}{
		{"allow", exampleRequest("git status"), "answer the agent: ", `"allow-once"`},
		{"deny", exampleRequest("rm -rf /"), "answer the agent: ", `"reject"`},
		{"ask", exampleRequest("make install"), "undecided: ", "ask the person: "},
		{"announced nowhere", `{"sessionId":"s1","toolCall":{"toolCallId":"x"},"options":[]}`, "undecided: ", ""},
		{"two commands under one name", strings.Replace(exampleRequest("git status"), `"command":`, `"command": "rm -rf /", "command":`, 1), "undecided: ", ""},
		{"not JSON", `{"sessionId":`, "undecided: ", ""},
		{"more than one value", exampleRequest("git status") + `,"method":"permd/choose"`, "undecided: ", ""},
		{"nothing", "", "undecided: ", ""},
	}
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			program := c.program(t)
			d := startDaemon(t)
			project := d.project(t, nil)
			ask := func(request string, env ...string) string {
				cmd := exec.Command(program[0], program[1:]...)
				cmd.Dir, cmd.Stdin = project, strings.NewReader(request)
				cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, env...)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("the client failed: %v\n%s", err, out)
				}
				return string(out)
			}
			for _, tt := range tests {
				got := ask(tt.request, "XDG_RUNTIME_DIR="+d.run)
				if !strings.HasPrefix(got, tt.want) || !strings.Contains(got, tt.contains) {
					t.Errorf("%s: the client said %q, want %q and %q", tt.name, got, tt.want, tt.contains)
				}
				if strings.Contains(got, "allow-") && tt.name != "allow" {
					t.Errorf("%s: allowed: %s", tt.name, got)
				}
			}
			if got := ask(tests[0].request, "PERMD_SOCKET="+d.socket()); !strings.Contains(got, `"allow-once"`) {
				t.Errorf("with PERMD_SOCKET: %s", got)
			}
			d.kill()
			if got := ask(tests[0].request, "PERMD_SOCKET="+d.socket()); !strings.HasPrefix(got, "undecided: ") {
				t.Errorf("without permd: %s", got)
			}
		})
	}
}

// TestExamplePolicies checks and tests each folder of examples/policies.
func TestExamplePolicies(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it checks and tests each example")
	}
	t.Parallel()
	for _, folder := range policyFolders(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			d := newTestDaemon(t)
			out, err := d.command("policy", "check", folder).CombinedOutput()
			if err != nil || !bytes.HasPrefix(out, []byte("ok: ")) || bytes.Count(out, []byte("\n")) != 1 {
				t.Errorf("permd policy check: %v\n%s", err, out)
			}
			out, err = d.command("policy", "test", folder).CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte(" passed, 0 failed, 0 skipped")) || bytes.HasPrefix(out, []byte("0 passed")) {
				t.Errorf("permd policy test: %v\n%s", err, out)
			}
		})
	}
}

func policyFolders(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(examples, "policies"))
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, e := range entries {
		if e.IsDir() {
			folders = append(folders, filepath.Join(examples, "policies", e.Name()))
		}
	}
	if len(folders) < 3 {
		t.Fatalf("only the folders %v", folders)
	}
	return folders
}

// TestExamplePoliciesServed: a daemon that is given them decides by them.
func TestExamplePoliciesServed(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon with each example")
	}
	t.Parallel()
	for _, tt := range []struct {
		folders               map[string]string // folder of examples/policies, by where it goes
		command, verdict, why string
	}{
		{map[string]string{"org": "root/etc/permd/policy.d"}, "git push -f", "deny", "shared branches are never rewritten"},
		{map[string]string{"user": ".config/permd/policy.d"}, "go test ./...", "allow", "builds and tests Go code"},
		{map[string]string{"user": ".config/permd/policy.d"}, "npm publish", "deny", "releases are made by hand"},
		{map[string]string{"lists": ".config/permd/policy.d"}, "go vet ./...", "allow", ""},
		{map[string]string{"lists": ".config/permd/policy.d"}, "git push -f", "deny", ""},
		{map[string]string{"team": ".config/permd/policy.d"}, "deployctl status --json -e prod", "allow", ""},
		{map[string]string{"team": ".config/permd/policy.d"}, "deployctl push web -f", "deny", ""},
		{map[string]string{"team": ".config/permd/policy.d"}, "deployctl push --before 'rm -rf /' web", "deny", ""},
		{map[string]string{"team": ".config/permd/policy.d"}, "tree src", "ask", ""},
		{map[string]string{"org": "root/etc/permd/policy.d", "user": ".config/permd/policy.d"}, "git commit -m x", "ask", "I read what is committed"},
	} {
		t.Run(tt.command, func(t *testing.T) {
			d := newTestDaemon(t)
			project := d.project(t, map[string]string{"go.mod": "module x\n"})
			for folder, to := range tt.folders {
				if err := os.CopyFS(filepath.Join(d.home, to), os.DirFS(filepath.Join(examples, "policies", folder))); err != nil {
					t.Fatal(err)
				}
			}
			d.start(t, "--root", filepath.Join(d.home, "root"))
			if st := d.status(t); st.Degraded {
				t.Fatalf("degraded: %+v", st.Policy)
			}
			got := d.session(t, project).ask(t, decideLine(tt.command))
			if got.Verdict != tt.verdict || got.By != "policy" || !strings.Contains(got.Reason, tt.why) {
				t.Errorf("the answer is %+v, want %s with %q", got, tt.verdict, tt.why)
			}
		})
	}
}

// pythonExample returns Python and the path of an example for it.
func pythonExample(t *testing.T, name string) (python, script string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	script, err = filepath.Abs(filepath.Join(examples, "clients", "python", name))
	if err != nil {
		t.Fatal(err)
	}
	return python, script
}
