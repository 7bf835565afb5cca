package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// call is a request with the verdict that it must get.
type call struct {
	updates []string // notifications that are sent before it
	method  string
	params  any
	want    string // the wanted verdict, "" for any
}

// kinds are the kinds of calls, with their share of 100.
var kinds = []struct {
	weight int
	make   func(w *worker, n int) call
}{
	{34, shell},
	{12, files},
	{22, acp},
	{8, tools},
	{14, questions},
	{3, denied},
	{5, long},
	{2, garbage},
}

// draw returns a random call of those that agents make. Two are hardly ever the
// same.
func (w *worker) draw(n int) call {
	at := w.rand.IntN(100)
	for _, k := range kinds {
		if at -= k.weight; at < 0 {
			return k.make(w, n)
		}
	}
	return shell(w, n)
}

func (w *worker) file() string {
	return fmt.Sprintf("%s/pkg%d/file%d.go", w.load.daemon.project, w.rand.IntN(50), w.rand.IntN(5000))
}

func (w *worker) decide(n int, tool string, input any, want string) call {
	return call{method: "permd/decide", want: want, params: map[string]any{
		"sessionId": w.session,
		"calls":     []any{map[string]any{"callId": fmt.Sprintf("call-%d", n), "tool": map[string]string{"name": tool}, "input": input}},
	}}
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// shell returns a command of those that agents run most: reading files and testing.
func shell(w *worker, n int) call {
	r := w.rand
	command := pick(r,
		"git status --short", fmt.Sprintf("git log --oneline -n %d", 1+r.IntN(500)), fmt.Sprintf("git show HEAD~%d", r.IntN(1000)),
		fmt.Sprintf("rg -n 'word%d' pkg%d", r.IntN(100_000), r.IntN(50)), "ls -la "+fmt.Sprintf("pkg%d", r.IntN(50)),
		fmt.Sprintf("go test ./pkg%d/... -run Test%d", r.IntN(50), r.IntN(10_000)),
		fmt.Sprintf("sed -n '%d,%dp' pkg%d/file.go", r.IntN(500), 500+r.IntN(500), r.IntN(50)),
		fmt.Sprintf("cat pkg%d/file.go | head -n %d | sort | uniq -c", r.IntN(50), r.IntN(200)),
		fmt.Sprintf("find . -name '*%d.go' -type f | wc -l", r.IntN(10_000)),
		fmt.Sprintf("for f in pkg%d/*.go; do wc -l \"$f\"; done", r.IntN(50)),
	)
	return w.decide(n, "Bash", map[string]any{"command": command, "description": fmt.Sprintf("step %d", n)}, "")
}

func files(w *worker, n int) call {
	path := w.file()
	switch w.rand.IntN(3) {
	case 0:
		return w.decide(n, "Read", map[string]any{"file_path": path, "offset": w.rand.IntN(1000)}, "allow")
	case 1:
		return w.decide(n, "Grep", map[string]any{"pattern": fmt.Sprintf("x%d", w.rand.IntN(1_000_000)), "path": w.load.daemon.project}, "allow")
	}
	return w.decide(n, "Edit", map[string]any{"file_path": path, "old_string": "a", "new_string": fmt.Sprintf("b%d", n)}, "")
}

// acp returns a permission request with the updates that come before it.
func acp(w *worker, n int) call {
	id := fmt.Sprintf("toolu_%d_%d", w.number, n)
	command := fmt.Sprintf("git diff --stat HEAD~%d", w.rand.IntN(10_000))
	if w.rand.IntN(4) == 0 {
		command = fmt.Sprintf("npm run task%d", w.rand.IntN(10_000))
	}
	toolCall := map[string]any{
		"toolCallId": id, "kind": "execute", "title": command, "status": "pending", "rawInput": map[string]string{"command": command},
		"_meta": map[string]any{"claudeCode": map[string]string{"toolName": "Bash"}},
	}
	announced := map[string]any{"sessionUpdate": "tool_call"}
	for k, v := range toolCall {
		announced[k] = v
	}
	c := call{method: "session/request_permission", params: map[string]any{
		"sessionId": w.session, "toolCall": toolCall,
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
		c.updates = append(c.updates, message(0, "session/update", map[string]any{"sessionId": w.session, "update": update}))
	}
	return c
}

func tools(w *worker, n int) call {
	tool := pick(w.rand, "mcp__github__get_issue", "mcp__github__list_commits", "mcp__browser__click", "WebFetch")
	if tool == "WebFetch" {
		return w.decide(n, tool, map[string]any{"url": fmt.Sprintf("https://docs%d.example.com/page/%d", w.rand.IntN(2000), n), "prompt": "summarise"}, "ask")
	}
	return w.decide(n, tool, map[string]any{"owner": "o", "number": n, "list": []int{1, 2, n}}, "")
}

// questions returns a call that permd asks about, and whose answer is sometimes
// remembered.
func questions(w *worker, n int) call {
	r := w.rand
	return w.decide(n, "Bash", map[string]any{"command": pick(r,
		fmt.Sprintf("mytool%d build --target x%d", r.IntN(50), r.IntN(10_000)), fmt.Sprintf("touch pkg%d/new%d.go", r.IntN(50), r.IntN(100_000)),
		fmt.Sprintf("curl -s https://api%d.example.com/v1/%d", r.IntN(1000), n), "npm test",
		fmt.Sprintf("go get example.com/mod%d@v1.%d.0", r.IntN(1000), r.IntN(100)),
		fmt.Sprintf("python3 -c 'print(%d)'", n), fmt.Sprintf("docker run --rm img%d make", r.IntN(1000)),
		fmt.Sprintf("mkdir -p out%d && cp pkg%d/file.go out%d/", n, r.IntN(50), n),
	)}, "")
}

func denied(w *worker, n int) call {
	return w.decide(n, "Bash", map[string]any{"command": pick(w.rand, "rm -rf /", "git push --force origin main", fmt.Sprintf("ls pkg%d; rm -rf ~", n))}, "deny")
}

// long returns a call with much text.
func long(w *worker, n int) call {
	text := strings.Repeat(fmt.Sprintf("line %d of a file that is written\n", n), 50+w.rand.IntN(1500))
	return w.decide(n, "Write", map[string]any{"file_path": w.file(), "content": text}, "")
}

// garbage returns a call that permd does not understand and asks about.
func garbage(w *worker, n int) call {
	r := w.rand
	return w.decide(n, "Bash", map[string]any{"command": pick(r,
		strings.Repeat("(", 300), "echo $("+strings.Repeat("a;", 500)+")", "git status\x00", fmt.Sprintf("cd pkg%d && eval \"$X\"", r.IntN(50)),
		strings.Repeat("cat a | ", 200)+"cat", "'unclosed",
	)}, "")
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
