package gatehttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Upstream is a server that a gateway forwards to. It gets what is sent to it and nobody
// else does: redirects are not followed, proxies of the environment are not used, cookies
// are not kept, and plain HTTP is for this machine alone.
type Upstream struct {
	base   string
	client *http.Client
	o      UpstreamOptions
}

// UpstreamOptions are the bounds of an exchange.
type UpstreamOptions struct {
	Timeout   time.Duration // from the connection to the last byte of the answer
	MaxAnswer int           // bytes of the answer's body
	// Reachable reports whether a connection may be made to an address that the host's name
	// was resolved to; nil for any.
	Reachable func(netip.Addr) bool
}

// Answer is an upstream's answer with a status that is no redirect.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// UpstreamError is why there is no answer. Its text holds neither what was sent nor what
// was answered.
type UpstreamError struct {
	// Sent says that the upstream may have got the request.
	Sent bool
	// Answered says that it has answered, with what is not read.
	Answered bool
	Text     string
}

func (e *UpstreamError) Error() string { return e.Text }

// NewUpstream returns the upstream with a base address, to which paths are added.
func NewUpstream(base string, o UpstreamOptions) (*Upstream, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the address of an upstream must be an http or https URL")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("the address of an upstream must have no user, query or fragment")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return nil, errors.New("the address of an upstream on another machine must be https")
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &Upstream{base: strings.TrimRight(u.String(), "/"), o: o, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Protocols: protocols,
			Proxy:     nil,
			// A request on a connection that was used before could be sent again.
			DisableKeepAlives:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 64 << 10,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			DialContext:            o.dialer().DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
		},
	}}, nil
}

var errUnreachable = errors.New("the address must not be reached")

// dialer returns what connects. It looks at the address of each connection itself: the name
// may be resolved to another one than before.
func (o *UpstreamOptions) dialer() *net.Dialer {
	d := &net.Dialer{Timeout: 10 * time.Second}
	if o.Reachable != nil {
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || !o.Reachable(at.Addr().Unmap()) {
				return errUnreachable
			}
			return nil
		}
	}
	return d
}

// WithTimeout returns an upstream like u with another bound of the time of an exchange.
func (u *Upstream) WithTimeout(d time.Duration) *Upstream {
	other := *u
	other.o.Timeout = d
	return &other
}

// Address returns the base address.
func (u *Upstream) Address() string { return u.base }

func isLoopback(host string) bool {
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.IsLoopback()
}

// Do sends one request, never twice, and reads the whole answer, twice the length of which is
// held: as it came, and as it is passed on. While it waits for room, the time for the exchange
// does not pass. body is nil for none. The error is an *UpstreamError.
func (u *Upstream) Do(ctx context.Context, held *Held, method, path string, header http.Header, body []byte) (*Answer, error) {
	ctx, limit := WithLimit(ctx, u.o.Timeout)
	defer limit.Stop()
	var sent atomic.Bool
	fail := func(text string) error { return &UpstreamError{Sent: sent.Load(), Text: text} }
	unread := func(text string) error { return &UpstreamError{Sent: true, Answered: true, Text: text} }
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.base+path, content)
	if err != nil {
		return nil, fail("the request cannot be written")
	}
	req.GetBody = nil
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header["User-Agent"] = []string{"permd"}
	if body != nil {
		req.Header["Content-Type"] = []string{"application/json"}
	}
	resp, err := u.client.Do(req)
	if err != nil {
		return nil, fail(connectionError(ctx, err, sent.Load()))
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode/100 == 3:
		return nil, unread(fmt.Sprintf("it redirects (status %d)", resp.StatusCode))
	case resp.StatusCode < 200:
		return nil, unread(fmt.Sprintf("it switches protocols (status %d)", resp.StatusCode))
	case len(resp.Header["Content-Encoding"]) > 0:
		return nil, unread("its answer is encoded, which was not asked for")
	}
	got, err := u.readAnswer(ctx, resp, held, limit)
	switch {
	case errors.Is(err, ErrNoRoom):
		return nil, unread(err.Error())
	case err != nil:
		return nil, fail(connectionError(ctx, err, true))
	case len(got) > u.o.MaxAnswer:
		return nil, unread(fmt.Sprintf("its answer is longer than %d bytes", u.o.MaxAnswer))
	}
	return &Answer{resp.StatusCode, resp.Header, got}, nil
}

// readAnswer reads the body of an answer, of which a byte more than MaxAnswer at most.
func (u *Upstream) readAnswer(ctx context.Context, resp *http.Response, held *Held, limit *TimeLimit) ([]byte, error) {
	all := u.o.MaxAnswer + 1 // how long it can be
	if n := resp.ContentLength; n >= 0 && n < int64(all) {
		all = int(n)
	}
	var got []byte
	for len(got) < all {
		if len(got) == cap(got) {
			more := min(max(len(got), 32<<10), all-len(got))
			if err := limit.Wait(ctx, held, 2*more); err != nil {
				return nil, err
			}
			got = append(make([]byte, 0, len(got)+more), got...)
		}
		n, err := resp.Body.Read(got[len(got):cap(got)])
		got = got[:len(got)+n]
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return got, nil
}

// TimeLimit is the time for an exchange. It is for one goroutine.
type TimeLimit struct {
	cancel    context.CancelCauseFunc
	timer     *time.Timer
	since     time.Time // of the timer
	remaining time.Duration
}

// WithLimit returns a context that is cancelled after d, with context.DeadlineExceeded as its
// cause. Stop must follow.
func WithLimit(ctx context.Context, d time.Duration) (context.Context, *TimeLimit) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &TimeLimit{cancel: cancel, since: time.Now(), remaining: d, timer: time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })}
}

// Wait waits as held does, and the time does not pass meanwhile. After an error it is not resumed.
func (l *TimeLimit) Wait(ctx context.Context, held *Held, n int) error {
	if held.Try(n) {
		return nil
	}
	l.timer.Stop()
	l.remaining -= time.Since(l.since)
	if err := held.Wait(ctx, n); err != nil {
		return err
	}
	l.since = time.Now()
	l.timer.Reset(l.remaining)
	return nil
}

// Stop ends the context.
func (l *TimeLimit) Stop() {
	l.timer.Stop()
	l.cancel(nil)
}

// connectionError says why an exchange failed, without the address and without text of the
// upstream.
func connectionError(ctx context.Context, err error, sent bool) string {
	_, unknown := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return "it did not answer in time"
	case ctx.Err() != nil:
		return "the client is gone"
	case unknown:
		return "its certificate cannot be verified"
	case sent:
		return "the connection broke before its whole answer came"
	}
	return "it cannot be reached"
}
