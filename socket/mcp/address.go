package mcp

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// CheckUpstream returns why a server at that address is not talked to: its name and password
// would be in the list of processes, or others could read what is sent.
func CheckUpstream(u *url.URL) error {
	switch {
	case u.User != nil:
		return errors.New("the address has a user or a password; put a token into a file or the environment")
	case u.Fragment != "":
		return errors.New("the address has a fragment")
	case u.Hostname() == "":
		return errors.New("the address has no host")
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return errors.New("the address begins with neither https:// nor http://")
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errors.New("http:// is only for servers of this machine (127.0.0.1, ::1, localhost): others can read what is sent")
	}
	return nil
}

// transportTo returns what connects to a server. Without TLS it connects to nothing but this
// machine, whatever a name stands for.
func transportTo(u *url.URL) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	t := &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: 30 * time.Second, ForceAttemptHTTP2: true,
		IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
		DisableCompression: true, // what is read is bounded as it is sent
	}
	if u.Scheme == "https" {
		t.Proxy = http.ProxyFromEnvironment
		return t
	}
	dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			return errors.New("the name is not of this machine")
		}
		return nil
	}
	return t
}

// noRedirect follows no redirect. The server would get one decided call several times, or another
// server at the same address would get it, each with the token.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// reasonOf returns an error's text without the address.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return err.Error()
}

func mediaType(resp *http.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind
}

func statusText(resp *http.Response) string {
	switch text := fmt.Sprintf("the server answered with HTTP %d", resp.StatusCode); resp.StatusCode / 100 {
	case 3:
		return text + ", a redirect, which is not followed"
	default:
		if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
			return text + ": it wants another token (--bearer-file, --bearer-env)"
		}
		return text
	}
}
