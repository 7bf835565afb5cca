package tools

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
)

// Members that name the tool behind a gateway. The words of the second list are common in
// other tools, so these count only if the tool's name is a gateway's.
var (
	innerNames      = []string{"tool", "tool_name", "toolName", "tool_slug", "toolSlug", "function_name", "functionName", "action_name", "actionName"}
	innerNamesLoose = []string{"name", "function", "action", "slug", "tool_id", "toolId", "id", "operation"}
	innerServers    = []string{"server", "server_name", "serverName", "mcp_server", "mcpServer", "server_id", "serverId"}
	innerArguments  = []string{"arguments", "args", "params", "parameters", "input", "tool_input", "toolInput", "tool_args", "toolArgs", "tool_arguments", "payload"}
	innerLists      = []string{"tools", "calls", "tool_calls", "toolCalls", "actions", "requests", "steps", "operations"}
)

// The words in a gateway's name: invoke_tool, callTool, TOOL_EXECUTE.
var (
	gatewayVerbs = []string{"invoke", "call", "execute", "exec", "run", "use", "dispatch", "perform", "proxy", "forward"}
	gatewayNouns = []string{"tool", "tools"}
)

// gatewayName reports whether a tool's name implies that it calls another tool.
func gatewayName(name string) bool {
	verb, noun := false, false
	for w := range words(splitCapitals(name)) {
		verb = verb || slices.Contains(gatewayVerbs, w)
		noun = noun || slices.Contains(gatewayNouns, w)
	}
	return verb && noun
}

// splitCapitals converts a name in capitals so that words can split it.
func splitCapitals(name string) string {
	if strings.ToUpper(name) == name {
		return strings.ToLower(name)
	}
	return name
}

// gateway adds the uses of the tools behind a tool that calls others. The gateway's own use
// does not include them: an allow of the gateway allows none of them.
func (t *tool) gateway(outer string, o strictjson.Object, from string, depth int) {
	named := gatewayName(outer)
	found := t.innerTool(outer, o, from, named, depth)
	if named {
		for _, list := range innerLists {
			v, ok := o.Get(list)
			if !ok || strictjson.Kind(v) != '[' {
				continue
			}
			items, _ := strictjson.ParseArray(v)
			for i, item := range items {
				at := itemOf(memberOf(from, list), i)
				if t.tooMany(&t.paths, maxToolPaths) {
					return
				}
				inner, err := strictjson.ParseObject(item)
				if strictjson.Kind(item) != '{' || err != nil || !t.innerTool(outer, inner, at, true, depth) {
					t.Unknown(at, whyInnerTool)
				}
				found = true
			}
		}
	}
	if named && !found {
		t.Unknown(from, whyInnerTool)
	}
}

const whyInnerTool = "a tool that calls others does not name the one that it calls"

// innerTool adds the use of the tool that an object names, and reports whether it names
// one.
func (t *tool) innerTool(outer string, o strictjson.Object, from string, named bool, depth int) bool {
	name, at, differ := firstOf(o, innerNames)
	args, argsAt := argumentsIn(o)
	if name == "" && named {
		name, at, differ = firstOf(o, innerNamesLoose)
	}
	if name == "" || !named && strictjson.Kind(args) != '{' {
		return false
	}
	server, _, differ2 := firstOf(o, innerServers)
	if inServer, tool, ok := serverTool(name); ok {
		name = tool
		if server == "" {
			server = inServer
		}
	}
	if server == "" {
		server = effects.UnknownServer
	}
	if differ || differ2 {
		t.defect(effects.DefectContradiction, from, "two members that mean the same say different things")
	}
	at = memberOf(from, at)
	t.checkHidden(name, at)
	t.checkHidden(server, at)
	t.Add(effects.Effect{
		Kind: effects.KindUse, From: at, Text: display.Display("use " + server + ":" + name + " through " + outer), Claimed: t.id.claimed,
		Use: &effects.Use{Server: server, Tool: name, Arguments: args},
	})
	t.addAgentStart(name, args, memberOf(from, argsAt))
	switch inner, err := strictjson.ParseObject(args); {
	case depth >= foreignDepth:
		t.Unknown(from, "tools that call tools are nested too deeply")
	case strictjson.Kind(args) == '{' && err == nil:
		t.gateway(name, inner, memberOf(from, argsAt), depth+1)
	case gatewayName(name):
		t.Unknown(from, whyInnerTool)
	}
	return true
}

// firstOf returns the text of the first of these members that has one, and whether another
// one differs.
func firstOf(o strictjson.Object, names []string) (text, member string, differ bool) {
	for _, name := range names {
		v, _ := o.Get(name)
		s, ok := strictjson.ParseString(v)
		switch {
		case !ok || s == "":
		case text == "":
			text, member = s, name
		default:
			differ = differ || s != text
		}
	}
	return text, member, differ
}

// argumentsIn returns the arguments of the inner tool. Text is parsed if it is JSON.
func argumentsIn(o strictjson.Object) (strictjson.Value, string) {
	for _, name := range innerArguments {
		v, ok := o.Get(name)
		if !ok {
			continue
		}
		if text, isText := strictjson.ParseString(v); isText && strictjson.Check([]byte(text)) == nil {
			v = strictjson.Value(text)
		}
		return v, name
	}
	return nil, ""
}
