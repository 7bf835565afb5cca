// Package mcp is the gateway between a client of the Model Context Protocol and one of its
// servers. It passes all messages on, except that permd decides each call of a tool before
// the server gets it.
//
// The protocol is that of https://modelcontextprotocol.io/specification, in the revisions
// from 2024-11-05 to 2026-07-28, over standard input and output.
//
// Whatever cannot be read in exactly one way is not passed on. Without a decision of permd
// no call reaches the server.
package mcp

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket/client"
)

// Bounds of what a gateway keeps.
const (
	maxRequests = 4096             // requests without a response, in each direction
	maxDeciding = 64               // calls that wait for permd or a person
	maxWaiting  = 2 * maxLine      // bytes of these
	listTimeout = 30 * time.Second // for the server's list of tools
	// personTimeout is how long a person may take to answer a question.
	personTimeout = 10 * time.Minute
)

// Config is the configuration of a gateway.
type Config struct {
	// Server is the server's name, by which rules and remembered answers know it.
	Server string
	// Source says what the server is: what "effect.source" is in rules.
	Source string
	// Cwd is the absolute path of the session's folder.
	Cwd string
	// NoElicitation is set if the person must not be asked through the client.
	NoElicitation bool
	// HideDenied is set if tools of which permd denies every call are left out of lists.
	HideDenied bool
	// Pins are the definitions of tools that have run before.
	Pins *Pins
	// Dial connects to permd.
	Dial func(context.Context) (*client.Client, error)
	// Say reports something to the person. It must not block.
	Say func(string)
}

// Peers are the streams of a gateway.
type Peers struct {
	ClientIn  io.Reader
	ClientOut io.Writer
	ServerIn  io.WriteCloser
	ServerOut io.Reader
}

// gateway is one conversation.
type gateway struct {
	cfg    Config
	client *writer
	server *writer
	// forms is the connection to permd for calls about which the person can be asked in the
	// client, and daemon that for others.
	daemon, forms *client.SessionConn
	tools         definitions
	order         order
	http          bool           // the server is one over HTTP
	id            string         // of the session
	ownIDs        string         // what the ids of the gateway's own requests begin with, as JSON
	calls         sync.WaitGroup // that are being decided
	broken        chan error     // what ends the conversation

	mu         sync.Mutex
	fromClient map[string]*request // requests of the client without a response, by id
	// cancelled are the ids of requests that the client has cancelled at the server, the
	// oldest first: a late response must not become that of another request.
	cancelled  []string
	fromServer map[string]bool // requests of the server without a response
	own        map[ownRequest]chan *message
	deciding   int // calls that are being decided
	waiting    int // bytes of these
	ended      bool
	elicits    bool // the client can ask the person, as it said at the beginning
	urls       bool // and have them go to an address
	agent      effects.Party
	// initialized and stateless say that the client has sent messages of a revision with
	// sessions, and of one without.
	initialized, stateless bool
	rounds                 rounds
}

// ownRequest is a request of the gateway itself. Nobody else can know its id before: a
// server must not be able to send a question whose answer is taken for one to permd's.
type ownRequest struct {
	to *writer
	id string
}

// request is a request of the client.
type request struct {
	method string
	// cancel ends the decision of a call; nil once the server has the request.
	cancel context.CancelFunc
	meta   *requestMeta // nil in the revisions with sessions
	cursor string       // of the page of tools that is asked for, "" for the first one
	call   *toolCall    // nil if the server cannot ask for more before the result
	doubt  bool         // its response may have been one that could not be read
}

// Run passes messages on until one of the peers has ended, or ctx. It then closes ServerIn.
// The error is nil at the end of a stream, except when the server does not end after its
// client.
func Run(ctx context.Context, peers Peers, cfg Config) error {
	g := &gateway{
		cfg: cfg, id: "mcp-" + rand.Text(), ownIDs: `"permd-` + rand.Text(), broken: make(chan error, 1),
		fromClient: map[string]*request{}, fromServer: map[string]bool{}, own: map[ownRequest]chan *message{},
	}
	_, g.http = peers.ServerIn.(*Upstream)
	ctx, cancel := context.WithCancel(ctx)
	onError := func(err error) {
		if ctx.Err() == nil { // otherwise the server is given time, and needs nobody who reads
			g.breakOff(err)
		}
	}
	g.client, g.server = newWriter(peers.ClientOut, onError), newWriter(peers.ServerIn, onError)
	defer g.end(cancel, peers.ServerIn)
	g.daemon = client.NewSessionConn(cfg.Dial, connectTimeout, func() *client.Session { return g.session(false) })
	g.forms = client.NewSessionConn(cfg.Dial, connectTimeout, func() *client.Session { return g.session(true) })
	go func() {
		err := g.pump(peers.ClientIn, func(line []byte) error { return g.readClient(ctx, line) }, g.tooLong)
		cancel() // nobody waits for the decisions
		_ = peers.ServerIn.Close()
		if err != nil {
			g.breakOff(fmt.Errorf("reading the client's messages: %w", err))
		}
	}()
	go func() {
		err := g.pump(peers.ServerOut, func(line []byte) error {
			if err := g.readServer(line); ctx.Err() == nil {
				return err
			}
			return nil
		}, func(o *outline) error { return g.noteUnreadable(o, true, errLong) })
		if err != nil {
			err = fmt.Errorf("reading the server's messages: %w", err)
		}
		g.breakOff(err)
	}()
	select {
	case err := <-g.broken:
		return err
	case <-ctx.Done():
		// The client has ended, and the server is given time to end as well.
		_ = peers.ServerIn.Close()
		select {
		case err := <-g.broken:
			return err
		case <-time.After(EndTimeout):
			return errors.New("the server has not ended after its client")
		}
	}
}

// connectTimeout bounds the wait for a connection to permd, for each call.
const connectTimeout = time.Minute

// EndTimeout is how long a server may take to end after its standard input was closed.
const EndTimeout = 10 * time.Second

// breakOff ends the conversation for the first reason that there is, nil for the end of the
// server.
func (g *gateway) breakOff(why error) {
	select {
	case g.broken <- why:
	default:
	}
}

// end ends the conversation. No call is decided after it.
func (g *gateway) end(cancel context.CancelFunc, server io.Closer) {
	g.mu.Lock()
	g.ended = true
	g.mu.Unlock()
	cancel()
	_ = server.Close()
	g.client.end()
	g.calls.Wait()
	g.mu.Lock()
	unanswered := slices.Sorted(maps.Keys(g.fromClient))
	clear(g.fromClient)
	g.mu.Unlock()
	for _, id := range unanswered {
		if g.client.write(errorText(id, codeInternal, serverEnded+" "+mayHaveRun)) != nil {
			break // the client has ended
		}
	}
	g.daemon.Close()
	g.forms.Close()
}

const serverEnded = "permd: the server has ended without a response"

// pump reads lines until the end of a stream.
func (g *gateway) pump(from io.Reader, read func([]byte) error, long func(*outline) error) error {
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		line, outline, err := readLine(r)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
		case outline != nil:
			err = long(outline)
		default:
			err = read(line)
		}
		if err != nil {
			return err
		}
	}
}

// tooLong refuses a message of the client that is too long.
func (g *gateway) tooLong(o *outline) error {
	return g.refuse(g.unreadID(o), codeInvalid, errLong.Error())
}

// unreadID returns the id under which a request of the client that cannot be read is answered, "null"
// if that is not certain, or would be taken for the response to another request.
func (g *gateway) unreadID(o *outline) string {
	id := o.request()
	g.mu.Lock()
	defer g.mu.Unlock()
	if id == "" || g.fromClient[id] != nil {
		return "null"
	}
	return id
}

// JSON-RPC's error codes.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeInternal = -32603
)

// refuse answers a request of the client with an error.
func (g *gateway) refuse(id string, code int, why string) error {
	return g.client.write(errorText(id, code, "permd: "+why))
}

func errorText(id string, code int, why string) []byte {
	text, _ := oneLine([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quote(why))))
	return text
}

// ask sends a request of the gateway's own to a peer and waits for the response.
func (g *gateway) ask(ctx context.Context, to *writer, method, params string) (*message, error) {
	id := g.ownIDs + rand.Text() + `"`
	answer := make(chan *message, 1)
	g.mu.Lock()
	g.own[ownRequest{to, id}] = answer
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.own, ownRequest{to, id})
	}()
	text, err := oneLine([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%s,"params":%s}`, id, quote(method), params)))
	if err != nil {
		return nil, err
	}
	if err := to.write(text); err != nil {
		return nil, err
	}
	select {
	case m := <-answer:
		if m.result == nil {
			return nil, fmt.Errorf("%s was answered with an error", method)
		}
		return m, nil
	case <-ctx.Done():
		note, _ := oneLine([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`))
		_ = to.write(note)
		return nil, context.Cause(ctx)
	}
}

// isOwn reports whether an id is one of the gateway's own requests, also of one that has ended:
// its response may still come. Nobody else may use it, or hear of it, on either side.
func (g *gateway) isOwn(id string) bool { return strings.HasPrefix(id, g.ownIDs) }

// answered gives a peer's response to the one of the gateway's own requests that it is to,
// and reports whether there is one.
func (g *gateway) answered(by *writer, m *message) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	answer := g.own[ownRequest{by, m.id}]
	if answer == nil {
		return false
	}
	delete(g.own, ownRequest{by, m.id})
	answer <- m
	return true
}

// connection returns the connection to permd. forms says whether the person can be asked in the
// client.
func (g *gateway) connection(ctx context.Context, forms bool) (*client.Client, *client.Session, error) {
	if forms {
		return g.forms.Connection(ctx)
	}
	return g.daemon.Connection(ctx)
}

// session returns the declaration of a session of the gateway.
func (g *gateway) session(forms bool) *client.Session {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &client.Session{ID: g.id, Cwd: g.cfg.Cwd}
	if g.agent.Name != "" {
		agent := g.agent
		s.Client = &agent
	}
	if !forms {
		s.ID += "-allow"
		s.Harness = "mcp" // its questions are answered with permd allow
	}
	return s
}

// quote returns a text as JSON.
func quote(s string) string {
	// What is no UTF-8 is replaced, so there is no error.
	text, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd"))
	return string(text)
}
