package hook

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// promptTool is the name of the tool that Prompt offers.
const promptTool = "approve"

// Prompt is Claude Code's permission-prompt tool: an MCP server with one tool, which
// Claude Code calls instead of showing a prompt when nobody is there to answer. It reads
// one message per line. The tool's input names neither session nor folder, so those of
// the server's process are used.
type Prompt struct {
	Session string
	Cwd     string // absolute
	Version string // of permd
}

// promptVersions are the supported versions of MCP, for which the server's messages are
// the same. The last one is offered to a client that asks for another.
var promptVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// PromptCall is a call of the tool that is to be decided.
type PromptCall struct {
	Request *Request
	id      strictjson.Value
}

// rpc is a message from the client.
type rpc struct {
	JSONRPC string           `json:"jsonrpc"`
	ID      strictjson.Value `json:"id"`
	Method  string           `json:"method"`
	Params  strictjson.Value `json:"params"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type rpcAnswer struct {
	JSONRPC string           `json:"jsonrpc"`
	ID      strictjson.Value `json:"id"`
	Result  any              `json:"result,omitzero"`
	Error   *rpcError        `json:"error,omitzero"`
}

var noID = strictjson.Value("null")

func rpcLine(id strictjson.Value, result any, fault *rpcError) []byte {
	line, err := json.Marshal(rpcAnswer{JSONRPC: "2.0", ID: id, Result: result, Error: fault})
	if err != nil {
		return nil // without an answer, the client does not run the tool
	}
	return append(line, '\n')
}

// Line handles one message. It returns the response, nil if there is none, or a call of
// the tool that the caller must decide.
func (p *Prompt) Line(line []byte) ([]byte, *PromptCall) {
	if len(line) > MaxInput {
		return rpcLine(noID, nil, &rpcError{-32600, "message too long"}), nil
	}
	if err := strictjson.Check(line); err != nil {
		return rpcLine(noID, nil, &rpcError{-32700, "not readable in one way"}), nil
	}
	var m rpc
	if err := strictjson.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
		return rpcLine(noID, nil, &rpcError{-32600, "not a message of JSON-RPC 2.0"}), nil
	}
	if m.ID == nil || m.Method == "" {
		return nil, nil // a notification, or an unexpected response
	}
	if k := strictjson.Kind(m.ID); k != '"' && k != '0' {
		return rpcLine(noID, nil, &rpcError{-32600, "an id must be a string or a number"}), nil
	}
	switch m.Method {
	case "initialize":
		return rpcLine(m.ID, p.initialize(m.Params), nil), nil
	case "ping":
		return rpcLine(m.ID, struct{}{}, nil), nil
	case "tools/list":
		return rpcLine(m.ID, promptTools, nil), nil
	case "tools/call":
		return p.call(&m)
	}
	return rpcLine(m.ID, nil, &rpcError{-32601, "method not found"}), nil
}

func (p *Prompt) initialize(params strictjson.Value) any {
	version := promptVersions[len(promptVersions)-1]
	if wants, ok := strictjson.ParseString(strictjson.Find(params, "protocolVersion")); ok && slices.Contains(promptVersions, wants) {
		version = wants
	}
	type party struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	return struct {
		Protocol     string                         `json:"protocolVersion"`
		Capabilities map[string]map[string]struct{} `json:"capabilities"`
		Server       party                          `json:"serverInfo"`
	}{version, map[string]map[string]struct{}{"tools": {}}, party{"permd", p.Version}}
}

// promptTools is the result of tools/list.
var promptTools = strictjson.Value(`{"tools":[{"name":"` + promptTool + `",` +
	`"description":"Decides whether a tool call may run.",` +
	`"inputSchema":{"type":"object","properties":{"tool_name":{"type":"string"},"input":{"type":"object"},"tool_use_id":{"type":"string"}},` +
	`"required":["tool_name","input"]}}]}`)

func (p *Prompt) call(m *rpc) ([]byte, *PromptCall) {
	var params struct {
		Name      string           `json:"name"`
		Arguments strictjson.Value `json:"arguments"`
	}
	if err := strictjson.Unmarshal(m.Params, &params); err != nil || params.Name != promptTool {
		return rpcLine(m.ID, nil, &rpcError{-32602, "no such tool"}), nil
	}
	r, err := p.request(params.Arguments)
	if err != nil {
		return promptLine(m.ID, promptAnswer{Behavior: "deny", Message: byPermd + "reading the call: " + printable(err.Error())}), nil
	}
	return nil, &PromptCall{r, m.ID}
}

func (p *Prompt) request(arguments strictjson.Value) (*Request, error) {
	if strictjson.Kind(arguments) != '{' {
		return nil, errors.New("arguments is not an object")
	}
	var a struct {
		Tool  string           `json:"tool_name"`
		Input strictjson.Value `json:"input"`
		ID    string           `json:"tool_use_id"`
	}
	if err := strictjson.Unmarshal(arguments, &a); err != nil {
		return nil, err
	}
	input, err := requireObject(a.Input, "input")
	if err != nil {
		return nil, err
	}
	// The current directory of the agent's shell is unknown, so AtShell is not set.
	r := &Request{Event: "permission_prompt", Session: p.Session, Cwd: p.Cwd, Call: toolCall{ID: a.ID, Name: a.Tool, Input: input}}
	return r, r.check()
}

// promptAnswer is the JSON that Claude Code expects in the result's text.
type promptAnswer struct {
	Behavior string           `json:"behavior"`
	Input    strictjson.Value `json:"updatedInput,omitzero"`
	Message  string           `json:"message,omitzero"`
}

type promptText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func promptLine(id strictjson.Value, a promptAnswer) []byte {
	text, err := json.Marshal(a)
	if err != nil {
		return rpcLine(id, nil, &rpcError{-32603, "writing the answer"})
	}
	return rpcLine(id, map[string][]promptText{"content": {{"text", string(text)}}}, nil)
}

// Answer returns the response for a decision.
func (c *PromptCall) Answer(d *decisions.Decision) []byte {
	o, text := c.Request.outcome(d)
	if o == allow {
		return promptLine(c.id, promptAnswer{Behavior: "allow", Input: c.Request.Call.Input})
	}
	return promptLine(c.id, promptAnswer{Behavior: "deny", Message: text})
}

// Failed returns the response for a call that could not be decided.
func (c *PromptCall) Failed(why string) []byte {
	return promptLine(c.id, promptAnswer{Behavior: "deny", Message: byPermd + printable(why)})
}
