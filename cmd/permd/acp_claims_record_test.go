package main

import (
	"slices"
	"strings"
	"testing"
)

// TestACPClaimsRecord: the decision log has the status, the kinds of the options and the names in
// _meta of a request, and no value of _meta.
func TestACPClaimsRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for the log alone; TestStandardNames is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.start(t)
	w := d.wire(t)
	w.ask(t, request("permd/session", map[string]any{"sessionId": "s1", "cwd": d.project(t, nil), "agent": map[string]string{"name": "claude-agent-acp", "version": "0.100.0"}}))
	const secret = "a-value-of-meta"
	got := w.ask(t, request("session/request_permission", map[string]any{"sessionId": "s1", "options": acpOptions, "toolCall": map[string]any{
		"toolCallId": "c", "title": "ls", "kind": "execute", "status": "in_progress", "rawInput": map[string]any{"command": "ls"},
		"_meta": map[string]any{"claudeCode": map[string]any{"toolName": "Bash"}, "trace": secret, "none": nil},
	}}))
	records := d.records(t)
	if len(records) != 1 {
		t.Fatalf("%d records", len(records))
	}
	r := records[0]
	var kinds []string
	for _, o := range acpOptions {
		if kind := o["kind"]; !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	want(t, "status", "in_progress", r.ClaimedStatus)
	want(t, "kinds of options", kinds, r.ClaimedOptions)
	want(t, "names", []string{"claudeCode.toolName", "claudeCode", "trace"}, r.ClaimedMeta)
	shown := strings.Join(strings.Fields(d.permd(t, "log", "show", got.ID)), " ")
	wantHas(t, "permd log show", shown, "claimed status in_progress", "claimed options "+strings.Join(kinds, ", "), "claimed _meta claudeCode.toolName, claudeCode, trace")
	wantHas(t, "permd log list --json", d.permd(t, "log", "list", "--json"), `"claimedMeta":["claudeCode.toolName","claudeCode","trace"]`)
	d.wantNowhere(t, secret)
}
