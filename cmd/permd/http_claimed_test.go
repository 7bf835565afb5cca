package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestHTTPAllowClaimed: if only the title has the command, an approval is bound to
// that title.
func TestHTTPAllowClaimed(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for claims alone; TestHTTPAllow is the quick one")
	}
	t.Parallel()
	d, c := startHTTP(t, "unix")
	project := d.project(t, nil)
	ask := func(title string) (id, verdict string) {
		t.Helper()
		session := httpSession(project)
		session["agent"] = map[string]string{"name": "gemini-cli"}
		got := c.send(t, "POST", "/v1/calls", encoded(t, map[string]any{
			"session": session,
			"calls":   []any{map[string]any{"callId": "1", "tool": map[string]string{"name": "run_shell_command"}, "kind": "execute", "title": title}},
		}))
		var said struct {
			Decisions []struct {
				ID      string `json:"decisionId"`
				Verdict string
			}
		}
		if err := json.Unmarshal([]byte(got.Body), &said); err != nil || len(said.Decisions) != 1 {
			t.Fatalf("the answer is %+v: %v", got, err)
		}
		return said.Decisions[0].ID, said.Decisions[0].Verdict
	}
	long := func(middle string) string {
		return "make " + strings.Repeat("a", 500) + middle + strings.Repeat("z", 500)
	}
	for _, test := range []struct{ name, asked, other string }{
		{"not parsed", "echo (one", "rm -r (two"},
		{"shown in part", long("b"), long("c")},
		{"masked", "deploy https://ana:one@x.example/", "deploy https://ana:two@x.example/"},
	} {
		t.Run(test.name, func(t *testing.T) {
			id, _ := ask(test.asked)
			d.permd(t, "allow", id)
			if _, got := ask(test.other); got != "ask" {
				t.Errorf("another command: %s", got)
			}
			if _, got := ask(test.asked); got != "allow" {
				t.Errorf("the same command: %s", got)
			}
		})
	}
}
