package management

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/bundles/bundlestest"
)

// fleet is a server of bundles and what takes them.
type fleet struct {
	key     bundlestest.Key
	manager *Manager
	keeper  *bundles.Keeper

	mu       sync.Mutex
	serve    http.HandlerFunc
	taken    []string // revisions
	refuse   error    // of what is taken
	requests int
}

func layer(program string) map[string]string {
	return map[string]string{"rules.yaml": "deny:\n  run: [" + program + "]\n"}
}

// indented returns a text in the place of a block of YAML.
func indented(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ")
}

func (f *fleet) config(service, more string) string {
	return "services:\n  s: {" + service + "}\nkeys:\n  " + bundlestest.KeyID + ":\n    algorithm: ES256\n    scope: " + bundlestest.Scope +
		"\n    key: |\n      " + indented(f.key.Public) + "\nbundles:\n  org:\n    service: s\n    resource: org.tar.gz\n    signing: {keyid: " + bundlestest.KeyID + ", scope: " + bundlestest.Scope + "}\n" + more
}

func newFleet(t *testing.T) *fleet {
	f := &fleet{key: bundlestest.NewKey(t)}
	f.keeper = bundles.Keep(bundles.Org, t.TempDir(), f.key.Config(), time.Now)
	return f
}

// start makes the manager, and does not start it: tests trigger each download.
func (f *fleet) start(t *testing.T, config string) {
	t.Helper()
	c, err := Parse("opa.yaml", []byte(config))
	if err != nil {
		t.Fatal(err)
	}
	if f.manager, err = New(c, Options{Machine: Machine{ID: "test"}, Log: slog.New(slog.DiscardHandler), Activate: f.activate}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.manager.Stop)
	if err := f.manager.bundles[bundles.Org].open(); err != nil {
		t.Fatal(err)
	}
}

func (f *fleet) activate(_ context.Context, _ bundles.Kind, data []byte) (string, error) {
	b, known, err := f.keeper.Read(data)
	if err == nil {
		err = f.refuse
	}
	if err == nil && !known {
		err = f.keeper.Store(b, data)
	}
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken = append(f.taken, b.Revision)
	return b.Revision, nil
}

func (f *fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	serve := f.serve
	f.requests++
	f.mu.Unlock()
	serve(w, r)
}

// serves has the server answer in another way.
func (f *fleet) serves(serve http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.serve = serve
}

// poll downloads once, and returns why that failed, "" if it did not.
func (f *fleet) poll(t *testing.T) string {
	t.Helper()
	l := f.manager.bundles[bundles.Org].loader.(interface{ Trigger(context.Context) error })
	err := l.Trigger(t.Context())
	s := f.manager.BundleStatus(bundles.Org)
	if (err == nil) != (s.Error == "") || (s.Error == "") != s.Since.IsZero() {
		t.Fatalf("%v, but %+v", err, s)
	}
	return s.Error
}

func sends(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(data) }
}

// TestDownload: a bundle is taken, is not sent again while it has not changed, and a later one
// is taken in its place.
func TestDownload(t *testing.T) {
	f := newFleet(t)
	server := httptest.NewServer(f)
	defer server.Close()
	f.start(t, f.config("url: "+server.URL, ""))
	current, bodies := "1", 0
	f.serve = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/org.tar.gz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("ETag", `"`+current+`"`)
		if r.Header.Get("If-None-Match") == `"`+current+`"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		bodies++
		_, _ = w.Write(f.key.Signed(t, current, layer("rm")))
	}
	for _, want := range []struct {
		revision string
		bodies   int
	}{{"1", 1}, {"1", 1}, {"2", 2}, {"2", 2}} {
		current = want.revision
		if why := f.poll(t); why != "" || f.taken[len(f.taken)-1] != want.revision || bodies != want.bodies {
			t.Errorf("%s, %v, sent %d times; want %+v", why, f.taken, bodies, want)
		}
	}
	if s := f.manager.BundleStatus(bundles.Org); s.Source != server.URL+"/org.tar.gz" || s.Checked.IsZero() {
		t.Errorf("%+v", s)
	}
}

// TestDownloadRefuses: whatever the server answers, what was taken before stays, and the reason
// is said; the next good bundle is taken.
func TestDownloadRefuses(t *testing.T) {
	defer func(d time.Duration) { readWithin = d }(readWithin)
	f := newFleet(t)
	server := httptest.NewServer(f)
	defer server.Close()
	f.start(t, f.config("url: "+server.URL, ""))
	good := f.key.Signed(t, "5", layer("rm"))
	f.serves(sends(good))
	if why := f.poll(t); why != "" {
		t.Fatal(why)
	}
	unsigned, err := bundles.Build(bundles.Contents{Kind: bundles.Org, Revision: "6", Files: bundlestest.Files(layer("rm"))})
	if err != nil {
		t.Fatal(err)
	}
	six := f.key.Signed(t, "6", layer("mv"))
	scoped := f.key.Signing()
	scoped.Scope = "other"
	wrongScope, err := bundles.Sign(six, scoped)
	if err != nil {
		t.Fatal(err)
	}
	expired, err := bundles.Build(bundles.Contents{Kind: bundles.Org, Revision: "6", Expires: time.Unix(1, 0), Files: bundlestest.Files(layer("rm"))})
	if err != nil {
		t.Fatal(err)
	}
	rules := bundlestest.File("rules.yaml", "deny:\n  run: [rm]\n")
	for _, tt := range []struct {
		name  string
		serve http.HandlerFunc
		want  string
	}{
		{"a failure", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }, "server replied with Internal Server Error"},
		{"no such bundle", http.NotFound, "server replied with Not Found"},
		{"a page", sends([]byte("<html><body>log in</body></html>")), "it is no gzipped archive, but a page of HTML"},
		{"nothing", sends(nil), "it is no gzipped archive, but empty"},
		{"no answer", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "the server did not answer in full within 300ms"},
		{"an answer that does not end", func(w http.ResponseWriter, r *http.Request) {
			for chunk := make([]byte, 1<<20); r.Context().Err() == nil; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, "the answer is larger than 16 MiB"},
		{"slowly", func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(six[:10])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "the server did not answer in full within 300ms"},
		{"a part", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(six)))
			_, _ = w.Write(six[:10])
		}, "the answer was cut off"},
		{"a part that seems whole", sends(six[:len(six)-20]), "the archive is cut off"},
		{"too much", sends(make([]byte, bundles.MaxArchive+1)), "the answer is larger than 16 MiB"},
		{"unsigned", sends(unsigned), "bundle missing .signatures.json file"},
		{"another key", sends(bundlestest.NewKey(t).Signed(t, "6", layer("mv"))), "failed to verify JWT signature"},
		{"another scope", sends(wrongScope), "scope mismatch"},
		{"expired", sends(f.key.Sign(t, expired)), "revision 6 expired at 1970-01-01T00:00:01Z"},
		{"another root", sends(f.key.Sign(t, bundlestest.Archive(t, rules, bundlestest.File(".manifest", `{"revision":"6","roots":["permd/user"]}`)))), "the roots are"},
		{"an earlier one", sends(f.key.Signed(t, "4", layer("rm"))), "revision 4 is lower than 5, which was accepted on"},
		{"another of the same revision", sends(f.key.Signed(t, "5", layer("mv"))), "revision 5 was accepted with other contents"},
		{"a delta", sends(f.key.Sign(t, bundlestest.Archive(t, bundlestest.Manifest("6"), bundlestest.File("patch.json", `{"data":[]}`)))), "delta"},
		{"a path that leads out", sends(bundlestest.Archive(t, bundlestest.Manifest("6"), bundlestest.File("../../etc/permd/policy.d/rules.yaml", ""))), "which is not allowed"},
		{"a bomb", sends(bomb(t)), "the archive unpacks to more than 72 MiB"},
		{"nothing new", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotModified) }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.serves(tt.serve)
			readWithin = time.Minute
			if strings.Contains(tt.want, "300ms") {
				readWithin = 300 * time.Millisecond
			}
			why := f.poll(t)
			if !strings.Contains(why, tt.want) || (why == "") != (tt.name == "nothing new") {
				t.Errorf("the reason is %q, want %s", why, tt.want)
			}
			if len(f.taken) != 1 || f.keeper.Accepted().Revision != "5" {
				t.Fatalf("taken: %v, accepted %+v", f.taken, f.keeper.Accepted())
			}
		})
	}
	f.serve, f.refuse = sends(six), errors.New("loading org rules: bundle 6: rules.yaml:2: no")
	if why := f.poll(t); why != f.refuse.Error() || f.keeper.Accepted().Revision != "5" {
		t.Errorf("%q, %+v", why, f.keeper.Accepted())
	}
	server.CloseClientConnections()
	f.refuse = nil
	if why := f.poll(t); why != "" || f.taken[len(f.taken)-1] != "6" {
		t.Errorf("%q, %v", why, f.taken)
	}
}

// bomb is an archive that is small until it is unpacked.
func bomb(t *testing.T) []byte {
	var all []bundlestest.Entry
	for i := range 80 {
		all = append(all, bundlestest.File(fmt.Sprint(i), strings.Repeat("\x00", 1<<20)))
	}
	return bundlestest.Archive(t, all...)
}

// TestDownloadNever: a server that says only that nothing is new has sent no bundle.
func TestDownloadNever(t *testing.T) {
	f := newFleet(t)
	server := httptest.NewServer(f)
	defer server.Close()
	f.start(t, f.config("url: "+server.URL, ""))
	f.serve = func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotModified) }
	if why := f.poll(t); !strings.Contains(why, "none of it was taken yet") {
		t.Error(why)
	}
	server.Close()
	if why := f.poll(t); !strings.Contains(why, "connection refused") {
		t.Error(why)
	}
}

// TestLongPoll: with a long poll the server is asked to wait, and its answer counts as soon as it comes.
func TestLongPoll(t *testing.T) {
	f := newFleet(t)
	server := httptest.NewServer(f)
	defer server.Close()
	f.start(t, f.config("url: "+server.URL, "    polling: {min_delay_seconds: 1, max_delay_seconds: 1, long_polling_timeout_seconds: 60}\n"))
	waits, release := make(chan string, 8), make(chan struct{})
	f.serve = func(w http.ResponseWriter, r *http.Request) {
		waits <- r.Header.Get("Prefer")
		w.Header().Set("Content-Type", "application/vnd.openpolicyagent.bundles")
		revision := "1"
		if r.Header.Get("If-None-Match") != "" {
			select {
			case <-release:
			case <-r.Context().Done():
				return
			}
			revision = "2"
		}
		w.Header().Set("ETag", revision)
		_, _ = w.Write(f.key.Signed(t, revision, layer("rm")))
	}
	if err := f.manager.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer f.manager.Stop()
	for range 2 {
		if got := <-waits; !strings.Contains(got, "wait=60") {
			t.Errorf("Prefer is %q", got)
		}
	}
	close(release)
	eventually.Holds(t, "the second is taken", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.taken) >= 2 && f.taken[1] == "2"
	})
}

// TestClientCertificate: a server of TLS that wants a certificate gets it, and one of another
// authority is not believed.
func TestClientCertificate(t *testing.T) {
	f := newFleet(t)
	f.serve = func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 {
			t.Error("no certificate was shown")
		}
		_, _ = w.Write(f.key.Signed(t, "1", layer("rm")))
	}
	server := httptest.NewUnstartedServer(f)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pair := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	credentials := fmt.Sprintf("credentials: {client_tls: {cert: %s, private_key: %s}}", write("cert.pem", "CERTIFICATE", pair.Certificate[0]), write("key.pem", "PRIVATE KEY", key))
	f.start(t, f.config("url: "+server.URL+", "+credentials, ""))
	if why := f.poll(t); !strings.Contains(why, "certificate") {
		t.Error(why)
	}
	f.start(t, f.config("url: "+server.URL+", tls: {ca_cert: "+write("ca.pem", "CERTIFICATE", server.Certificate().Raw)+"}, "+credentials, ""))
	if why := f.poll(t); why != "" || len(f.taken) != 1 {
		t.Error(why)
	}
}

// TestRedirectWithoutEncryption: a server cannot lead to one that all can listen to.
func TestRedirectWithoutEncryption(t *testing.T) {
	f := newFleet(t)
	plain := httptest.NewServer(f)
	defer plain.Close()
	f.serve = func(http.ResponseWriter, *http.Request) { t.Error("asked without encryption") }
	server := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	f.start(t, f.config("url: "+server.URL+", tls: {ca_cert: "+ca+"}", ""))
	if why := f.poll(t); !strings.Contains(why, "leads to an address without encryption") {
		t.Error(why)
	}
}
