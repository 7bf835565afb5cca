package tools

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// Tool servers match names exactly: one that looks like a name of MCP is another
// tool there, and allowing the tool of that part of the name does not allow it.
func TestExactNames(t *testing.T) {
	call := func(protocol, name string) *effects.Call {
		c := agentCall("", name, `{"a":1}`)
		c.Protocol, c.Tool.Server, c.InputFrom = protocol, "shop", "input"
		return c
	}
	runToolCases(t, []toolCase{
		{name: "rap", call: call("rap", "mcp__shop__pay"), want: []string{"use shop:mcp__shop__pay @tool"}},
		{name: "rap, another server", call: call("rap", "mcp__bank__pay"), want: []string{"use shop:mcp__bank__pay @tool"}},
		{name: "rap, with dots", call: call("rap", "mcp.shop.pay"), want: []string{"use shop:mcp.shop.pay @tool"}},
		{name: "otc", call: call("otc", "mcp__shop__pay"), want: []string{"use shop:mcp__shop__pay @tool"}},
		{name: "an agent's own way", call: call("permd", "mcp__shop__pay"), want: []string{"use shop:pay @tool"}},
	})
}

// Cursor names the tools of all servers MCP:NAME, so that none of them is taken for one
// of its own tools.
func TestNamesOfCursor(t *testing.T) {
	runToolCases(t, []toolCase{
		{name: "a tool", call: agentCall("cursor", "MCP:close_issue", `{"a":1}`), want: []string{"use :close_issue @tool"}},
		{name: "the name of its own tool", call: agentCall("cursor", "MCP:Shell", `{"a":1}`), want: []string{"use :Shell @tool"}},
		{name: "a name with a server's", call: agentCall("cursor", "MCP:github-close_issue", `{"a":1}`), want: []string{"use :github-close_issue @tool"}},
	})
}
