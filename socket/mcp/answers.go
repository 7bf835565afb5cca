package mcp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/gatehttp"
)

// refused handles an answer to a request that is an HTTP error. It may hold an error of the
// protocol.
func (u *Upstream) refused(p *post, resp *http.Response, kind string) {
	if kind == "application/json" {
		data, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		if m, bad := readMessage(data); err == nil && bad == nil && m.isResponse() && m.id == p.message.id && m.result == nil {
			u.deliver(p, data)
			return
		}
	}
	u.notTaken(p, statusText(resp))
}

// deliver passes a message of an answer on. p is nil for the stream of no request. A message
// that cannot be read is taken for the response to the request that it came for.
func (u *Upstream) deliver(p *post, data []byte) {
	// A newline can only be between the parts of a message. In a text it is none, as a carriage
	// return is.
	line := bytes.ReplaceAll(data, []byte("\n"), []byte("\r"))
	m, err := readMessage(line)
	if err != nil && p != nil {
		o := new(outline)
		if _, _ = o.Write(line); o.methods == 0 || o.results > 0 {
			u.notTaken(p, unreadResponse+err.Error())
			return
		}
	}
	if err == nil && u.holdsToken(line) {
		u.withhold(m)
		return
	}
	if err == nil && m.isResponse() {
		if !u.answered(m) {
			return // a second one, or one to no request
		}
		if p != nil && p.stateless && p.message.method == methodListTools && m.id == p.message.id && m.result != nil {
			u.noteHeaders(m.result)
		}
	}
	_, _ = u.in.Write(append(line, '\n')) // an error is the end of the conversation
}

// deliverOnly passes an answer on that is only the response to a request.
func (u *Upstream) deliverOnly(p *post, data []byte) {
	m, err := readMessage(data)
	if err == nil && (!m.isResponse() || m.id != p.message.id) {
		err = errors.New("it is not that to the request")
	}
	if err != nil {
		u.notTaken(p, unreadResponse+err.Error())
		return
	}
	u.deliver(p, data)
}

// answered notes a response, and reports whether a request waits for it.
func (u *Upstream) answered(m *message) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := u.open[m.id]
	if p == nil {
		return false
	}
	delete(u.open, m.id)
	if p.message.method == methodInitialize {
		if revision, ok := strictjson.ParseString(strictjson.Find(m.result, "protocolVersion")); ok && isHeader([]byte(revision)) {
			u.revision = revision
		}
		close(p.answered)
	}
	return true
}

// mayHaveRun is said of each request that the server may have got and that has no response of it.
const mayHaveRun = "(if this is a call, it may have run)"

// notTaken answers a request with an error, unless it has a response. What is no request is
// reported to the person. What the server does once it may have got a request, whatever it
// answers, does not tell whether a call has run.
func (u *Upstream) notTaken(p *post, why string) {
	if !p.isRequest() {
		if u.ctx.Err() == nil {
			u.cfg.Say("the server has not taken a message: " + why)
		}
		return
	}
	why = u.without(why)
	if p.reached.Load() && !strings.Contains(why, mayHaveRun) {
		why += " " + mayHaveRun
	}
	u.mu.Lock()
	waits := u.open[p.message.id] == p
	if waits {
		delete(u.open, p.message.id)
	}
	u.mu.Unlock()
	if waits {
		_, _ = u.in.Write(errorText(p.message.id, codeInternal, "permd: "+strings.TrimPrefix(why, "permd: ")))
	}
}

const holdsBearer = "it holds the bearer token"

// holdsToken reports whether a JSON value of the server holds the token.
func (u *Upstream) holdsToken(v strictjson.Value) bool {
	return gatehttp.Echoes(v, []string{u.cfg.Token})
}

// withhold leaves a message out that holds the token. If it is a response, the client gets an error.
func (u *Upstream) withhold(m *message) {
	if m.isResponse() {
		u.mu.Lock()
		p := u.open[m.id]
		u.mu.Unlock()
		if p != nil {
			u.notTaken(p, unreadResponse+holdsBearer)
			return
		}
	}
	u.cfg.Say("a message of the server was left out: " + holdsBearer)
}

// without returns a text that is shown, unless it holds the token: errors of net/http quote what
// they cannot read.
func (u *Upstream) without(text string) string {
	if u.holdsToken(strictjson.Value(quote(text))) {
		return "what the server answered cannot be shown: " + holdsBearer
	}
	return text
}
