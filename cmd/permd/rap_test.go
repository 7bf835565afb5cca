package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/rap"
)

const rapRules = `package permd.user
import rego.v2
allow contains "looking is free" if {
	input.effect.kind == "use"
	input.effect.server == "warehouse"
	startswith(input.effect.source, "http://127.0.0.1:")
	input.effect.tool == "list_bins"
	input.effect.destructive == false
}
allow contains "the runtime is on this machine" if {
	input.effect.from == "callback_url"
	input.effect.host == "127.0.0.1"
}
deny contains {"reason": "audit until friday, see /etc/permd", "message": "bin C-17 is under audit hold"} if {
	input.effect.kind == "use"
	input.effect.tool == "purge_bin"
	input.effect.arguments.bin == "C-17"
}
`

func rapDaemon(t *testing.T) (d *testDaemon, project string) {
	t.Helper()
	d = newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rap.rego"), rapRules)
	d.start(t)
	return d, d.project(t, nil)
}

// picks answers each question with the next label.
func picks(t *testing.T, labels ...string) func(rapCallback) int {
	return func(c rapCallback) int {
		if len(labels) == 0 {
			t.Errorf("one question too many: %s", c.Prompt)
			return c.Default
		}
		label := labels[0]
		labels = labels[1:]
		for i, choice := range c.Choices {
			if choice == label {
				return i
			}
		}
		if label != "interrupt" {
			t.Errorf("no label is %q: %q", label, c.Choices)
		}
		return -1
	}
}

const move = `{"bin":"A-1"}`

// TestRAPStory is the life of some threads, with a runtime that asks permd, and
// with a tool server that does.
func TestRAPStory(t *testing.T) {
	t.Parallel()
	for _, serverAsks := range []bool{false, true} {
		t.Run(fmt.Sprint("the server asks ", serverAsks), func(t *testing.T) {
			if testing.Short() && serverAsks {
				t.Skip("long: the same story once more; a runtime that asks is the quick one")
			}
			t.Parallel()
			d, project := rapDaemon(t)
			rt := newRAPRuntime(t, d, project, serverAsks)
			tell := func(what, thread, operation, arguments, want string, ran bool) {
				t.Helper()
				if got := rt.call(thread, operation, arguments); got != want {
					t.Errorf("%s: the model is told %q, want %q", what, got, want)
				}
				if got := rt.server.hasRun(); (len(got) == 1) != ran {
					t.Errorf("%s: %q has run", what, got)
				}
			}
			const done, no = "move_bin is done", "Error: permission denied: denied by the user"
			tell("a rule allows", "root", "list_bins", `{"aisle":"C"}`, "list_bins is done", true)
			tell("a rule denies", "root/pick", "purge_bin", `{"bin":"C-17"}`, "Error: permission denied: bin C-17 is under audit hold", false)
			tell("arguments that do not fit", "root", "list_bins", `{"aisle":7}`, "Error: invalid arguments: /aisle: must be string", false)
			tell("an operation that is not there", "root", "sell_bins", `{}`, "Error: unknown operation", false)
			want(t, "asked", []string(nil), rt.questions())

			rt.person = picks(t, "No", "Yes once", "Yes once")
			tell("no", "root/pick", "move_bin", move, no, false)
			tell("yes, once", "root/pick", "move_bin", move, done, true)
			tell("again", "root/pick", "move_bin", move, done, true)
			want(t, "asked", 3, len(rt.questions()))

			rt.person = picks(t, "Yes (root and all children)")
			tell("yes, and all children", "root/pick/pick_2", "move_bin", move, done, true)
			want(t, "asked", []string{"Yes (root and all children) | Yes (pick and all children) | Yes (pick_2 and all children) | Yes once | No | Yes always (in this project) | Never (in this project)"}, rt.questions())
			rt.person = picks(t, "No", "No", "No", "No")
			for _, below := range []string{"root", "root/pick", "root/pack", "root/pack/pack_2", "root/pick/pick_2"} {
				tell("below", below, "move_bin", move, done, true)
			}
			want(t, "asked", []string(nil), rt.questions())
			tell("other arguments", "root", "move_bin", `{"bin":"A-2"}`, no, false)
			tell("another operation", "root", "purge_bin", `{"bin":"A-1"}`, no, false)
			tell("elsewhere", "other/thread", "move_bin", move, no, false)
			tell("it is said to be below another", "other/pick", "move_bin", move, no, false)
			if asked := rt.questions(); len(asked) != 4 || asked[3] != "Yes once | No | Never (in this project)" {
				t.Errorf("asked %q", asked)
			}

			rt.close("pick_2")
			tell("another was closed", "root/pack", "move_bin", move, done, true)
			rt.close("root")
			rt.person = picks(t, "No", "Yes (pack and all children)")
			tell("closed", "root/pack", "move_bin", move, no, false)
			tell("closed, and yes further below", "root/pack", "move_bin", move, done, true)
			tell("below that", "root/pack/pack_3", "move_bin", move, done, true)
			want(t, "asked", 2, len(rt.questions()))

			rt.person = picks(t, "Yes (deep and all children)")
			rt.asker().width = "w2"
			tell("whatever the arguments", "deep", "move_bin", move, done, true)
			rt.asker().width = ""
			tell("others", "deep/er", "move_bin", `{"bin":"B-2"}`, done, true)
			want(t, "asked", 1, len(rt.questions()))

			rt.person = picks(t, "interrupt")
			tell("cancelled", "root/late", "move_bin", `{"bin":"Z"}`, "Error: the choice could not be taken", false)

			for _, rec := range d.records(t) {
				if rec.Protocol != "rap" || rec.Client.Name != "infinity" || rec.Session.ID == "" {
					t.Errorf("logged is %+v", rec)
				}
			}
			d.wantNowhere(t, rapSecret)
			d.kill()
			tell("without a daemon", "root", "list_bins", `{}`, "Error: permission could not be asked for", false)
		})
	}
}

// rapConnection is a connection with a session, and the params of a call on it.
func rapConnection(t *testing.T, d *testDaemon, project string) *client.Client {
	t.Helper()
	c := d.dial(t)
	if err := c.Call(t.Context(), native.MethodSession, map[string]any{"sessionId": "s1", "cwd": project}, nil); err != nil {
		t.Fatal(err)
	}
	return c
}

func rapCall(id, thread, operation, arguments string) map[string]any {
	path := strings.Split(thread, "/")
	return map[string]any{
		"sessionId": "s1", "operation": operation, "arguments": raw(arguments), "id": id, "group_id": path[len(path)-1], "thread_ancestors": path[:len(path)-1],
		"toolset": map[string]any{"name": "warehouse", "endpoint": "http://127.0.0.1:7410/invoke", "tools": raw(rapTools)},
	}
}

type raw string

// MarshalJSON returns the text unchanged.
func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// TestRAPFences: what a person rejects in a thread is rejected in the threads below it,
// in whatever way it is expressed and whatever was allowed for the thread, and on this
// connection only.
func TestRAPFences(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it plays a conversation; TestRAPStory is the quick one")
	}
	t.Parallel()
	for _, scope := range []string{"session", "session+children"} {
		t.Run(scope, func(t *testing.T) {
			t.Parallel()
			d, project := rapDaemon(t)
			c := rapConnection(t, d, project)
			outcome := func(c *client.Client, id, thread string) rap.Outcome {
				t.Helper()
				var r rapAnswer
				if err := c.Call(t.Context(), rap.MethodInvoke, rapCall(id, thread, "move_bin", move), &r); err != nil {
					t.Fatal(err)
				}
				if r.Outcome == rap.Denied && r.Result.Text != "Error: permission denied: denied by the user" {
					t.Errorf("the model is told %q", r.Result.Text)
				}
				return r.Outcome
			}
			var r rapAnswer
			if err := c.Call(t.Context(), rap.MethodInvoke, rapCall("1", "root/pick", "move_bin", move), &r); err != nil {
				t.Fatal(err)
			}
			if err := c.Call(t.Context(), rap.MethodChoice, map[string]any{"decisionId": r.Decision.DecisionID, "selected": 0}, nil); err != nil {
				t.Fatal(err)
			}
			want(t, "allowed", rap.Run, outcome(c, "2", "root/pick"))
			if err := c.Call(t.Context(), rap.MethodInvoke, rapCall("3", "pack", "move_bin", move), &r); err != nil {
				t.Fatal(err)
			}
			deny := map[string]any{"decisionId": r.Decision.DecisionID, "verdict": "deny", "scope": scope}
			if err := c.Call(t.Context(), native.MethodChoose, deny, nil); err != nil {
				t.Fatal(err)
			}
			for id, tt := range map[string]struct {
				thread string
				want   rap.Outcome
			}{
				"4": {"pack", rap.Denied},
				"5": {"pack/child", rap.Denied},
				"6": {"pack/child/grandchild", rap.Denied},
				"7": {"root/pick", rap.Run},
				// It claims to belong to root, and belonged to pack before.
				"8": {"root/child", rap.Denied},
				"9": {"root/pack", rap.Denied},
			} {
				if tt.thread == "root/child" {
					outcome(c, "5b", "pack/child")
				}
				want(t, tt.thread, tt.want, outcome(c, id, tt.thread))
			}
			// None of it applies to another connection.
			other := rapConnection(t, d, project)
			want(t, "elsewhere, below root", rap.Ask, outcome(other, "1", "root/pick"))
			want(t, "elsewhere, below pack", rap.Ask, outcome(other, "2", "pack/child"))
		})
	}
}

// remembersNothing waits until there are no remembered choices.
func (d *testDaemon) remembersNothing(t *testing.T) {
	t.Helper()
	eventually.Holds(t, "it is no longer remembered", func() bool {
		out, err := d.command("remember", "list", "--json").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return !strings.Contains(string(out), "move_bin")
	})
}

// TestRAPWithoutSession: threads need no session; what was remembered for them
// ends with the connection all the same.
func TestRAPWithoutSession(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for threads without a session; TestRAPStory is the quick one")
	}
	t.Parallel()
	d, _ := rapDaemon(t)
	c := d.dial(t)
	params := rapCall("call_1", "root/pick", "move_bin", move)
	delete(params, "sessionId")
	var r rapAnswer
	if err := c.Call(t.Context(), rap.MethodInvoke, params, &r); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), rap.MethodChoice, map[string]any{"decisionId": r.Decision.DecisionID, "selected": 0}, nil); err != nil {
		t.Fatal(err)
	}
	params["id"] = "call_2"
	if err := c.Call(t.Context(), rap.MethodInvoke, params, &r); err != nil || r.Outcome != rap.Run {
		t.Errorf("%+v, %v", r, err)
	}
	c.Close()
	d.remembersNothing(t)
}

// TestRAPYesForOne: a yes that was not for all children is for none.
func TestRAPYesForOne(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for one answer; TestRAPStory is the quick one")
	}
	t.Parallel()
	d, project := rapDaemon(t)
	c := rapConnection(t, d, project)
	for thread, scope := range map[string]string{"one": "session", "two": "session+children"} {
		var r rapAnswer
		if err := c.Call(t.Context(), rap.MethodInvoke, rapCall("1", thread, "move_bin", move), &r); err != nil {
			t.Fatal(err)
		}
		choice := map[string]any{"decisionId": r.Decision.DecisionID, "verdict": "allow", "width": "w1", "scope": scope}
		if err := c.Call(t.Context(), native.MethodChoose, choice, nil); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]rap.Outcome{
			thread:            rap.Run,
			thread + "/below": map[string]rap.Outcome{"one": rap.Ask, "two": rap.Run}[thread],
			"other/" + scope:  rap.Ask,
		} {
			if err := c.Call(t.Context(), rap.MethodInvoke, rapCall(path, strings.Replace(path, "below", "below_"+thread, 1), "move_bin", move), &r); err != nil || r.Outcome != want {
				t.Errorf("%s: %s, %v, want %s", path, r.Outcome, err, want)
			}
		}
	}
}

// TestRAPShown: what was remembered and decided can be read, and the yes ends with
// the connection.
func TestRAPShown(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs every command that shows what was remembered; TestRAPStory is the quick one")
	}
	t.Parallel()
	d, project := rapDaemon(t)
	c := rapConnection(t, d, project)
	var r rapAnswer
	if err := c.Call(t.Context(), rap.MethodInvoke, rapCall("call_1", "root/pick", "move_bin", move), &r); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), rap.MethodChoice, map[string]any{"decisionId": r.Decision.DecisionID, "selected": 0}, nil); err != nil {
		t.Fatal(err)
	}
	shows := func(contains []string, args ...string) {
		t.Helper()
		out, err := d.command(args...).CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
		for _, text := range contains {
			if !strings.Contains(string(out), text) {
				t.Errorf("%q does not show %q:\n%s", args, text, out)
			}
		}
	}
	shows([]string{"warehouse:move_bin (with these arguments)", "session+children root"}, "remember", "list")
	shows([]string{"protocol    rap", "use warehouse:move_bin", "session     pick, below root, s1"}, "log", "show", r.Decision.DecisionID)
	shows([]string{"use warehouse:move_bin"}, "explain", r.Decision.DecisionID)
	var denied rapAnswer
	if err := c.Call(t.Context(), rap.MethodInvoke, rapCall("call_2", "root", "purge_bin", `{"bin":"C-17"}`), &denied); err != nil {
		t.Fatal(err)
	}
	shows([]string{"which may destroy something", "audit until friday"}, "explain", denied.Decision.DecisionID)
	c.Close()
	again := rapConnection(t, d, project)
	d.remembersNothing(t)
	if err := again.Call(t.Context(), rap.MethodInvoke, rapCall("call_1", "root/pick", "move_bin", move), &r); err != nil || r.Outcome != rap.Ask {
		t.Errorf("%v, %+v", err, r)
	}
}
