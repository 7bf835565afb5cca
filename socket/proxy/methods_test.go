package proxy

import (
	"strings"
	"testing"
)

// TestMisnamed begins with messages that a lenient client would run although the
// method's name is misspelt: none reaches the client, with an id or without one.
func TestMisnamed(t *testing.T) {
	for _, method := range []string{
		"Terminal/Create", "terminal/create ", " terminal/create", "terminal/create\\u0000", "terminal/create\\n", "terminal//create", "/terminal/create",
		"terminal.create", "terminal_create", "terminalCreate", "terminal\\u2215create", "terminal/c\\u0440eate", "terminal%2fcreate", "terminal\\\\create",
		"_terminal/create", "acp/terminal/create", "_x/terminal/create", "terminal/create?x", "TERMINAL/CREATE",
		"fs/writeTextFile", "fs/write-text-file", "fs/Write_text_file", "FS/read_text_file",
		"session/Request_Permission", "session/requestPermission", "session/request_permission/", "Session/update", "session/update ", "elicitation/Create",
		"fs/delete_file", "terminal/spawn", "terminal/write", "fs", "terminal", "_fs/write", "fs:write",
		"x\\ty", "session/\\u200bupdate",
	} {
		for _, id := range []string{`"id":3,`, ""} {
			k := newTalk(t, Rules{})
			k.begin("x")
			k.agent(`{"jsonrpc":"2.0",` + id + `"method":"` + method + `","params":{"sessionId":"s1","command":"x","path":"/p/a","content":"x"}}`)
			k.want(clientSide)
			if got := k.sent(agentSide); len(k.says) != 1 || len(k.open) != 0 || id != "" && (len(got) != 1 || !strings.Contains(got[0], `"id":3,"error":{"code":-32601`)) || id == "" && len(got) != 0 {
				t.Errorf("%q with %q: the agent got %q, the person %q", method, id, got, k.says)
			}
			if id == "" {
				continue
			}
			k.agent(`{"jsonrpc":"2.0",` + id + `"method":"_x"}`) // the id is free
			if got := k.sent(clientSide); len(got) != 1 {
				t.Errorf("%q: the client was then sent %q", method, got)
			}
		}
	}
}

// TestAgentAsProxy begins with a terminal in an envelope: a client that is a
// conductor would unwrap and open it.
func TestAgentAsProxy(t *testing.T) {
	const gate = `{"method":"terminal/create","params":{"sessionId":"s1","command":"x"}}`
	envelope := `{"method":"_proxy/successor","params":` + gate + `}`
	for _, method := range []string{
		"_proxy/successor", "proxy/successor", "_Proxy/Successor", "proxy/successor ", "__proxy/successor", "_proxy.successor", "proxy/initialize", "_proxy/initialize", "proxy/new", "_proxy",
	} {
		for _, params := range []string{gate, envelope, `{}`} {
			for _, id := range []string{`"id":3,`, ""} {
				k := newTalk(t, Rules{})
				k.begin("x")
				k.agent(`{"jsonrpc":"2.0",` + id + `"method":"` + method + `","params":` + params + `}`)
				k.want(clientSide)
				if got := k.sent(agentSide); (len(got) == 1) != (id != "") || len(k.says) != 1 || len(k.open) != 0 {
					t.Errorf("%q with %q: the agent got %q, the person %q", method, id, got, k.says)
				}
			}
		}
	}
}

// TestOtherMethods: extensions and all other methods of the protocol are passed on
// unchanged.
func TestOtherMethods(t *testing.T) {
	for _, method := range []string{
		"terminal/output", "terminal/release", "terminal/wait_for_exit", "terminal/kill", "mcp/message", "elicitation/complete", "auth/status_update", "session/delete",
		"_zed.dev/workspace/getState", "_kiro.dev/commands/available", "_x/session/update_title", "cursor/ask_question", "_claude/sdkMessage", "_x", "x", "workspace/applyEdit", "$/progress",
		"_proxyman/state", "_fsync/state", "terminals/list",
	} {
		for _, id := range []string{`"id":3,`, ""} {
			k := newTalk(t, Rules{})
			k.begin("x")
			line := `{"jsonrpc":"2.0",` + id + `"method":"` + method + `","params":{"sessionId":"s1"}}`
			k.agent(line)
			k.want(clientSide, line)
			if len(k.says) != 0 {
				t.Errorf("%q: said %q", method, k.says)
			}
		}
	}
}
