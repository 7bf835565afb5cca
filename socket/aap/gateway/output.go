package gateway

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/permd/permd/internal/strictjson"
)

// output is the turn that the client gets, in the mode that it has asked for. It may be used
// from any goroutine.
type output struct {
	w    http.ResponseWriter
	mode string // delta, message or none

	mu    sync.Mutex
	begun bool // something was written
	over  bool
	err   error // the client is gone

	messages []strictjson.Value // of a turn that is not a stream
	blocks   []strictjson.Value // blocks of the last message
	message  int                // its number
}

func newOutput(w http.ResponseWriter, mode string) *output { return &output{w: w, mode: mode} }

func (o *output) isStream() bool { return o.mode != "none" }

// part writes a part of the server's turn.
func (o *output) part(p *part) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isStream() {
		o.event(p.event, p.data)
		return
	}
	if p.message == 0 || p.message != o.message {
		o.endMessage()
	}
	if p.message == 0 {
		o.messages = append(o.messages, p.data)
		return
	}
	o.message, o.blocks = p.message, append(o.blocks, p.data)
}

// nextTurn tells that parts of another turn follow.
func (o *output) nextTurn() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.endMessage()
}

func (o *output) endMessage() {
	if len(o.blocks) > 0 {
		o.messages = append(o.messages, strictjson.Value(`{"role":"assistant","content":`+string(joined('[', o.blocks, ']'))+`}`))
	}
	o.blocks, o.message = nil, 0
}

// result writes a result of the gateway's own.
func (o *output) result(id, content string) {
	members := `"toolCallId":` + quote(id) + `,"content":` + quote(content) + `}`
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isStream() {
		o.event("tool_result", strictjson.Value("{"+members))
		return
	}
	o.endMessage()
	o.messages = append(o.messages, strictjson.Value(`{"role":"tool",`+members))
}

// notice shows the person something, where the mode has a place for it.
func (o *output) notice(s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch o.mode {
	case "delta":
		o.event("text_delta", strictjson.Value(`{"delta":`+quote("\n"+s+"\n")+`}`))
	case "message":
		o.event("text", strictjson.Value(`{"text":`+quote(s)+`}`))
	}
}

// alive writes a comment, so that nobody takes the connection for broken.
func (o *output) alive() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isStream() && !o.over {
		o.start()
		o.write(": waiting\n\n")
	}
}

// stop ends the turn.
func (o *output) stop(reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isStream() {
		o.event("turn_stop", strictjson.Value(`{"stopReason":`+quote(reason)+`}`))
		o.over = true
		return
	}
	o.endMessage()
	o.over = true
	o.w.Header().Set("Content-Type", "application/json")
	o.write(`{"stopReason":` + quote(reason) + `,"messages":` + string(joined('[', o.messages, ']')) + `}`)
}

// failTurn ends the turn with an error: as the answer, or as the end of a stream that has begun.
func (o *output) failTurn(f *fault) {
	if o.isStream() && o.hasBegun() {
		o.notice("permd: " + f.text)
		o.stop("error")
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.over = true
		f.write(o.w)
	}
}

func (o *output) hasBegun() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.begun
}

func (o *output) writeError() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// start writes the beginning of a stream. The lock is held.
func (o *output) start() {
	if o.begun {
		return
	}
	o.begun = true
	o.w.Header().Set("Content-Type", "text/event-stream")
	o.w.Header().Set("Cache-Control", "no-cache")
	o.write("event: turn_start\ndata: {}\n\n")
}

func (o *output) event(name string, data strictjson.Value) {
	if o.over {
		return
	}
	o.start()
	o.write(fmt.Sprintf("event: %s\ndata: %s\n\n", name, data))
}

func (o *output) write(s string) {
	if o.err != nil {
		return
	}
	c := http.NewResponseController(o.w)
	_ = c.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, o.err = io.WriteString(o.w, s); o.err == nil { //nolint:gosec,nolintlint // events, which say that they are; not found in every run
		o.err = c.Flush()
	}
}

// held passes the parts of a turn on, in order, except for those that begin with a call
// without a result: nobody may see a call that is not decided.
type held struct {
	out        *output
	queue      []part
	unresolved []string // ids of calls without a result
	late       []part   // calls that the server may run, until their results come
	// denials are calls whose denial the client has been shown: the server's word for it is the
	// second one.
	denials  map[string]bool
	expected map[string]bool // calls of earlier turns whose results may come
}

// expect notes the calls of a batch: the server may show their results.
func (h *held) expect(b *batch) {
	h.late, h.denials = b.late, b.denials
	b.late = nil
	for i := range b.Calls {
		h.expected[b.Calls[i].ToolCallID] = true
	}
}

func (h *held) add(p part) error {
	switch p.kind {
	case partCall:
		h.unresolved = append(h.unresolved, p.id)
	case partResult:
		// A call has one result. Others, and those of no call, are not shown.
		waits := h.expected[p.id] || slices.Contains(h.unresolved, p.id)
		delete(h.expected, p.id)
		if h.denials[p.id] {
			delete(h.denials, p.id)
			return nil
		}
		if !waits {
			return nil
		}
		h.unresolved = slices.DeleteFunc(h.unresolved, func(id string) bool { return id == p.id })
		for i := range h.late {
			if h.late[i].id == p.id {
				h.queue = append(h.queue, h.late[i])
				h.late = slices.Delete(h.late, i, i+1)
				break
			}
		}
	case partOther:
	}
	h.queue = append(h.queue, p)
	if len(h.unresolved) == 0 {
		h.flush()
	}
	return nil
}

func (h *held) flush() {
	for i := range h.queue {
		h.out.part(&h.queue[i])
	}
	h.queue = nil
}

// unseen is the result of a call that has run, of which the server shows none.
const unseen = "(permd allowed this call; the server has not shown its result)"

// endLate shows the calls of an earlier stop whose results did not come.
func (h *held) endLate() {
	for i := range h.late {
		h.out.part(&h.late[i])
		h.out.result(h.late[i].id, unseen)
	}
	h.late = nil
}
