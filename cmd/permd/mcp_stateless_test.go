package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/permd/permd/internal/eventually"
)

// mcpPeers says how a client and a server talk.
type mcpPeers struct {
	overHTTP bool // the server is behind HTTP
	sessions bool // the revision is 2025-11-25, the last one with sessions
}

func (p mcpPeers) String() string {
	name := "stdio"
	if p.overHTTP {
		name = "http"
	}
	if p.sessions {
		name += " with sessions"
	}
	return name
}

func (p mcpPeers) options() *mcp.ClientSessionOptions {
	if p.sessions {
		return &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}
	}
	return &mcp.ClientSessionOptions{ProtocolVersion: "2026-07-28"}
}

func allMCPPeers() []mcpPeers {
	return []mcpPeers{{false, false}, {true, false}, {false, true}, {true, true}}
}

// overBoth runs a test with servers over standard input and output, and over HTTP, in the newest
// revision with sessions and in that without.
func overBoth(t *testing.T, test func(t *testing.T, d *testDaemon)) {
	t.Helper()
	t.Parallel()
	for _, p := range allMCPPeers() {
		t.Run(p.String(), func(t *testing.T) {
			if testing.Short() && (p.overHTTP || p.sessions) {
				t.Skip("long: the same once more; stdio is the quick one, and those of servers over HTTP are in socket/mcp")
			}
			t.Parallel()
			d := newTestDaemon(t)
			d.mcp = p
			test(t, d)
		})
	}
}

// asksBack is the description of the tool echo of a server that has more tools.
const asksBack = "asks back"

// addAskingTools adds the tool deploy, which asks for a code, route, which wants an argument in a
// header, and grow, after which there is one more tool.
func addAskingTools(s *mcp.Server, calls string) {
	mcp.AddTool(s, &mcp.Tool{Name: "deploy"}, func(_ context.Context, r *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, any, error) {
		if len(r.Params.InputResponses) == 0 {
			return &mcp.CallToolResult{
				InputRequests: mcp.InputRequestMap{"code": &mcp.ElicitParams{
					Message: "permd asks: which code?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"code":{"type":"string"}}}`),
				}},
				RequestState: "for " + in.Text,
			}, nil, record(calls, "deploy?", in.Text)
		}
		code, _ := r.Params.InputResponses["code"].(*mcp.ElicitResult)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "said " + in.Text}}}, nil,
			record(calls, "deploy", in.Text, r.Params.RequestState, code.Action, code.Content["code"])
	})
	s.AddTool(&mcp.Tool{Name: "route", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","x-mcp-header":"Region"}}}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			header := ""
			if r.Extra != nil {
				header = r.Extra.Header.Get("Mcp-Param-Region")
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "said "}}}, record(calls, "route", header)
		})
	mcp.AddTool(s, &mcp.Tool{Name: "grow"}, func(context.Context, *mcp.CallToolRequest, echoed) (*mcp.CallToolResult, any, error) {
		mcp.AddTool(s, &mcp.Tool{Name: "grown"}, func(context.Context, *mcp.CallToolRequest, echoed) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "said "}}}, nil, nil
	})
}

// TestMCPServerAsks: a server of the official SDK asks back about a call. The person is asked by
// permd once, and by the server, in each revision.
func TestMCPServerAsks(t *testing.T) { overBoth(t, testMCPServerAsks) }

func testMCPServerAsks(t *testing.T, d *testDaemon) {
	d.start(t)
	c := d.startMCP(t, asksBack, "once")
	wantHas(t, "asked and answered", c.call(t, "deploy", "a"), "said a")
	if len(c.forms) != 2 || !strings.HasPrefix(c.forms[0], "permd asks: calls a tool") || !strings.HasPrefix(c.forms[1], "The server test asks: permd asks: which code?") {
		t.Errorf("the person is asked %q", c.forms)
	}
	c.wantCalls(t, "deploy? a;deploy a for a accept once;")
	c.answer = "decline"
	wantHas(t, "declined", c.call(t, "deploy", "b"), "the person has rejected this call")
	c.wantCalls(t, "deploy? a;deploy a for a accept once;")

	// The same where permd allow answers, but the server can ask in the client.
	c = d.startMCP(t, asksBack, "x", "--no-elicitation")
	refused := c.call(t, "deploy", "c")
	_, id, _ := strings.Cut(refused, "permd allow ")
	id, _, _ = strings.Cut(id, " ")
	if out, err := d.command("allow", id).CombinedOutput(); err != nil {
		t.Fatalf("permd allow: %v\n%s", err, out)
	}
	wantHas(t, "allowed from elsewhere", c.call(t, "deploy", "c"), "said c")
	c.wantCalls(t, "deploy? c;deploy c for c accept x;")
	wantHas(t, "a new call", c.call(t, "deploy", "c"), "permd asks a person")
}

// TestMCPHeaders: a server of the official SDK over HTTP checks the headers of each request.
func TestMCPHeaders(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts the gateway once more; TestMCPListen is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.mcp.overHTTP = true
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), "allow:\n  use: [\"test:*\"]\n")
	d.start(t)
	c := d.startMCP(t, asksBack, "")
	for _, text := range []string{"eu", " a ", "ä\nb", "=?base64?x?="} {
		wantHas(t, text, c.call(t, "route", text), "said ")
	}
	c.wantCalls(t, "route eu;route =?base64?IGEg?=;route =?base64?w6QKYg==?=;route =?base64?PT9iYXNlNjQ/eD89?=;")
}

// TestMCPListen: a client hears of changes that it has subscribed to.
func TestMCPListen(t *testing.T) {
	overBoth(t, func(t *testing.T, d *testDaemon) {
		writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), "allow:\n  use: [\"test:*\"]\n")
		d.start(t)
		c := d.startMCP(t, asksBack, "")
		if got := c.tools(t); strings.Contains(got, "grown") {
			t.Fatal(got)
		}
		if err := c.session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///notes"}); err != nil {
			t.Error(err)
		}
		wantHas(t, "grow", c.call(t, "grow", ""), "said ")
		eventually.Holds(t, "the client hears of the change", func() bool { return c.changed.Load() > 0 })
		if got := c.tools(t); !strings.Contains(got, "grown") {
			t.Error(got)
		}
		if err := c.session.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "file:///notes"}); err != nil {
			t.Error(err)
		}
		wantHas(t, "a call after it", c.call(t, "echo", "a"), "said a")
	})
}

// TestMCPOlderServer: a client of the newest revision finds that a server is older.
func TestMCPOlderServer(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts what TestMCP has shown to run, with an older server")
	}
	t.Parallel()
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), "allow:\n  use: [\"test:*\"]\n")
	d.start(t)
	calls := filepath.Join(t.TempDir(), "calls")
	cmd := d.command("mcp", "--name", "test", "--upstream", serveMCP(t, newMCPServer("says it", calls), true))
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	c := &mcpClient{session: session, calls: calls}
	if got := session.InitializeResult().ProtocolVersion; got != "2025-11-25" {
		t.Errorf("the revision is %s", got)
	}
	wantHas(t, "a call", c.call(t, "echo", "a"), "said a")
	c.wantCalls(t, "echo a;")
}
