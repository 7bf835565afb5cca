package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/rap"
)

// literal is an invocation as the protocol sends it, without a toolset.
func literal(id, operation, more string) raw {
	return raw(`{"operation":"` + operation + `","arguments":{"bin":"A-1"},"id":"` + id + `","group_id":"root"` + more + `}`)
}

func invokeRAP(t *testing.T, c *client.Client, params any) rapAnswer {
	t.Helper()
	var r rapAnswer
	if err := c.Call(t.Context(), rap.MethodInvoke, params, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// pick answers a question with the label that begins so.
func (r *rapAnswer) pick(t *testing.T, c *client.Client, label string) (said rapAnswer) {
	t.Helper()
	i := slices.IndexFunc(r.Choice.Choices, func(s string) bool { return strings.HasPrefix(s, label) })
	if i < 0 {
		t.Fatalf("no label begins with %q: %q", label, r.Choice.Choices)
	}
	if err := c.Call(t.Context(), rap.MethodChoice, map[string]any{"decisionId": r.Decision.DecisionID, "selected": i}, &said); err != nil {
		t.Fatal(err)
	}
	return said
}

// TestRAPLiteral: without a toolset the rules and the answers of a person decide, and
// neither holds for the operation of a toolset.
func TestRAPLiteral(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts daemon and gateway once more; TestRAPGateway is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rap.rego"), `package permd.user
import rego.v2
allow contains "counting is free" if {
	input.effect.tool == "count_bins"
	input.effect.server == ""
	input.effect.claimed
}
deny contains "never" if input.effect.tool == "burn_bin"
deny contains "not to there" if input.effect.host == "evil.example"
allow contains "this runtime" if {
	input.effect.from == "callback_url"
	input.effect.host == "127.0.0.1"
}
`)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), `deny:
  use:
    - "warehouse:count_bins_twice"
`)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "any.rego"), `package permd.user
import rego.v2
allow contains "all counting" if startswith(lower(input.effect.tool), "count_bins_")
`)
	d.start(t)
	c := d.dial(t)
	want(t, "a list denies that of a server", rap.Denied, invokeRAP(t, c, literal("list 1", "count_bins_twice", "")).Outcome)
	want(t, "in any case", rap.Denied, invokeRAP(t, c, literal("list 2", "Count_Bins_Twice", `,"toolset":{"name":"Warehouse"}`)).Outcome)
	want(t, "and no other", rap.Run, invokeRAP(t, c, literal("list 3", "count_bins_once", "")).Outcome)
	want(t, "a rule allows", rap.Run, invokeRAP(t, c, literal("1", "count_bins", "")).Outcome)
	want(t, "a rule denies", rap.Denied, invokeRAP(t, c, literal("2", "burn_bin", "")).Outcome)
	want(t, "the same of a toolset", rap.Ask, invokeRAP(t, c, literal("3", "count_bins", `,"toolset":{"name":"w"}`)).Outcome)
	n := 0
	for address, outcome := range map[string]rap.Outcome{
		"https://agents.example.org/cb?t=s3cr3t": rap.Run,
		"https://evil.example/cb?t=s3cr3t":       rap.Denied,
		"http://127.0.0.1:7410/cb?t=s3cr3t":      rap.Run,
		"http://[::1]:7410/cb?t=s3cr3t":          rap.Ask,
		"http://169.254.169.254/cb?t=s3cr3t":     rap.Ask,
		"http://2852039166/cb?t=s3cr3t":          rap.Ask,
		"http://[fe80::1]/cb?t=s3cr3t":           rap.Ask,
	} {
		n++
		r := invokeRAP(t, c, literal(fmt.Sprint("callback ", n), "count_bins", `,"callback_url":"`+address+`"`))
		want(t, address, outcome, r.Outcome)
	}
	r := invokeRAP(t, c, literal("4", "move_bin", ""))
	want(t, "nobody has said", rap.Ask, r.Outcome)
	want(t, "yes", rap.Run, r.pick(t, c, "Yes (root").Outcome)
	want(t, "remembered", rap.Run, invokeRAP(t, c, literal("5", "move_bin", "")).Outcome)
	want(t, "not for a toolset", rap.Ask, invokeRAP(t, c, literal("6", "move_bin", `,"toolset":{"name":"w"}`)).Outcome)
	of := invokeRAP(t, c, literal("7", "sort_bins", `,"toolset":{"name":"w"}`))
	want(t, "yes for a toolset", rap.Run, of.pick(t, c, "Yes (root").Outcome)
	want(t, "not without it", rap.Ask, invokeRAP(t, c, literal("8", "sort_bins", "")).Outcome)
	d.wantNowhere(t, "s3cr3t")
}

// TestRAPLasting: a yes always and a never hold on other connections, and others do not.
func TestRAPLasting(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for lasting answers alone; TestRAPStory is the quick one")
	}
	t.Parallel()
	d, project := rapDaemon(t)
	c := rapConnection(t, d, project)
	for i, tt := range []struct {
		operation, label string
		then             rap.Outcome
	}{{"move_bin", "Yes always", rap.Run}, {"purge_bin", "Never", rap.Denied}, {"sell_bin", "Yes (root", rap.Ask}} {
		params := rapCall(tt.operation, "root", tt.operation, move)
		params["toolset"] = map[string]any{"name": "warehouse"}
		r := invokeRAP(t, c, params)
		said := r.pick(t, c, tt.label)
		if len(said.Stored) != 1 {
			t.Errorf("%s: stored %+v", tt.label, said.Stored)
		}
		other := rapConnection(t, d, project)
		params["id"], params["group_id"] = "later", []string{"x", "y", "z"}[i]
		want(t, tt.label+", elsewhere", tt.then, invokeRAP(t, other, params).Outcome)
		elsewhere := filepath.Join(d.home, "elsewhere")
		writeFile(t, filepath.Join(elsewhere, ".git", "HEAD"), "ref: refs/heads/main\n")
		if err := other.Call(t.Context(), native.MethodSession, map[string]any{"sessionId": "s2", "cwd": elsewhere}, nil); err != nil {
			t.Fatal(err)
		}
		params["sessionId"], params["id"] = "s2", "other project"
		want(t, tt.label+", in another project", rap.Ask, invokeRAP(t, other, params).Outcome)
	}
}

// TestRAPOften: a rule can bound how often a user's calls run, over connections and
// restarts of the daemon; what it denies counts as well.
func TestRAPOften(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon twice; TestRAPStory is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rap.rego"), `package permd.user
import rego.v2
allow contains "three a minute" if {
	input.effect.tool == "list_bins"
	input.recent.calls <= 3
}
deny contains {"reason": "too often", "message": "too often"} if input.recent.calls > 5
`)
	d.start(t)
	outcomes := func(user string, n int) (list []rap.Outcome) {
		c := d.dial(t)
		for i := range n {
			list = append(list, invokeRAP(t, c, literal(fmt.Sprint(i), "list_bins", `,"user_id":"`+user+`"`)).Outcome)
		}
		return list
	}
	want(t, "the first", []rap.Outcome{rap.Run, rap.Run, rap.Run, rap.Ask, rap.Ask, rap.Denied}, outcomes("ana", 6))
	want(t, "another user", []rap.Outcome{rap.Run, rap.Run, rap.Run, rap.Ask}, outcomes("ben", 4))
	want(t, "the first, on another connection", []rap.Outcome{rap.Denied}, outcomes("ana", 1))
	d.kill()
	d.start(t)
	want(t, "after a restart", []rap.Outcome{rap.Denied, rap.Denied}, append(outcomes("ana", 1), outcomes("cleo", 1)...))
}

// TestRAPEnded: the decision log says how calls ended, also after a restart.
func TestRAPEnded(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon twice for how calls ended; TestRAPStory is the quick one")
	}
	t.Parallel()
	d, project := rapDaemon(t)
	c := rapConnection(t, d, project)
	ids := map[rap.Ended]string{}
	for _, ended := range []rap.Ended{rap.Ran, rap.Failed, rap.Cancelled} {
		r := invokeRAP(t, c, rapCall(string(ended), "root", "list_bins", `{}`))
		ids[ended] = r.Decision.DecisionID
		var said struct {
			Recorded bool `json:"recorded"`
		}
		report := map[string]any{"thread_id": "root", "tool_call_id": string(ended), "outcome": ended}
		if err := c.Call(t.Context(), rap.MethodEnded, report, &said); err != nil || !said.Recorded {
			t.Errorf("%s: %+v, %v", ended, said, err)
		}
	}
	shown := func(when string) {
		t.Helper()
		for ended, id := range ids {
			out, err := d.command("log", "show", id).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "ended     "+string(ended)+", as was reported at ") {
				t.Errorf("%s, %s: %v\n%s", when, ended, err, out)
			}
		}
	}
	shown("at once")
	d.kill()
	d.start(t)
	shown("after a restart")
}
