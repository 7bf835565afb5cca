package acp

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
)

// TestAnotherTool announces a call and then says that it is of another tool: the person may
// have seen the one, and the other would run. Titles and inputs may change.
func TestAnotherTool(t *testing.T) {
	const claude = `"_meta":{"claudeCode":{"toolName":"mcp__github__merge","mcpServer":{"name":"github"}}}`
	for _, tt := range []struct {
		name        string
		first, then string // members of the announcement and of a later message
		at          string // the defect, "" for none
	}{
		{"another name", `"name":"mcp__github__merge"`, `"name":"Read"`, "name"},
		{"another kind", `"kind":"edit"`, `"kind":"read"`, "kind"},
		{"a weaker name and kind", `"name":"Write","kind":"edit"`, `"name":"Read","kind":"read"`, "name"},
		{"a name after one in _meta", claude, `"name":"Read"`, "name"},
		{"another server in _meta", claude, `"_meta":{"claudeCode":{"toolName":"mcp__github__merge","mcpServer":{"name":"gitlab"}}}`, "_meta"},
		{"a name after a title that is one", `"title":"mcp__github__merge"`, `"name":"Read"`, "name"},
		{"execute to read", `"kind":"execute"`, `"kind":"read"`, "kind"},
		{"the same name", `"name":"Read"`, `"name":"Read"`, ""},
		{"a name that comes later", `"title":"x"`, `"name":"Read"`, ""},
		{"a kind that comes later", `"kind":"other"`, `"kind":"edit"`, ""},
		{"a kind of the same class", `"kind":"read"`, `"kind":"search"`, ""},
		{"another title and input", `"title":"ls","kind":"execute","rawInput":{"command":"ls"}`, `"title":"pwd","rawInput":{"command":"pwd"}`, ""},
	} {
		if !strings.Contains(tt.first, "rawInput") {
			tt.first += `,"rawInput":{"file_path":"/a"}`
		}
		for _, request := range []bool{true, false} {
			d, c := newDaemon(decisions.Allow), conn(1)
			_, _ = d.call(t, c, MethodUpdate, sessionUpdate(`{"sessionUpdate":"tool_call","toolCallId":"c",`+tt.first+`}`))
			call := `{"toolCallId":"c",` + tt.then + `}`
			if !request {
				_, _ = d.call(t, c, MethodUpdate, sessionUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"c",`+tt.then+`}`))
				call = bare
			}
			_, err := d.call(t, c, MethodRequestPermission, permission(call))
			got := d.last(t).Call.Defects
			found := slices.ContainsFunc(got, func(d effects.Defect) bool { return d.Code == effects.DefectContradiction && d.At == tt.at })
			if found != (tt.at != "") || (code(err) == socket.CodeAsk) != found {
				t.Errorf("%s, by a request %v: defects %+v, error %v", tt.name, request, got, err)
			}
		}
	}
}

// TestAnotherToolInSteps takes the name back before it gives another one.
func TestAnotherToolInSteps(t *testing.T) {
	d, c := newDaemon(decisions.Allow), conn(1)
	for _, u := range []string{
		`{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"edit","rawInput":{"file_path":"/a"}}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c","kind":"other"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c","kind":"read"}`,
	} {
		d.must(t, c, MethodUpdate, sessionUpdate(u))
	}
	if _, err := d.call(t, c, MethodRequestPermission, permission(bare)); code(err) != socket.CodeAsk {
		t.Errorf("error %v, defects %+v", err, d.last(t).Call.Defects)
	}
}
