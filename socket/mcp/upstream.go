package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permd/permd/internal/strictjson"
)

// Bounds of the wait for a server over HTTP.
const (
	sendTimeout   = time.Minute // until a message was sent, and until a conversation has begun
	orderTimeout  = 200 * time.Millisecond
	beginTimeout  = time.Second // between the beginning of the first answer and the response
	deleteTimeout = 5 * time.Second
	maxErrorBody  = 1 << 20 // bytes of the body of an answer that is an HTTP error
)

// UpstreamConfig is the configuration of a server over HTTP.
type UpstreamConfig struct {
	// URL is the address, as CheckUpstream wants it.
	URL *url.URL
	// Token is the bearer token, "" for none.
	Token string
	// Transport is what requests are sent with, nil for transportTo.
	Transport http.RoundTripper
	// Say reports something to the person. It must not block.
	Say func(string)
}

// Upstream is a server over HTTP (the transport "streamable HTTP") as the two streams of one
// over standard input and output: each message that is written is posted, and the messages of all
// its answers are read. Each write has to be one whole message.
//
// A request is posted once. What it leaves unanswered is answered with an error.
type Upstream struct {
	cfg     UpstreamConfig
	client  *http.Client
	ctx     context.Context // of all requests
	cancel  context.CancelFunc
	out     *io.PipeReader
	in      *io.PipeWriter
	running sync.WaitGroup
	closing sync.Once
	done    chan struct{}
	least   time.Duration // leastRetry, but in tests

	mu       sync.Mutex
	closed   bool
	session  string           // the id that the server has given, "" for none
	revision string           // of the protocol, once it was negotiated
	open     map[string]*post // requests without a response, by id
	listens  bool
	// stateless is set once a request of statelessRevision was sent.
	stateless bool
	headers   map[string][]paramHeader // of tools, by name
}

// post is a message that is sent.
type post struct {
	message   *message
	stateless bool // it is of statelessRevision
	cancel    context.CancelCauseFunc
	reached   atomic.Bool   // there was a connection: the server may have got it
	sent      chan struct{} // closed once it was sent, or could not be
	taken     chan struct{} // closed once the server has begun to answer, or did not
	// answered is closed when there is a response to initialize.
	answered chan struct{}
}

// NewUpstream returns a server over HTTP. It connects when the first message is written. It has
// to be closed.
func NewUpstream(cfg UpstreamConfig) *Upstream {
	u := &Upstream{cfg: cfg, open: map[string]*post{}, done: make(chan struct{}), least: leastRetry}
	u.cfg.Say = func(text string) { cfg.Say(u.without(text)) }
	u.ctx, u.cancel = context.WithCancel(context.Background())
	u.out, u.in = io.Pipe()
	transport := cfg.Transport
	if transport == nil {
		transport = transportTo(cfg.URL)
	}
	u.client = &http.Client{Transport: transport, CheckRedirect: noRedirect}
	return u
}

// Read reads the server's messages, each as a line. The end is that of the conversation.
func (u *Upstream) Read(p []byte) (int, error) { return u.out.Read(p) }

// Write sends a message. It returns once it was sent: those after it do not overtake it.
func (u *Upstream) Write(line []byte) (int, error) {
	m, err := readMessage(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		return 0, err
	}
	if m.method == notedCancelled && u.withdraw(readID(strictjson.Find(m.params, "requestId"))) {
		return len(line), nil
	}
	ctx, cancel := context.WithCancelCause(u.ctx)
	p := &post{message: m, stateless: namesRevision(m), cancel: cancel, sent: make(chan struct{}), taken: make(chan struct{}), answered: make(chan struct{})}
	u.mu.Lock()
	if u.closed {
		u.mu.Unlock()
		cancel(nil)
		return 0, io.ErrClosedPipe
	}
	if p.isRequest() {
		u.open[m.id] = p
	}
	u.stateless = u.stateless || p.stateless
	u.running.Add(1)
	u.mu.Unlock()
	go func() {
		defer u.running.Done()
		defer cancel(nil)
		u.post(ctx, p)
	}()
	u.await(ctx, p)
	return len(line), nil
}

func (p *post) isRequest() bool { return p.message.id != "" && !p.message.isResponse() }

// await waits until the next message can be sent. The server may answer a call only when it is
// done, so that it has taken it is waited for only for a short time, except for the first
// message, whose answer tells what is sent with the others.
func (u *Upstream) await(ctx context.Context, p *post) {
	timeout := time.NewTimer(sendTimeout)
	defer timeout.Stop()
	select {
	case <-p.sent:
	case <-timeout.C:
		p.cancel(errors.New("it could not be sent within a minute"))
		return
	case <-ctx.Done():
		return
	}
	if p.message.method != methodInitialize {
		timeout.Reset(orderTimeout)
	}
	select {
	case <-p.taken:
	case <-timeout.C:
	case <-ctx.Done():
	}
	if p.message.method == methodInitialize {
		timeout.Reset(beginTimeout)
		select {
		case <-p.answered:
		case <-timeout.C:
		case <-ctx.Done():
		}
	}
}

// post sends a message and reads its answer.
func (u *Upstream) post(ctx context.Context, p *post) {
	var once, onceTaken sync.Once
	sent := func() { once.Do(func() { close(p.sent) }) }
	taken := func() { sent(); onceTaken.Do(func() { close(p.taken) }) }
	defer taken()
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { p.reached.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) { sent() },
	})
	resp, err := u.do(traced, http.MethodPost, p, "")
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		why := "the server cannot be reached: "
		if p.reached.Load() {
			why = "the server gave no answer: "
		}
		u.notTaken(p, why+reasonOf(err))
		return
	}
	defer resp.Body.Close()
	if p.message.method == methodInitialize && !u.beginSession(resp) {
		u.notTaken(p, "the server's session has an id that cannot be sent back")
		return
	}
	taken()
	switch kind := mediaType(resp); {
	case resp.StatusCode == http.StatusNotFound && !p.stateless && u.hasSession() && p.message.method != methodInitialize:
		u.breakOff(errors.New("the server has ended the session (HTTP 404)"))
	case !p.isRequest():
		if resp.StatusCode/100 != 2 {
			u.notTaken(p, statusText(resp))
		}
		u.afterNote(p)
	case resp.StatusCode != http.StatusOK:
		u.refused(p, resp, kind)
	case kind == "application/json":
		data, err := io.ReadAll(io.LimitReader(resp.Body, maxLine+1))
		if err == nil && len(data) > maxLine {
			err = errLong
		}
		if err != nil {
			u.notTaken(p, unreadResponse+reasonOf(err))
			return
		}
		u.deliverOnly(p, data)
	case kind == "text/event-stream":
		u.notTaken(p, u.follow(ctx, p, resp.Body))
	default:
		u.notTaken(p, "the server's answer is neither JSON nor a stream of events")
	}
}

// do sends a request. The error never names the address, which may hold a secret.
func (u *Upstream) do(ctx context.Context, method string, p *post, lastID string) (*http.Response, error) {
	var from io.Reader
	if p != nil {
		from = bytes.NewReader(p.message.text)
	}
	r, err := http.NewRequestWithContext(ctx, method, u.cfg.URL.String(), from)
	if err != nil {
		return nil, errors.New("the address cannot be used")
	}
	r.GetBody = nil // so that no transport sends it again
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	r.Header.Set("User-Agent", "permd")
	if p != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if u.cfg.Token != "" {
		r.Header.Set("Authorization", "Bearer "+u.cfg.Token)
	}
	if p != nil && p.stateless {
		u.setStateless(r.Header, p.message)
		return u.client.Do(r)
	}
	u.mu.Lock()
	session, revision := u.session, u.revision
	u.mu.Unlock()
	for name, value := range map[string]string{"Mcp-Session-Id": session, "MCP-Protocol-Version": revision, "Last-Event-ID": lastID} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return u.client.Do(r)
}

// beginSession notes the id of the session that begins. Another one later is none.
func (u *Upstream) beginSession(resp *http.Response) bool {
	id := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != http.StatusOK || id == "" {
		return true
	}
	if !isHeader([]byte(id)) || strings.Contains(id, " ") {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.session == "" {
		u.session = id
	}
	return true
}

func (u *Upstream) hasSession() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.session != ""
}

// afterNote does what follows from a notification that the server has got.
func (u *Upstream) afterNote(p *post) {
	switch p.message.method {
	case notedCancelled:
		id := readID(strictjson.Find(p.message.params, "requestId"))
		u.mu.Lock()
		defer u.mu.Unlock()
		if other := u.open[id]; other != nil {
			delete(u.open, id)
			other.cancel(nil) // there is no response to it
		}
	case notedInitialized:
		u.mu.Lock()
		defer u.mu.Unlock()
		if !u.listens && !u.closed {
			u.listens = true
			u.running.Go(u.listen)
		}
	}
}

// breakOff ends the conversation.
func (u *Upstream) breakOff(why error) {
	_ = u.in.CloseWithError(why)
	u.cancel()
}

// Close ends the conversation: what is underway is given up, and the server told. It does not
// wait for that; Wait does.
func (u *Upstream) Close() error {
	u.closing.Do(func() {
		u.mu.Lock()
		u.closed = true
		u.mu.Unlock()
		u.cancel()
		_ = u.in.Close()
		go u.end()
	})
	return nil
}

// Wait waits until the server was told of the end.
func (u *Upstream) Wait() { <-u.done }

func (u *Upstream) end() {
	defer close(u.done)
	u.running.Wait()
	defer u.client.CloseIdleConnections()
	if !u.hasSession() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), deleteTimeout)
	defer cancel()
	if resp, err := u.do(ctx, http.MethodDelete, nil, ""); err == nil {
		resp.Body.Close()
	}
}
