package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
)

// observer is a connection that asked for notifications of changes.
type observer struct {
	net.Conn
	in *bufio.Reader
}

func (d *testDaemon) observes(t *testing.T, project string, changes bool) *observer {
	t.Helper()
	c, err := net.Dial("unix", d.socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	w := &observer{c, bufio.NewReader(c)}
	fmt.Fprintf(c, `{"jsonrpc":"2.0","id":1,"method":"permd/session","params":{"sessionId":"s","cwd":%q,"changes":%t}}`+"\n", project, changes)
	for {
		line, err := w.in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, `"id":1`) {
			if !strings.Contains(line, `"changes"`) {
				t.Fatalf("the feature is missing: %s", line)
			}
			return w
		}
	}
}

// sees wants that the next notifications name a change.
func (w *observer) sees(t *testing.T, what string) {
	t.Helper()
	if err := w.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := w.in.ReadString('\n')
		if err != nil {
			t.Fatalf("no notification of %s: %v", what, err)
		}
		var n struct {
			Method string `json:"method"`
			Params struct {
				Changed []string `json:"changed"`
			} `json:"params"`
		}
		if err := json.Unmarshal([]byte(line), &n); err != nil || n.Method != "permd/changed" || len(n.Params.Changed) == 0 || !slices.IsSorted(n.Params.Changed) {
			t.Fatalf("%v: %s", err, line)
		}
		if slices.Contains(n.Params.Changed, what) {
			return
		}
	}
}

// seesNothing wants that nothing is sent. What was to be sent is there at once: the answer to a
// request comes after it.
func (w *observer) seesNothing(t *testing.T) {
	t.Helper()
	if err := w.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(w, `{"jsonrpc":"2.0","id":2,"method":"permd/close","params":{"sessionId":"none"}}`)
	if line, err := w.in.ReadString('\n'); err != nil || !strings.Contains(line, `"id":2`) {
		t.Fatalf("%v: %s", err, line)
	}
}

// TestChanged: clients that asked for it are notified of what has changed, others are not.
func TestChanged(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	w, other := d.observes(t, project, true), d.observes(t, project, false)
	id := strings.Fields(d.permd(t, "remember", "add", "write", "./docs/**", "--dir", project))[0]
	w.sees(t, "choices")
	d.permd(t, "remember", "change", id, "--for", "1h")
	w.sees(t, "choices")
	d.permd(t, "remember", "undo")
	w.sees(t, "choices")
	d.permd(t, "remember", "forget", "--all")
	w.sees(t, "choices")
	d.permd(t, "lock")
	w.sees(t, "pause")
	d.policy(t, "more.rego", `deny contains "no" if input.effect.tool == "none"`)
	d.reload(t)
	w.sees(t, "rules")
	other.seesNothing(t)
}

// changesUnread: a client that asks for changes and never reads holds up nobody.
func changesUnread(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	for range 5 {
		d.observes(t, project, true)
	}
	manage := d.dialAdmin(t)
	var slowest time.Duration
	for range 400 {
		start := time.Now()
		var got admin.Choices
		if err := manage.Call(t.Context(), admin.MethodChoicesAdd, admin.NewChoice{Verdict: decisions.Deny, Kind: "run", Line: "frob", Scope: "user"}, &got); err != nil {
			t.Fatal(err)
		}
		if err := manage.Call(t.Context(), admin.MethodChoicesForget, map[string]any{"choiceIds": []string{got.Choices[0].ID}}, nil); err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, time.Since(start))
	}
	if slowest > 5*time.Second {
		t.Errorf("the slowest change took %s", slowest)
	}
	w := d.observes(t, project, true)
	d.permd(t, "remember", "add", "write", "./docs/**", "--dir", project)
	w.sees(t, "choices")
}
