package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExampleRAP runs the runtime of examples/clients for the Reactive Agent
// Protocol unchanged.
func TestExampleRAP(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs a runtime as a process")
	}
	t.Parallel()
	python, script := pythonExample(t, "rap.py")
	d, _ := rapDaemon(t)
	dir := t.TempDir()
	toolset := "{\n  \"name\": \"warehouse\",\n  \"endpoint\": \"http://127.0.0.1:7410/invoke\",\n  \"tools\": " + rapTools + "\n}\n"
	writeFile(t, filepath.Join(dir, "toolset.json"), toolset)
	said := func(invocation, person string) string {
		t.Helper()
		writeFile(t, filepath.Join(dir, "invocation.json"), invocation)
		cmd := exec.Command(python, script, "toolset.json", "invocation.json")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(person)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PERMD_SOCKET=" + d.socket()}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("the example failed: %v\n%s", err, out)
		}
		return string(out)
	}
	invocation := func(operation, arguments string) string {
		return `{
  "operation": "` + operation + `", "arguments": ` + arguments + `,
  "id": "call_1", "callback_url": "https://agents.example.org/callback?t=` + rapSecret + `",
  "group_id": "pick", "thread_ancestors": ["root"]
}
`
	}
	for _, tt := range []struct {
		name, invocation, person string
		want                     string // ends what is said
	}{
		{"allowed", invocation("list_bins", `{}`), "", "send it\n"},
		{"denied", invocation("purge_bin", `{"bin":"C-17"}`), "", `"text": "Error: permission denied: bin C-17 is under audit hold"}` + "\n"},
		{"arguments that do not fit", invocation("move_bin", `{}`), "", `"text": "Error: invalid arguments: is missing \"bin\""}` + "\n"},
		{"asked, yes", invocation("move_bin", move), "0\n", "send it\n"},
		{"asked, yes once", invocation("move_bin", move), "2\n", "send it\n"},
		{"asked, no", invocation("move_bin", move), "3\n", "denied by the user\"}\n"},
		{"asked, dismissed", invocation("move_bin", move), "", "denied by the user\"}\n"},
		{"asked, another index", invocation("move_bin", move), "7\n", "not sent: selected is no index of the choices\n"},
		{"two operations", strings.Replace(invocation("list_bins", `{}`), `"operation"`, `"operation": "purge_bin", "operation"`, 1), "", ""},
		{"more than one value", invocation("list_bins", `{}`) + `{}`, "", ""},
		{"not JSON", `{"operation":`, "", ""},
		{"nothing", "", "", ""},
		{"an empty object", "{}", "", ""},
	} {
		got := said(tt.invocation, tt.person)
		if !strings.HasSuffix(got, tt.want) || tt.want == "" && !strings.HasPrefix(got, "not sent: ") || strings.Contains(got, rapSecret) {
			t.Errorf("%s: it says %q", tt.name, got)
		}
		if strings.Contains(got, "send it") != (tt.want == "send it\n") {
			t.Errorf("%s: it is sent: %q", tt.name, got)
		}
		if asks := strings.Contains(got, "1  Yes (pick and all children)\n  2  Yes once\n  3  No\n"); asks != (strings.HasPrefix(tt.name, "asked")) {
			t.Errorf("%s: it asks: %q", tt.name, got)
		}
	}
	d.kill()
	if got := said(invocation("list_bins", `{}`), ""); !strings.HasPrefix(got, "not sent: ") {
		t.Errorf("without permd it says %q", got)
	}
}
