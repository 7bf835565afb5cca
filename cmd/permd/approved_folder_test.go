package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestApprovedInAFolder: a person's yes to a run counts in the folder that they were asked
// about. If the name of that folder is a link, and leads to another folder by the time of
// their answer, the run would be another one: it is asked again, also in a turn of which
// other calls still wait. Without such a change the yes counts.
func TestApprovedInAFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for one conversation; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	root := d.project(t, map[string]string{"a/f": "", "b/f": ""})
	link := filepath.Join(root, "now")
	lead := func(to string) {
		t.Helper()
		if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	for to, says := range map[string]string{"a": "", "b": "changed"} {
		lead("a")
		in := d.asks(t, link)
		asked := in.bash("frob x")
		in.is(asked, decisions.Ask, decisions.ByPolicy)
		lead(to)
		in.choose(asked, map[string]any{"verdict": "allow"}, says)

		lead("a")
		if err := in.Call(t.Context(), "permd/session", map[string]any{"sessionId": "turn", "cwd": link, "client": map[string]string{"name": "claude-code"}}, nil); err != nil {
			t.Fatal(err)
		}
		use := func(id, tool string, input map[string]string) map[string]any {
			return map[string]any{"type": "tool_use", "toolCallId": id, "name": tool, "input": input}
		}
		var batch struct {
			ID    string `json:"batchId"`
			Calls []struct {
				Outcome string `json:"outcome"`
			} `json:"calls"`
		}
		say := func(method string, params map[string]any) {
			t.Helper()
			params["sessionId"] = "turn"
			if err := in.Call(t.Context(), method, params, &batch); err != nil {
				t.Fatal(err)
			}
		}
		say("aap/permissions", map[string]any{
			"agent": map[string]string{"name": "server"}, "tools": []any{map[string]string{"name": "Bash"}},
			"turn": map[string]any{"stopReason": "tool_use", "messages": []any{map[string]any{
				"role": "assistant", "content": []any{use("1", "Bash", map[string]string{"command": "frob x"}), use("2", "deploy", nil)},
			}}},
		})
		yes := func(id string) map[string]any {
			return map[string]any{"batchId": batch.ID, "answers": []any{map[string]string{"toolCallId": id, "verdict": "allow"}}}
		}
		say("aap/answer", yes("1"))
		lead(to)
		say("aap/answer", yes("2"))
		if want := map[string]string{"a": "execute", "b": "ask"}[to]; batch.Calls[0].Outcome != want {
			t.Errorf("the folder leads to %s: %+v, want %s", to, batch.Calls, want)
		}
	}
}
