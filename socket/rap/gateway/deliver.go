package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/gatehttp"
	"github.com/permd/permd/socket/rap"
)

// failure returns the tool_result of a call that has no other.
func (c *call) failure(text string) []byte {
	body, err := c.withText(text)
	if err != nil {
		return []byte("{}") // the texts are this program's, and the ids were read
	}
	return body
}

// withText returns the tool_result of a call. The text is not copied more than once.
func (c *call) withText(text string) ([]byte, error) {
	body, err := json.Marshal(&rap.ToolResult{Type: "tool_result", GroupID: c.thread, ID: c.id, CallID: c.second})
	head, ok := bytes.CutSuffix(body, []byte(`""}`)) // the text is the last member
	if err != nil || !ok {
		return nil, errors.New("a result cannot be written")
	}
	body, err = jsontext.AppendQuote(slices.Grow(head, len(text)+len(text)/8), text)
	return append(body, '}'), err
}

// question returns a user_choice of permd with the address for the answer.
func question(choice *rap.UserChoice, responseURL string) []byte {
	body, err := json.Marshal(struct {
		*rap.UserChoice
		ResponseURL string `json:"response_url"`
	}{choice, responseURL})
	if err != nil {
		return []byte("{}")
	}
	return body
}

// dispatch sends the arguments to the tool, once, and returns the result.
func (g *Gateway) dispatch(c *call) []byte {
	t := g.tools[c.operation]
	if t == nil {
		return c.failure(textUnasked) // permd allows no operation that is not in the toolset
	}
	if c.ctx.Err() != nil {
		g.ended(c, rap.Cancelled)
		return c.failure(textCancelled)
	}
	if err := g.o.Sent.Note(c.sum, c.thread, c.id); err != nil {
		g.say(err.Error())
		g.ended(c, rap.Failed)
		return c.failure(textUnnoted)
	}
	g.mu.Lock()
	c.sent = c.conn
	g.mu.Unlock()
	answer, err := t.server.Do(c.ctx, c.held, http.MethodPost, t.path, t.header, c.arguments)
	failed, _ := errors.AsType[*gatehttp.UpstreamError](err)
	if failed != nil && !failed.Sent {
		if err := g.o.Sent.Forget(c.thread, c.id); err != nil {
			g.say(err.Error())
		}
		if c.ctx.Err() != nil {
			g.ended(c, rap.Cancelled)
			return c.failure(textCancelled)
		}
		g.ended(c, rap.Failed)
		return c.failure("Error: the tool failed: " + failed.Text)
	}
	var result []byte
	var why string
	size := 0
	if answer != nil {
		size = len(answer.Body)
	}
	c.held.Work(func() { result, why = c.read(t, answer, err) })
	// Characters that are escaped take more than is held already.
	if len(result) > 2*maxToolAnswer {
		why = "its answer takes too many bytes as JSON"
	} else if c.held.Wait(c.ctx, max(0, len(result)-2*size)) != nil {
		why = gatehttp.ErrNoRoom.Error()
	}
	switch {
	case c.ctx.Err() != nil:
		g.ended(c, rap.Unknown)
		return c.failure(textCutOff)
	case why != "":
		how := rap.Unknown
		if answer != nil && answer.Status/100 != 2 {
			how = rap.Failed
		}
		g.ended(c, how)
		return c.failure("Error: the tool failed: " + why + mayHaveRun)
	default:
		g.ended(c, rap.Ran)
		return result
	}
}

// read returns the result with a tool's answer, or why there is none.
func (c *call) read(t *tool, answer *gatehttp.Answer, err error) (result []byte, why string) {
	text, why := textOf(answer, err)
	switch {
	case why != "":
		return nil, why
	case t.repeats(answer.Body, text):
		return c.failure(textWithheld), ""
	}
	answer.Body = nil // from here on it is the text
	if result, err = c.withText(text); err != nil {
		return nil, "its answer cannot be written"
	}
	return result, ""
}

// textOf returns the text of a tool's answer to a call that was sent, or why there is none.
func textOf(a *gatehttp.Answer, err error) (text, why string) {
	switch {
	case err != nil:
		return "", err.Error()
	case a.Status/100 != 2:
		return "", fmt.Sprintf("it answered with status %d", a.Status)
	case len(a.Body) == 0:
		return "", ""
	case gatehttp.IsJSON(a.Header):
		if strictjson.Check(a.Body) != nil {
			return "", "its answer is no JSON"
		}
	case !isText(a.Header):
		return "", "its answer is neither JSON nor plain text"
	}
	if !utf8.Valid(a.Body) {
		return "", "its answer is no UTF-8"
	}
	return string(a.Body), ""
}

// repeats reports whether an answer holds the tool's token, which only its server is to have.
func (t *tool) repeats(body []byte, text string) bool {
	secrets := []string{t.token}
	return t.token != "" && (gatehttp.EchoesText(text, secrets) || strictjson.Check(body) == nil && gatehttp.Echoes(body, secrets))
}

// deliver posts the result of a call. Of the tool's answer, no more is held meanwhile: a runtime
// that is gone is tried for long.
func (g *Gateway) deliver(c *call, result []byte) {
	c.held.Shrink(len(result))
	if !g.post(c, result) {
		g.say("a result could not be delivered")
	}
}

// post posts a message to the callback address, and again after an error that may pass. The
// runtime knows a result that comes twice by its id.
func (g *Gateway) post(c *call, message []byte) bool {
	for attempt := 0; ; attempt++ {
		a, err := c.callback.Do(context.Background(), nil, http.MethodPost, c.path, nil, message)
		failed, _ := errors.AsType[*gatehttp.UpstreamError](err)
		switch {
		case err == nil && a.Status/100 == 2:
			return true
		case err == nil && a.Status < 500, failed != nil && failed.Answered, attempt == len(backoff):
			return false
		}
		select {
		case <-time.After(backoff[attempt]):
		case <-g.ending:
			return false
		}
	}
}

// isText reports whether the body of a message is plain text.
func isText(h http.Header) bool {
	types := h["Content-Type"]
	if len(types) != 1 {
		return false
	}
	kind, params, err := mime.ParseMediaType(types[0])
	charset, named := params["charset"]
	return err == nil && kind == "text/plain" && (!named || strings.EqualFold(charset, "utf-8"))
}
