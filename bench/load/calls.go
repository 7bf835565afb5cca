package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// call is a request.
type call struct {
	updates []map[string]any // parameters of the notifications that are sent before it
	method  string
	params  map[string]any
	own     string // the command, if no other client uses it and it may be remembered
}

// kinds are the kinds of calls, with their share of 100.
var kinds = []struct {
	weight int
	make   func(c *connection, n int) call
}{
	{26, shell},
	{10, files},
	{20, acpCall},
	{8, tools},
	{24, own},
	{4, denied},
	{5, long},
	{3, garbage},
}

// draw returns a random call of those that agents make. Most of them are new to the
// daemon.
func (c *connection) draw(n int) call {
	at := c.rand.IntN(100)
	for _, k := range kinds {
		if at -= k.weight; at < 0 {
			return k.make(c, n)
		}
	}
	return shell(c, n)
}

func (c *connection) file() string {
	return fmt.Sprintf("%s/pkg%d/file%d.go", c.load.daemon.project, c.rand.IntN(folders), c.rand.IntN(5000))
}

func (c *connection) decide(n int, tool string, input any) call {
	return call{method: "permd/decide", params: map[string]any{
		"sessionId": c.session,
		"calls":     []any{map[string]any{"callId": fmt.Sprintf("call-%d", n), "tool": map[string]string{"name": tool}, "input": input}},
	}}
}

func (c *connection) bash(n int, command string) call {
	return c.decide(n, "Bash", map[string]any{"command": command, "description": fmt.Sprintf("step %d", n)})
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// shell returns a command of those that agents run most: reading files and testing.
func shell(c *connection, n int) call {
	r := c.rand
	return c.bash(n, pick(r,
		"git status --short", fmt.Sprintf("git log --oneline -n %d", 1+r.IntN(500)), fmt.Sprintf("git show HEAD~%d", r.IntN(1000)),
		fmt.Sprintf("rg -n 'word%d' pkg%d", r.IntN(100_000), r.IntN(folders)), fmt.Sprintf("ls -la pkg%d", r.IntN(folders)),
		fmt.Sprintf("go test ./pkg%d/... -run Test%d", r.IntN(folders), r.IntN(10_000)),
		fmt.Sprintf("sed -n '%d,%dp' pkg%d/file.go", r.IntN(500), 500+r.IntN(500), r.IntN(folders)),
		fmt.Sprintf("cat pkg%d/file.go | head -n %d | sort | uniq -c", r.IntN(folders), r.IntN(200)),
		fmt.Sprintf("find . -name '*%d.go' -type f | wc -l", r.IntN(10_000)),
		fmt.Sprintf("curl -s https://api%d.example.com/v1/%d", r.IntN(1000), n), "npm test",
		fmt.Sprintf("go get example.com/mod%d@v1.%d.0", r.IntN(1000), r.IntN(100)),
		fmt.Sprintf("python3 -c 'print(%d)'", n), fmt.Sprintf("docker run --rm img%d make", r.IntN(1000)),
	))
}

func files(c *connection, n int) call {
	path := c.file()
	switch c.rand.IntN(3) {
	case 0:
		return c.decide(n, "Read", map[string]any{"file_path": path, "offset": c.rand.IntN(1000)})
	case 1:
		return c.decide(n, "Grep", map[string]any{"pattern": fmt.Sprintf("x%d", c.rand.IntN(1_000_000)), "path": c.load.daemon.project})
	}
	return c.decide(n, "Edit", map[string]any{"file_path": path, "old_string": "a", "new_string": fmt.Sprintf("b%d", n)})
}

// acpCall returns a permission request with the updates that come before it.
func acpCall(c *connection, n int) call {
	r := c.rand
	switch r.IntN(4) {
	case 0:
		return c.acp(n, c.ownCommand(n))
	case 1:
		return c.acp(n, fmt.Sprintf("npm run task%d", r.IntN(10_000)))
	}
	return c.acp(n, fmt.Sprintf("git diff --stat HEAD~%d", r.IntN(10_000)))
}

func (c *connection) acp(n int, command string) call {
	toolCall := map[string]any{
		"toolCallId": fmt.Sprintf("toolu_%d_%d", c.number, n), "kind": "execute", "title": command, "status": "pending",
		"rawInput": map[string]string{"command": command},
		"_meta":    map[string]any{"claudeCode": map[string]string{"toolName": "Bash"}},
	}
	announced := map[string]any{"sessionUpdate": "tool_call"}
	for k, v := range toolCall {
		announced[k] = v
	}
	asked := call{method: "session/request_permission", params: map[string]any{
		"sessionId": c.session, "toolCall": toolCall,
		"options": []map[string]string{
			{"optionId": "always", "name": "Always allow", "kind": "allow_always"},
			{"optionId": "once", "name": "Allow", "kind": "allow_once"},
			{"optionId": "no", "name": "Reject", "kind": "reject_once"},
		},
	}}
	for _, update := range []map[string]any{
		{"sessionUpdate": "agent_message_chunk", "content": map[string]string{"type": "text", "text": "I will look at that now."}},
		announced,
	} {
		asked.updates = append(asked.updates, map[string]any{"sessionId": c.session, "update": update})
	}
	if isOwn(command) {
		asked.own = command
	}
	return asked
}

func tools(c *connection, n int) call {
	tool := pick(c.rand, "mcp__github__get_issue", "mcp__github__list_commits", "mcp__browser__click", "WebFetch")
	if tool == "WebFetch" {
		return c.decide(n, tool, map[string]any{"url": fmt.Sprintf("https://docs%d.example.com/page/%d", c.rand.IntN(2000), n), "prompt": "summarise"})
	}
	return c.decide(n, tool, map[string]any{"owner": "o", "number": n, "list": []int{1, 2, n}})
}

// own returns a call of a program that no shipped rule knows: the person's rules differ
// about it from edition to edition, and choices are about it.
func own(c *connection, n int) call {
	command := c.ownCommand(n)
	asked := c.bash(n, command)
	asked.own = command
	return asked
}

// ownCommand returns a command that no other client uses; often one of those that the
// client has had remembered.
func (c *connection) ownCommand(n int) string {
	if len(c.choices) > 0 && c.rand.IntN(3) > 0 {
		return c.choices[c.rand.IntN(len(c.choices))].command
	}
	return fmt.Sprintf("edtool %d %s%dn%d", c.rand.IntN(editions), ownWord, c.number, n)
}

// ownWord begins the word of a command that makes it a client's own.
const ownWord = "client"

func isOwn(command string) bool { return strings.HasPrefix(command, "edtool ") }

func denied(c *connection, n int) call {
	return c.bash(n, pick(c.rand, "rm -rf /", "git push --force origin main", fmt.Sprintf("ls pkg%d; rm -rf ~", n)))
}

// long returns a call with much text.
func long(c *connection, n int) call {
	text := strings.Repeat(fmt.Sprintf("line %d of a file that is written\n", n), 50+c.rand.IntN(1500))
	return c.decide(n, "Write", map[string]any{"file_path": c.file(), "content": text})
}

// garbage returns a call that permd does not understand and asks about.
func garbage(c *connection, n int) call {
	r := c.rand
	return c.bash(n, pick(r,
		strings.Repeat("(", 300), "echo $("+strings.Repeat("a;", 500)+")", "git status\x00", fmt.Sprintf("ls pkg%d ) (", r.IntN(folders)),
		strings.Repeat("cat a | ", 200)+"cat", "'unclosed",
	))
}

// declaration returns the parameters of permd/session.
func declaration(session, project string) map[string]any {
	return map[string]any{
		"sessionId": session, "cwd": project,
		"agent": map[string]string{"name": "claude-agent-acp", "version": "0.100.0"}, "client": map[string]string{"name": "load", "version": "1"},
	}
}

// message returns a line of JSON-RPC; with id 0 it is a notification.
func message(id int, method string, params any) string {
	m := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id > 0 {
		m["id"] = id
	}
	line, err := json.Marshal(m)
	if err != nil {
		panic(err) // it encodes a literal above, which cannot fail
	}
	return string(line) + "\n"
}
