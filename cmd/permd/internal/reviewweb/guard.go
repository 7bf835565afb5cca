package reviewweb

import (
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"sync"
)

// guard lets in the browser that has opened the link, and nobody else.
//
// The link holds a token that counts once and is exchanged for a cookie. Browsers send the
// cookies of a host to all of its ports, whose programs may be anybody's, but only to the path
// that they were set for: so all pages lie in a folder with a random name. Every request must
// name this server as its host, which a name that was pointed here (DNS rebinding) does not,
// and must not come from another site's page. What changes something is a POST that also has
// the form's own token.
type guard struct {
	host    func(string) bool // whether a Host header names this server
	base    string            // the folder of the pages, "/…/"
	token   string            // of the link
	session string            // the cookie's value
	form    string            // of all forms

	mu     sync.Mutex
	opened bool // the link was used
}

// openPage is the page that the link leads to.
const openPage = "open"

const cookieName = "permd_review"

// refusal is a page that says why there is no other.
type refusal struct {
	status      int
	Title, Text string
}

func newGuard(addr net.Addr) (*guard, error) {
	g := &guard{base: "/" + rand.Text() + "/", token: rand.Text(), session: rand.Text(), form: rand.Text()}
	at := addr.String()
	g.host = func(host string) bool { return host == at }
	if addr.Network() == "unix" {
		// A browser gets here through a port that somebody forwards, such as ssh.
		g.host = isLoopback
	}
	return g, nil
}

// isLoopback reports whether a host, with or without a port, is this machine's own.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// policy is what pages may load: only what comes from here, and no code within a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	// No referrer is sent to other sites. With no-referrer, forms would have no Origin to check.
	h.Set("Referrer-Policy", "same-origin")
}

// admit returns the page that is asked for, below the folder of the pages, or why there is
// none. It serves the files that pages load itself: they hold nothing of the person.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) (page string, no *refusal) {
	if no := g.checkSource(r); no != nil {
		return "", no
	}
	if file, ok := strings.CutPrefix(r.URL.Path, "/assets/"); ok && r.Method != http.MethodPost {
		return "", serveAsset(w, r, file)
	}
	page, ok := strings.CutPrefix(r.URL.Path, g.base)
	if !ok {
		return "", &refusal{http.StatusUnauthorized, "This address is not open",
			"The command permd review --web prints the link to open. Each time it is started that is another one, and a page of an earlier one leads nowhere."}
	}
	inside := g.hasSession(r)
	if page == openPage && r.Method != http.MethodPost {
		if no := g.open(w, r, inside); no != nil {
			return "", no
		}
		return openPage, nil
	}
	if !inside {
		return "", &refusal{http.StatusUnauthorized, "This browser has not opened the link",
			"Open the link that permd review --web has printed. It can be used once: if another browser has used it, end the command and start it again."}
	}
	if r.Method == http.MethodPost {
		return page, g.checkForm(w, r)
	}
	return page, nil
}

// checkSource refuses what no page of this server, and nobody at the browser, asks for.
func (g *guard) checkSource(r *http.Request) *refusal {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		return &refusal{http.StatusMethodNotAllowed, "This cannot be done", "Pages are only read, and forms sent."}
	}
	if !g.host(r.Host) {
		return &refusal{http.StatusMisdirectedRequest, "This is another server", "The address names a host that is not this server. Use the link that permd review --web has printed."}
	}
	foreign := &refusal{http.StatusForbidden, "Another site asks", "This page takes no request from another site's page. Use the link that permd review --web has printed, or the menu of its pages."}
	own := "http://" + r.Host
	if origin := r.Header.Get("Origin"); origin != own && (origin != "" || r.Method == http.MethodPost) {
		return foreign
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default: // the link may be in any page, such as a web terminal's
		if r.URL.Path != g.base+openPage || r.Method == http.MethodPost || r.Header.Get("Sec-Fetch-Dest") != "document" {
			return foreign
		}
	}
	return nil
}

func (g *guard) hasSession(r *http.Request) bool {
	c, err := r.Cookie(cookieName)
	return err == nil && subtle.ConstantTimeCompare([]byte(c.Value), []byte(g.session)) == 1
}

// open exchanges the link's token for the cookie.
func (g *guard) open(w http.ResponseWriter, r *http.Request, inside bool) *refusal {
	if inside {
		return nil
	}
	if r.Header.Get("Sec-Purpose") != "" || r.Method == http.MethodHead {
		return &refusal{http.StatusForbidden, "This link is not loaded in advance", "Open it in the browser."}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case subtle.ConstantTimeCompare([]byte(r.URL.Query().Get("token")), []byte(g.token)) != 1:
		return &refusal{http.StatusUnauthorized, "The link is not right", "Its token is not the one that permd review --web has printed. Copy the whole link."}
	case g.opened:
		return &refusal{http.StatusUnauthorized, "The link was used before", "It can be used once. If that was not you, somebody else has read it: end permd review --web, start it again, and open the new link."}
	}
	g.opened = true
	//nolint:gosec // Secure is for https, which no loopback address has
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: g.session, Path: g.base, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	return nil
}

// checkForm reads a form and compares its token.
func (g *guard) checkForm(w http.ResponseWriter, r *http.Request) *refusal {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/x-www-form-urlencoded" {
		return &refusal{http.StatusUnsupportedMediaType, "This is no form", "Nothing was changed."}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return &refusal{http.StatusBadRequest, "The form cannot be read", "Nothing was changed."}
	}
	if subtle.ConstantTimeCompare([]byte(r.PostForm.Get("form_token")), []byte(g.form)) != 1 {
		return &refusal{http.StatusForbidden, "The form is not of this page", "Nothing was changed. Load the page again."}
	}
	return nil
}

//go:embed assets
var assets embed.FS

// assetType returns the type of a file that pages load, "" for any other.
func assetType(file string) string {
	switch path.Ext(file) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return ""
}

func serveAsset(w http.ResponseWriter, _ *http.Request, file string) *refusal {
	kind := assetType(file)
	data, err := assets.ReadFile("assets/" + file)
	if kind == "" || err != nil {
		return &refusal{http.StatusNotFound, "There is no such file", "The menu has all pages."}
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(data) //nolint:gosec // a file of permd; nobody is there to be told of an error
	return served
}

// served means that the answer was written.
var served = &refusal{}

// cutPage returns the first part of a page's path and the rest.
func cutPage(page string) (first, id string) {
	first, id, _ = strings.Cut(page, "/")
	return first, id
}
