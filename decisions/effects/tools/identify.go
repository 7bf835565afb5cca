package tools

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// identity is whose tool a call uses.
type identity struct {
	name   string
	server string
	source string
	from   string // the member that named it
	// remote is set for tools of servers: these are never the agent's own.
	remote bool
	// shape is set for the agent's own tools.
	shape *shape
	// claimed is set if the tool's name comes only from text that anybody may have written.
	claimed bool
	// mode is set if an answer would also widen the agent's rights.
	mode string
	// arguments are set if the input wraps them.
	arguments   strictjson.Value
	argumentsAt string
}

// identify finds the tool's name, from the most trustworthy source on, and looks it up. A
// name in the form of a server's tool always is one: no profile makes it the agent's
// own.
func (t *tool) identify() {
	c, p := t.Call, t.p
	if v, ok := metaAt(c.Claims.Meta, p.metaServer...); ok && len(p.metaServer) > 0 {
		t.metaServer(v)
	}
	if t.serverApproval() {
		t.id.remote = true
	}
	switch {
	case c.Tool.Server != "":
		t.id.remote, t.id.server, t.id.source = true, c.Tool.Server, foreignSource(c.Tool.Source)
		t.id.name, t.id.from, t.id.claimed = c.Tool.Name, "tool", c.Tool.Unlisted
		if server, tool, ok := serverTool(c.Tool.Name); ok && !exactNames(c.Protocol) {
			t.serverNames(server, c.Tool.Server)
			t.id.name = tool
		}
		return
	case c.Tool.Name != "" && exactNames(c.Protocol):
		// Nothing says whose tool it is. Its name must not be taken for that of a tool
		// whose server is known.
		t.id.remote, t.id.name, t.id.source, t.id.from, t.id.claimed = true, c.Tool.Name, foreignSource(c.Tool.Source), "tool", true
		return
	case c.Tool.Name != "":
		if t.id.source == "" {
			t.id.source = foreignSource(c.Tool.Source)
		}
		t.setName(c.Tool.Name, "tool")
		return
	}
	if t.wrappedTool() {
		return
	}
	if t.id.remote {
		t.id.from = "_meta"
		t.titleTool()
		return
	}
	if strings.HasPrefix(c.Claims.Title, "mcp__") || strings.HasPrefix(c.Claims.Title, "mcp.") {
		if server, name, _ := serverTool(c.Claims.Title); server != "" || name == c.Claims.Title && !strings.ContainsAny(name, " /") {
			t.setName(c.Claims.Title, "title")
			t.id.claimed = true
			return
		}
	}
	for _, how := range p.identity {
		if t.identifyBy(how); t.id.name != "" {
			return
		}
	}
	for _, ts := range p.titles {
		if rest, ok := strings.CutPrefix(c.Claims.Title, ts.prefix); ok && rest != "" && t.have == inputAbsent {
			t.id = identity{name: ts.prefix, from: "title", shape: ts.shape, claimed: true, mode: ts.mode}
			return
		}
	}
}

// identifyBy tries one of the profile's ways of naming a tool.
func (t *tool) identifyBy(how string) {
	title := t.Call.Claims.Title
	switch how {
	case "meta":
		if v, ok := metaAt(t.Call.Claims.Meta, t.p.metaName...); ok {
			if name, ok := strictjson.ParseString(v); ok && name != "" {
				from := "_meta"
				for _, m := range t.p.metaName {
					from += "." + m
				}
				t.setName(name, from)
			}
		}
	case "kind":
		// The agent's harness derives the kind from the tool's name, and gives tools of servers
		// another kind.
		if name := t.p.byKind[t.Call.Claims.Kind]; name != "" {
			if s := t.p.tools[title]; s != nil && s == t.p.tools[name] {
				name = title
			}
			t.id.name, t.id.from, t.id.shape = name, "kind", t.p.tools[name]
		}
	case "idPrefix":
		if i := strings.LastIndex(t.Call.ID, "__"); i > 0 {
			t.setName(t.Call.ID[:i], "toolCallId")
		}
	case "titlePrefix":
		if name, _, ok := strings.Cut(title, ": "); ok && t.p.tools[name] != nil {
			t.setName(name, "title")
		} else if t.p.tools[title] != nil {
			t.setName(title, "title")
		}
	case "title":
		t.titleTool()
	}
}

// titleTool takes the tool's name from the title.
func (t *tool) titleTool() {
	if title := t.Call.Claims.Title; title != "" {
		t.setName(title, "title")
		t.id.claimed = t.p.claimedName || t.id.shape == nil
	}
}

// setName sets the tool's name and what follows from it.
func (t *tool) setName(name, from string) {
	t.id.name, t.id.from = name, from
	if server, tool, ok := serverTool(name); ok {
		t.id.remote, t.id.name = true, tool
		t.serverNames(server, t.id.server)
		return
	}
	if t.id.remote {
		return
	}
	if s := t.p.tools[name]; s != nil {
		t.id.shape, t.id.source = s, ""
		return
	}
	if s := t.declaredTool(); s != nil {
		t.id.shape, t.id.source = s, ""
		return
	}
	if sep := t.p.separator; sep != "" && strings.Count(name, sep) == 1 {
		server, tool, _ := strings.Cut(name, sep)
		if server != "" && tool != "" {
			t.id.remote, t.id.server, t.id.name = true, server, tool
		}
	}
}

// serverNames compares the server in a tool's name with the one that the protocol names
// separately, which takes precedence.
func (t *tool) serverNames(inName, apart string) {
	if apart == "" {
		t.id.server = inName
		return
	}
	t.id.server = apart
	if inName != "" && plainName(inName) != plainName(apart) {
		t.defect(effects.DefectContradiction, "tool", "the tool's name names another server than the call")
	}
}

// plainName returns a server's name as agents write it in a tool's name.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

// serverTool splits the name of a server's tool: mcp__server__tool, mcp.server.tool. Forms
// in which the end of the server's name is ambiguous keep the whole name and no server
// (mcp_server_tool, or more than one double underscore: "a" with "b__c" must not be taken
// for "a__b" with "c").
func serverTool(name string) (server, tool string, remote bool) {
	if len(name) < 4 || !strings.EqualFold(name[:3], "mcp") {
		return "", "", false
	}
	switch {
	case strings.HasPrefix(name, "mcp__"):
		server, tool, ok := strings.Cut(name[5:], "__")
		if !ok || server == "" || tool == "" || strings.Contains(tool, "__") || strings.HasPrefix(tool, "_") {
			return "", name, true
		}
		return server, tool, true
	case strings.HasPrefix(name, "mcp."):
		parts := strings.Split(name, ".")
		if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
			return "", name, true
		}
		return parts[1], parts[2], true
	case strings.HasPrefix(name, "MCP:") && len(name) > 4:
		return "", name[4:], true
	case name[3] == '_' || name[3] == '.' || name[3] == ':' || name[3] == '/' || name[3] == '-':
		return "", name, true
	}
	return "", "", false
}

// exactNames reports whether a protocol's clients use the server's own names for tools:
// there mcp__shop__pay of a server shop is another tool than pay.
func exactNames(protocol string) bool { return protocol == "rap" || protocol == "otc" }

// foreignSource keeps a server's configuration from claiming to be the agent.
func foreignSource(source string) string {
	if strings.EqualFold(strings.TrimSpace(source), sourceAgent) {
		return "server " + sourceAgent
	}
	return source
}

// metaServer reads the server that the harness names outside of the input.
func (t *tool) metaServer(v strictjson.Value) {
	switch strictjson.Kind(v) {
	case '{':
	case 'n', 'f':
		return
	default:
		// It is still the tool of a server.
		t.id.remote = true
		t.id.server, _ = strictjson.ParseString(v)
		t.defect(effects.DefectDropped, "_meta", "the server beside the call is "+strictjson.KindName(strictjson.Kind(v))+", not an object")
		return
	}
	t.id.remote = true
	o, err := strictjson.ParseObject(v)
	if err != nil {
		return
	}
	if v, ok := o.Get("name"); ok {
		t.id.server, _ = strictjson.ParseString(v)
	}
	if v, ok := o.Get("source"); ok {
		s, _ := strictjson.ParseString(v)
		t.id.source = foreignSource(s)
	}
}

// wrappedTool recognises an input with the name of a server and its tool and, next to these,
// the arguments.
func (t *tool) wrappedTool() bool {
	server, twoServers := t.oneOf("server", "serverName", "server_name")
	tool, twoTools := t.oneOf("tool", "toolName", "tool_name")
	if server == "" || tool == "" && !t.namelessApproval() {
		return false
	}
	t.id.remote, t.id.server, t.id.name, t.id.from = true, server, tool, t.from+".tool"
	if twoServers || twoTools {
		t.defect(effects.DefectContradiction, t.from, "two members that mean the same say different things")
	}
	if t.input.NearMiss("server", "serverName", "server_name", "tool", "toolName", "tool_name", "arguments", "args") != "" {
		t.defect(effects.DefectNearMiss, t.from, "a member's name differs from a known one only by case or hidden characters")
	}
	for _, name := range []string{"arguments", "args", "input", "params"} {
		v, ok := t.input.Get(name)
		switch {
		case !ok:
		case t.id.arguments == nil:
			t.id.arguments, t.id.argumentsAt = v, name
		default:
			t.defect(effects.DefectContradiction, memberOf(t.from, name), "the arguments stand in two members")
		}
	}
	if s, tool, ok := serverTool(t.Call.Claims.Title); ok && (s != server || tool != t.id.name) {
		t.defect(effects.DefectContradiction, "title", "the title names another tool than the input")
	}
	// Codex identifies the call of its question only by the server.
	if asked, ok := metaAt(t.Call.Claims.Meta, "tool_params"); ok && !sameMembers(asked, t.id.arguments) {
		t.defect(effects.DefectContradiction, "_meta.tool_params", "the request is about other arguments than the call that it names")
	}
	if asked, ok := metaAt(t.Call.Claims.Meta, "approval_message"); ok && !questionNames(asked, t.id.name) {
		t.defect(effects.DefectContradiction, "_meta.approval_message", "the request does not ask for the tool of the call that it names")
	}
	return true
}

// questionNames reports whether a question ends with the name of the tool, as in
// `Allow github to run tool "merge"?`.
func questionNames(question strictjson.Value, tool string) bool {
	s, _ := strictjson.ParseString(question)
	rest, ok := strings.CutSuffix(strings.TrimRight(s, "?\"'` "), tool)
	return ok && tool != "" && (strings.HasSuffix(rest, " ") || strings.HasSuffix(rest, `"`) || strings.HasSuffix(rest, "'") || strings.HasSuffix(rest, "`"))
}

// sameMembers reports whether two objects have equal members, in any order. Numbers are
// compared as they are written; an absent object and null have no members.
func sameMembers(a, b strictjson.Value) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	for _, v := range []*strictjson.Value{&a, &b} {
		if *v == nil || strictjson.Kind(*v) == 'n' {
			*v = strictjson.Value("{}")
		}
		if v.Compact(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false)) != nil {
			return false
		}
	}
	return bytes.Equal(a, b)
}

// oneOf returns the text of the members with one of these names, and whether two of them
// differ.
func (t *tool) oneOf(names ...string) (text string, differ bool) {
	for _, name := range names {
		v, _ := t.input.Get(name)
		s, ok := strictjson.ParseString(v)
		if !ok || s == "" {
			continue
		}
		differ = differ || text != "" && text != s
		text = s
	}
	return text, differ
}

// serverApproval reports whether the request declares itself to be about a tool of a
// server.
func (t *tool) serverApproval() bool {
	v, ok := metaAt(t.Call.Claims.Meta, "is_mcp_tool_approval")
	return ok && strictjson.Kind(v) != 'f' && strictjson.Kind(v) != 'n'
}

// namelessApproval recognises the approval of a server's tool that names no tool.
func (t *tool) namelessApproval() bool {
	_, schema := t.input.Get("schema")
	_, named := t.input.Get("serverName")
	return schema && named
}

// metaAt returns a member of the call's _meta, by its path.
func metaAt(meta strictjson.Value, path ...string) (strictjson.Value, bool) {
	if len(path) == 0 {
		return nil, false
	}
	v := strictjson.Find(meta, path...)
	return v, v != nil
}
