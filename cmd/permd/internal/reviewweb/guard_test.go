package reviewweb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/socket/gatehttp"
)

// startPages serves pages without a daemon.
func startPages(t *testing.T, address string) *Server {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_RUNTIME_DIR", home)
	t.Setenv("PERMD_ADMIN_SOCKET", "")
	ln, err := gatehttp.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Listener: ln, Root: home, Rules: func(context.Context) ([]rules.RuleInfo, error) { return nil, errors.New("none") }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask sends a request; headers are "Name: value", Host among them.
func ask(t *testing.T, method, address, body string, headers ...string) (status int, text string, h http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{DisableKeepAlives: true}}
	a, err := c.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, address, err)
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(data), a.Header
}

// TestGuard: only the browser that has opened the link gets a page, once, from this address,
// and not for another site; only forms of the pages change something.
func TestGuard(t *testing.T) {
	s := startPages(t, "127.0.0.1:0")
	host := s.o.Listener.Addr().String()
	root := "http://" + host + s.guard.base
	cookie := "Cookie: " + cookieName + "=" + s.guard.session
	own := "Origin: http://" + host
	form := url.Values{"form_token": {s.guard.form}, "answer": {"maybe"}}.Encode()
	check := func(name, method, address, body string, want int, headers ...string) {
		t.Helper()
		status, text, h := ask(t, method, address, body, headers...)
		if status != want {
			t.Errorf("%s: status %d, not %d: %s", name, status, want, text)
		}
		if strings.Contains(text, s.guard.form) || strings.Contains(text, s.guard.session) {
			t.Errorf("%s: a refusal tells a token: %s", name, text)
		}
		for name, value := range map[string]string{"Content-Security-Policy": policy, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"} {
			if h.Get(name) != value {
				t.Errorf("%s: %s is %q", name, name, h.Get(name))
			}
		}
		if want != http.StatusOK && h.Get("Set-Cookie") != "" {
			t.Errorf("%s: a cookie: %s", name, h.Get("Set-Cookie"))
		}
	}
	token := root + "open?token="
	check("no link", "GET", "http://"+host+"/", "", 401)
	check("a folder of another process", "GET", "http://"+host+"/ABCDEF/", "", 401, cookie)
	check("without the cookie", "GET", root, "", 401)
	check("a forged cookie", "GET", root, "", 401, "Cookie: "+cookieName+"=x")
	check("without a token", "GET", root+"open", "", 401)
	check("a forged token", "GET", token+"x", "", 401)
	check("the beginning of a token", "GET", token+s.guard.token[:20], "", 401)
	check("another host", "GET", token+s.guard.token, "", 421, "Host: evil.test:80")
	check("another port", "GET", token+s.guard.token, "", 421, "Host: 127.0.0.1:1")
	check("by name", "GET", token+s.guard.token, "", 421, "Host: localhost"+host[strings.LastIndex(host, ":"):])
	check("from another origin", "GET", token+s.guard.token, "", 403, "Origin: http://evil.test")
	check("as a picture of another site", "GET", token+s.guard.token, "", 403, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: image")
	check("in a frame of another site", "GET", token+s.guard.token, "", 403, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: iframe")
	check("in advance", "GET", token+s.guard.token, "", 403, "Sec-Purpose: prefetch")
	check("by a form", "POST", token+s.guard.token, form, 401, own)
	check("HEAD", "HEAD", token+s.guard.token, "", 403)

	status, text, h := ask(t, "GET", token+s.guard.token, "", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: document", "Sec-Fetch-Mode: navigate")
	if set := h.Get("Set-Cookie"); status != 200 || set != cookieName+"="+s.guard.session+"; Path="+s.guard.base+"; HttpOnly; SameSite=Strict" {
		t.Errorf("the link: %d %q %s", status, set, text)
	}
	check("the link again", "GET", token+s.guard.token, "", 401)
	check("the page, without a daemon", "GET", root, "", 503, cookie)
	check("an unknown page", "GET", root+"nowhere", "", 404, cookie)
	check("from a page of another port", "GET", root, "", 403, cookie, "Sec-Fetch-Site: same-site")
	check("from another site", "GET", root, "", 403, cookie, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: document")
	check("to another host", "GET", root, "", 421, cookie, "Host: rebound.test")
	check("an unknown method", "DELETE", root, "", 405, cookie)
	check("files", "GET", "http://"+host+"/assets/../guard.go", "", 404, cookie)
	check("templates", "GET", "http://"+host+"/assets/layout.html", "", 404)
	check("a file", "GET", "http://"+host+"/assets/style.css", "", 200)

	to := root + "questions/x"
	check("a form", "POST", to, form, 400, cookie, own) // its answer is none, which is what is wrong with it
	check("a form without the cookie", "POST", to, form, 401, own)
	check("a form without an origin", "POST", to, form, 403, cookie)
	check("a form of another origin", "POST", to, form, 403, cookie, "Origin: http://evil.test")
	check("a form of nowhere", "POST", to, form, 403, cookie, "Origin: null")
	check("a form of another site", "POST", to, form, 403, cookie, own, "Sec-Fetch-Site: cross-site")
	check("a form without a token", "POST", to, "answer=allow", 403, cookie, own)
	check("a form with a forged token", "POST", to, "answer=allow&form_token="+s.guard.session, 403, cookie, own)
	check("a token in the address", "POST", to+"?form_token="+s.guard.form, "answer=allow", 403, cookie, own)
	check("JSON", "POST", to, "{}", 415, cookie, own, "Content-Type: application/json")
	check("a form that is too long", "POST", to, form+"&x="+strings.Repeat("x", maxForm), 400, cookie, own)
}

// TestUnixSocket: pages on a Unix socket are for its user, through a port of this machine.
func TestUnixSocket(t *testing.T) {
	folder, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "own", "review.sock")
	t.Cleanup(func() { os.RemoveAll(folder) })
	s := startPages(t, "unix:"+path)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v %v", info, err)
	}
	for host, want := range map[string]string{"localhost:8080": "200", "127.0.0.1:8080": "200", "[::1]:8080": "200", "evil.test": "421", "10.0.0.1:80": "421"} {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET /assets/style.css HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host)
		line, err := bufio.NewReader(c).ReadString('\n')
		c.Close()
		if err != nil || !strings.Contains(line, " "+want+" ") {
			t.Errorf("%s: %q, %v", host, line, err)
		}
	}
	if strings.HasPrefix(s.Link(), "http") {
		t.Errorf("the link is %s", s.Link())
	}
}

// TestConnections: what holds connections without asking holds up nobody for long, and another
// user gets none.
func TestConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits until connections that hang are closed; TestGuard is the quick one")
	}
	s := startPages(t, "127.0.0.1:0")
	host := s.o.Listener.Addr().String()
	for range maxConns {
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	eventually.Holds(t, "a client is answered beside those that hang", func() bool {
		c, err := net.DialTimeout("tcp", host, time.Second)
		if err != nil {
			return false
		}
		defer c.Close()
		fmt.Fprintf(c, "GET /assets/style.css HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host)
		line, _ := bufio.NewReader(c).ReadString('\n') // "" where it was closed
		return strings.Contains(line, " 200 ")
	})
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("only root can be another user, and only Linux tells")
	}
	const nobody = 65534
	get := fmt.Sprintf(`exec 3<>/dev/tcp/%s && printf 'GET /assets/style.css HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' >&3 && head -n 1 <&3`, strings.Replace(host, ":", "/", 1), host)
	for uid, want := range map[uint32]bool{nobody: false, 0: true} {
		cmd := exec.Command("bash", "-c", get)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, _ := cmd.CombinedOutput() // it fails where the connection is closed
		if got := strings.Contains(string(out), " 200 "); got != want {
			t.Errorf("user %d: %s", uid, out)
		}
	}
}
