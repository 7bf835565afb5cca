package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/gatehttp"
)

// request makes a request to the server, with the client's key or the gateway's.
func (g *Gateway) request(ctx context.Context, method, path, query string, from *http.Request, body []byte) (*http.Request, error) {
	u := *g.cfg.Upstream
	raw := u.EscapedPath()
	for len(raw) > 0 && raw[len(raw)-1] == '/' {
		raw = raw[:len(raw)-1]
	}
	raw += path
	plain, err := url.PathUnescape(raw)
	if err != nil {
		return nil, err
	}
	u.Path, u.RawPath, u.RawQuery = plain, raw, query
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), in)
	if err != nil {
		return nil, err
	}
	req.GetBody = nil // a request with calls is not sent again by itself
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	switch v := from.Header["Authorization"]; {
	case g.cfg.Key != "":
		req.Header.Set("Authorization", "Bearer "+g.cfg.Key)
	case g.cfg.Token == "" && len(v) == 1:
		req.Header.Set("Authorization", v[0])
	}
	return req, nil
}

// heldReader reads an answer, three times the length of which is held: as it came, in parts, and
// as it is passed on.
type heldReader struct {
	io.Reader

	wait func(bytes int) error // until so many more can be held
}

func (r heldReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if short := r.wait(heldTimes * n); short != nil {
		return n, short
	}
	return n, err
}

const heldTimes = 3

// fetch makes a request whose answer is one JSON object. While it waits for room, its time does
// not pass.
func (g *Gateway) fetch(ctx context.Context, held *gatehttp.Held, method, path, query string, from *http.Request, body []byte) (status int, data []byte, f *fault) {
	ctx, limit := gatehttp.WithLimit(ctx, shortTimeout)
	defer limit.Stop()
	req, err := g.request(ctx, method, path, query, from, body)
	if err != nil {
		return 0, nil, &fault{http.StatusBadRequest, "the address is malformed"}
	}
	res, err := g.http.Do(req)
	if err != nil {
		return 0, nil, errUpstream
	}
	defer res.Body.Close()
	data, err = io.ReadAll(io.LimitReader(heldReader{res.Body, func(n int) error { return limit.Wait(ctx, held, n) }}, maxBody+1))
	switch {
	case errors.Is(err, gatehttp.ErrNoRoom):
		return 0, nil, errNoRoom
	case err != nil || len(data) > maxBody:
		return 0, nil, &fault{http.StatusBadGateway, "the server's answer is broken or too long"}
	case len(data) > 0 && g.echoesHeld(held, data):
		return 0, nil, errEcho
	case res.StatusCode == http.StatusNoContent:
		return res.StatusCode, nil, nil
	case res.StatusCode >= 400:
		return 0, nil, refusal(res.StatusCode, data)
	case res.StatusCode >= 300 || res.StatusCode < 200:
		return 0, nil, &fault{http.StatusBadGateway, "the server sends its client elsewhere"}
	}
	if _, err := readObject(data); err != nil || !isType(res, "application/json") {
		return 0, nil, &fault{http.StatusBadGateway, "the server's answer is no JSON object that can be read in one way"}
	}
	return res.StatusCode, data, nil
}

// errEcho is the error for an answer that holds the server's key: the client does not get it.
var errEcho = &fault{http.StatusBadGateway, "the server's answer is withheld since it holds a credential"}

// echoes reports whether an answer, which is JSON or another text, holds the server's key.
func (g *Gateway) echoes(data []byte) bool {
	if g.cfg.Key == "" {
		return false
	}
	if strictjson.Check(data) != nil {
		return gatehttp.EchoesText(string(data), []string{g.cfg.Key})
	}
	return gatehttp.Echoes(data, []string{g.cfg.Key})
}

// echoesHeld is echoes for an answer that is held.
func (g *Gateway) echoesHeld(held *gatehttp.Held, data []byte) (found bool) {
	held.Work(func() { found = g.echoes(data) })
	return found
}

var errNoRoom = &fault{http.StatusServiceUnavailable, gatehttp.ErrNoRoom.Error()}

var errUpstream = &fault{http.StatusBadGateway, "the server does not answer"}

// refusal passes an error of the server on, with its own text if it is of the protocol's form.
func refusal(status int, data []byte) *fault {
	f := &fault{status, "the server refuses it: " + http.StatusText(status)}
	if status >= 500 {
		f.status = http.StatusBadGateway
	}
	if o, err := readObject(data); err == nil {
		if s := text(o, "error"); s != "" && len(s) <= 1<<10 {
			f.text = s
		}
	}
	return f
}

func isType(res *http.Response, want string) bool {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	// Servers of JSON may leave it out, or call it text.
	return err == nil && kind == want || want == "application/json" && (res.Header.Get("Content-Type") == "" || kind == "text/plain")
}

// postTurn posts a turn, and reads it part by part. arrived is false if it certainly did not
// arrive, or the server did nothing.
func (g *Gateway) postTurn(ctx context.Context, held *gatehttp.Held, s *session, body strictjson.Object, stream bool, from *http.Request, use func(part) error) (t *turn, arrived bool, f *fault) {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	req, err := g.request(ctx, http.MethodPost, "/sessions/"+url.PathEscape(s.id)+"/turns", "", from, encode(body))
	if err != nil {
		return nil, false, &fault{http.StatusBadRequest, "the session's id is malformed"}
	}
	res, err := g.http.Do(req)
	if err != nil {
		op, ok := errors.AsType[*net.OpError](err)
		return nil, !ok || op.Op != "dial", errUpstream
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode >= 300 {
		data, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
		f := refusal(res.StatusCode, data)
		if g.echoes(data) {
			f = &fault{f.status, errEcho.text}
		}
		if res.StatusCode < 400 {
			f = &fault{http.StatusBadGateway, "the server sends its client elsewhere"}
		}
		return nil, res.StatusCode >= 500 && res.StatusCode != http.StatusServiceUnavailable, f
	}
	t = new(turn)
	filter := g.withoutKey(s, use)
	add := func(p part) error {
		err := filter.add(p)
		if len(t.calls) == 0 && len(filter.held) == 0 {
			held.Free() // all is passed on
		}
		return err
	}
	in := heldReader{res.Body, func(n int) error { return held.Wait(ctx, n) }}
	if stream {
		if !isType(res, "text/event-stream") {
			return nil, true, &fault{http.StatusBadGateway, "the server's turn is no stream of events"}
		}
		err = t.readStream(in, add)
	} else {
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(in, maxBody+1)); err == nil && len(data) > maxBody {
			err = errors.New("it is too long")
		}
		if err == nil {
			err = t.readWhole(data, filter.add)
		}
	}
	if err == nil {
		err = filter.end()
	}
	if err != nil {
		return nil, true, &fault{http.StatusBadGateway, "the server's turn cannot be used: " + errorText(err)}
	}
	t.keep(held)
	return t, true, nil
}

// errorText returns an error for the client. Errors of the connection have addresses.
func errorText(err error) string {
	if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection to the server broke"
	}
	return err.Error()
}

// pass passes a request without calls on, and its answer back.
func (g *Gateway) pass(w http.ResponseWriter, r *http.Request, path string) *fault {
	held := g.memory.Begin("")
	defer held.Free()
	status, data, f := g.fetch(r.Context(), held, r.Method, path, r.URL.RawQuery, r, nil)
	if f != nil {
		return f
	}
	reply(w, status, data)
	return nil
}

// reply writes an answer. A client that does not read it is dropped: the session is in use until then.
func reply(w http.ResponseWriter, status int, data []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	if data != nil {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
	}
	w.WriteHeader(status)
	_, _ = w.Write(data) //nolint:gosec // it is JSON, and says so
}
