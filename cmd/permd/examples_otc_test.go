package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExampleOTC runs the runtime of examples/clients for Open Tool Calling
// unchanged.
func TestExampleOTC(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs a runtime as a process")
	}
	t.Parallel()
	python, script := pythonExample(t, "otc.py")
	d := otcDaemon(t)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "tool.json"), string(otcFind(otcToolsOf(t, otcTools), "Sms.Send@1.2.0").raw)+"\n")
	said := func(call string, args ...string) string {
		t.Helper()
		cmd := exec.Command(python, append([]string{script}, args...)...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(call)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PERMD_SOCKET=" + d.socket()}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("the example failed: %v\n%s", err, out)
		}
		return string(out)
	}
	sms := func(to string) string {
		return `{
  "request": {
    "tool_id": "Sms.Send@1.2.0", "call_id": "c1", "input": {"to": "` + to + `", "text": "hello"},
    "context": {
      "authorization": [{"id": "sms-idp", "token": "` + otcToken + `"}],
      "secrets": [{"id": "TWILIO_API_KEY", "value": "` + otcSecret + `"}], "user_id": "ana"
    }
  }
}
`
	}
	clock := `{"endpoint": "http://127.0.0.1:7420", "tool_id": "Clock.Now", "call_id": "c2"}`
	for _, tt := range []struct{ name, call, want string }{
		{"allowed", clock, "send it\n"},
		{"denied", sms("+900"), `give the model {"call_id": "c1", "success": false, "error": {"message": "This tool call is not permitted: messages to premium numbers are blocked"`},
		{"asked", sms("+1202"), "ask the person: use Sms:Send@1.2.0, given secret TWILIO_API_KEY, authorization sms-idp\n"},
		{"two tools", strings.Replace(clock, `"tool_id"`, `"tool_id": "Sms.Send", "tool_id"`, 1), "not sent: "},
		{"more than one value", clock + "{}", "not sent: "},
		{"not JSON", `{"tool_id":`, "not sent: "},
		{"nothing", "", "not sent: "},
		{"an empty object", "{}", "not sent: "},
	} {
		if got := said(tt.call); !strings.HasPrefix(got, tt.want) || strings.Contains(got, otcSecret) || strings.Contains(got, otcToken) {
			t.Errorf("%s: it says %q", tt.name, got)
		}
	}
	want(t, "with a definition", "ask the person: use Sms:Send@1.2.0, given secret TWILIO_API_KEY, authorization sms-idp (sms.send)\n", said(sms("+1202"), "tool.json"))
	if got := said(strings.Replace(sms("+1202"), `"TWILIO_API_KEY"`, `"OTHER"`, 1), "tool.json"); !strings.Contains(got, "The call lacks what the tool requires: secret TWILIO_API_KEY") {
		t.Errorf("without the secret it says %q", got)
	}
	if got := said(clock, "no-such.json"); !strings.HasPrefix(got, "not sent: ") {
		t.Errorf("without the file it says %q", got)
	}
	d.kill()
	if got := said(clock); !strings.HasPrefix(got, "not sent: ") {
		t.Errorf("without permd it says %q", got)
	}
}
