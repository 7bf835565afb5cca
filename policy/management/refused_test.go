package management

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/bundles/bundlestest"
)

// counted is a web server that sends a file with an ETag, and counts what it sends.
type counted struct {
	*httptest.Server
	sent atomic.Int64 // bytes, with headers

	mu   sync.Mutex
	data []byte
	etag string // "" for the digest of data
	seen
}

// seen is what a server has seen since its file changed.
type seen struct {
	full, same   int      // answers with 200 and 304
	asked, waits []string // If-None-Match and Prefer of each request
}

// saw returns what it has seen.
func (s *counted) saw() seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

type countedListener struct {
	net.Listener
	sent *atomic.Int64
}

type countedConn struct {
	net.Conn
	sent *atomic.Int64
}

func (l countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, l.sent}, err
}

func (c countedConn) Write(p []byte) (int, error) {
	c.sent.Add(int64(len(p))) // first, since who has read them counts
	return c.Conn.Write(p)
}

func newCounted(t *testing.T) *counted {
	s := new(counted)
	s.Server = httptest.NewUnstartedServer(s)
	s.Listener = countedListener{s.Listener, &s.sent}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements [http.Handler].
func (s *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.waits = append(s.asked, r.Header.Get("If-None-Match")), append(s.waits, r.Header.Get("Prefer"))
	if r.Header.Get(kindHeader) != "" {
		s.asked = append(s.asked, "a header that is permd's own")
	}
	etag := s.etag
	if etag == "" {
		sum := sha256.Sum256(s.data)
		etag = `"` + hex.EncodeToString(sum[:]) + `"`
	}
	w.Header().Set("ETag", etag)
	w.Header().Set("Content-Type", "application/vnd.openpolicyagent.bundles") // it can wait
	status := &recorded{w, http.StatusOK}
	http.ServeContent(status, r, "", time.Time{}, bytes.NewReader(s.data))
	if status.code == http.StatusNotModified {
		s.same++
	} else {
		s.full++
	}
}

type recorded struct {
	http.ResponseWriter
	code int
}

func (r *recorded) WriteHeader(code int) {
	r.code = code
	r.ResponseWriter.WriteHeader(code)
}

// sends has the server send a file, with an ETag of its own if etag is "", and counts anew.
func (s *counted) sends(data []byte, etag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data, s.etag, s.seen = data, etag, seen{}
	s.sent.Store(0)
}

// refusing is a machine with revision 5 in force.
func refusing(t *testing.T, more string) (*fleet, *counted) {
	t.Helper()
	f, s := newFleet(t), newCounted(t)
	f.start(t, f.config("url: "+s.URL, more))
	s.sends(f.key.Signed(t, "5", layer("rm")), "")
	if why := f.poll(t); why != "" {
		t.Fatal(why)
	}
	return f, s
}

// large are rules that compress badly.
func large() map[string]string {
	var text strings.Builder
	text.WriteString("deny:\n  run:\n")
	for i := range 500 {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		text.WriteString("    - x" + hex.EncodeToString(sum[:]) + "\n")
	}
	return map[string]string{"rules.yaml": text.String()}
}

// TestRefusedOnce: a bundle that is refused is downloaded once. While the server says that it still has
// the same one, it is not in force and the status and reports say why as before; another one is
// looked at, and that of before is taken.
func TestRefusedOnce(t *testing.T) {
	expired := func(t *testing.T, f *fleet) []byte {
		data, err := bundles.Build(bundles.Contents{Kind: bundles.Org, Revision: "6", Expires: time.Unix(1, 0), Files: bundlestest.Files(large())})
		if err != nil {
			t.Fatal(err)
		}
		return f.key.Sign(t, data)
	}
	for _, tt := range []struct {
		name string
		data func(*testing.T, *fleet) []byte
		want string
	}{
		{"a page", func(*testing.T, *fleet) []byte { return []byte("<html>" + strings.Repeat("x", 20_000)) }, "a page of HTML"},
		{"another key", func(t *testing.T, _ *fleet) []byte { return bundlestest.NewKey(t).Signed(t, "6", large()) }, "failed to verify JWT signature"},
		{"another root", func(t *testing.T, f *fleet) []byte {
			return f.key.Sign(t, bundlestest.Archive(t, bundlestest.File(".manifest", `{"revision":"6","roots":["permd/user"]}`), bundlestest.File("rules.yaml", large()["rules.yaml"])))
		}, "the roots are"},
		{"an earlier one", func(t *testing.T, f *fleet) []byte { return f.key.Signed(t, "4", large()) }, "revision 4 is lower than 5"},
		{"expired", expired, "revision 6 expired at"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, s := refusing(t, "")
			var log bytes.Buffer
			f.manager.opts.Log = slog.New(slog.NewTextHandler(&log, nil))
			data := tt.data(t, f)
			s.sends(data, "")
			first := f.poll(t)
			before := f.manager.BundleStatus(bundles.Org)
			if !strings.Contains(first, tt.want) || s.saw().full != 1 || s.sent.Load() < int64(len(data)) {
				t.Fatalf("%q, %+v, %d bytes", first, s.saw(), s.sent.Load())
			}
			s.sent.Store(0)
			const polls = 3
			for range polls {
				if why := f.poll(t); why != first {
					t.Errorf("%q, then %q", first, why)
				}
			}
			if n, saw := s.sent.Load(), s.saw(); saw.full != 1 || saw.same != polls || n > polls*400 {
				t.Errorf("%d bytes, %+v", n, saw)
			}
			after := f.manager.BundleStatus(bundles.Org)
			if after.Error != first || after.Since != before.Since || after.Checked != before.Checked || len(f.taken) != 1 {
				t.Errorf("%+v, then %+v, taken %v", before, after, f.taken)
			}
			if r := f.manager.bundles[bundles.Org].currentReport(); r.ActiveRevision != "5" || !strings.Contains(r.Message, tt.want) {
				t.Errorf("%+v", r)
			}
			if n := strings.Count(log.String(), "a bundle was not taken"); n != 1 {
				t.Errorf("logged %d times:\n%s", n, log.String())
			}
			s.sends(f.key.Signed(t, "7", layer("mv")), "")
			if why := f.poll(t); why != "" || f.taken[len(f.taken)-1] != "7" {
				t.Errorf("%q, %v", why, f.taken)
			}
			if why := f.poll(t); why != "" || s.saw().same != 1 {
				t.Errorf("%q, and the good one is sent again", why)
			}
		})
	}
}

// TestRefusedForNow: what was refused for a cause on the machine is examined at each attempt, and
// comes into force when that is gone, with the bytes that were downloaded.
func TestRefusedForNow(t *testing.T) {
	f, s := refusing(t, "")
	f.refuse = errors.New("the bundle cannot be kept: no space left on device")
	s.sends(f.key.Signed(t, "6", layer("mv")), "")
	for range 3 {
		if why := f.poll(t); why != f.refuse.Error() {
			t.Fatal(why)
		}
	}
	f.refuse = errors.New("loading org rules: a test took too long")
	if why := f.poll(t); why != f.refuse.Error() || f.keeper.Accepted().Revision != "5" {
		t.Fatal(why)
	}
	f.refuse = nil
	if why := f.poll(t); why != "" || f.keeper.Accepted().Revision != "6" || s.saw().full != 1 {
		t.Errorf("%q, %+v, %+v", why, f.keeper.Accepted(), s.saw())
	}
	if r := f.manager.bundles[bundles.Org].currentReport(); r.ActiveRevision != "6" || r.Message != "" || r.Size != len(s.data) {
		t.Errorf("%+v", r)
	}
	n := len(f.taken)
	if why := f.poll(t); why != "" || len(f.taken) != n || s.saw().full != 1 {
		t.Errorf("%q, %v, %+v", why, f.taken, s.saw())
	}
}

// TestRefusedNever: whatever a server answers about a refused bundle, nothing makes it one that is
// in force.
func TestRefusedNever(t *testing.T) {
	f, s := newFleet(t), new(counted)
	server := httptest.NewServer(f)
	defer server.Close()
	f.start(t, f.config("url: "+server.URL, ""))
	s.sends(bundlestest.NewKey(t).Signed(t, "6", layer("mv")), `"x"`)
	const want = "failed to verify JWT signature"
	f.serves(s.ServeHTTP)
	for range 3 {
		if why := f.poll(t); !strings.Contains(why, want) || !f.manager.BundleStatus(bundles.Org).Checked.IsZero() {
			t.Fatalf("%q, %+v", why, f.manager.BundleStatus(bundles.Org))
		}
	}
	answer := func(etag string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if etag != "" {
				w.Header().Set("ETag", etag)
			}
			w.WriteHeader(http.StatusNotModified)
		}
	}
	for _, tt := range []struct {
		name, etag, next string
		want             string
	}{
		{"without an ETag", "", `"x"`, want},
		{"weak", `W/"x"`, `"x"`, want},
		{"another", `"y"`, "", want},
		{"without being asked", `"y"`, "", "none of it was taken yet"},
	} {
		f.serves(answer(tt.etag))
		if why := f.poll(t); !strings.Contains(why, tt.want) || len(f.taken) != 0 {
			t.Errorf("%s: %q, taken %v", tt.name, why, f.taken)
		}
		f.serves(func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("If-None-Match"); got != tt.next {
				t.Errorf("%s: the next request has %q, want %q", tt.name, got, tt.next)
			}
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		if why := f.poll(t); !strings.Contains(why, "Service Unavailable") || len(f.taken) != 0 {
			t.Errorf("%s: %q, taken %v", tt.name, why, f.taken)
		}
	}
}

// TestRefusedAgain: a restart, another key and an hour lead to another look at the same file, and so
// does a server without ETags.
func TestRefusedAgain(t *testing.T) {
	f, s := refusing(t, "")
	other := bundlestest.NewKey(t)
	six := other.Signed(t, "6", layer("mv"))
	s.sends(six, "")
	looks := func(what string, want int) {
		t.Helper()
		for range 3 {
			if why := f.poll(t); !strings.Contains(why, "failed to verify JWT signature") {
				t.Fatal(why)
			}
		}
		if n := s.saw().full; n != want {
			t.Errorf("%s: sent %d times, want %d", what, n, want)
		}
	}
	looks("at first", 1)
	now := time.Now()
	f.manager.clock = func() time.Time { return now.Add(2 * time.Hour) }
	looks("after two hours", 2)
	f.manager.clock = func() time.Time { return now }
	looks("with a clock that was set back", 3)
	f.start(t, f.config("url: "+s.URL, ""))
	looks("after a restart", 4)
	s.sends(six, `"`+strings.Repeat("x", maxETag)+`"`)
	looks("with a long ETag", 3)
	f.key = other
	f.keeper = bundles.Keep(bundles.Org, t.TempDir(), f.key.Config(), time.Now)
	s.sends(six, "")
	f.start(t, f.config("url: "+s.URL, ""))
	if why := f.poll(t); why != "" || f.taken[len(f.taken)-1] != "6" {
		t.Errorf("with its key: %q, %v", why, f.taken)
	}
	f.serves(sends(bundlestest.NewKey(t).Signed(t, "7", layer("mv"))))
	server := httptest.NewServer(f)
	defer server.Close()
	f.start(t, f.config("url: "+server.URL, ""))
	if why := f.poll(t); !strings.Contains(why, "failed to verify JWT signature") {
		t.Errorf("without ETags: %q", why)
	}
	if f.manager.bundles[bundles.Org].refused != nil {
		t.Error("a bundle without an ETag is known again")
	}
}

// TestRefusedLongPoll: a server is not asked to wait for news of a bundle that is examined again;
// of one that can only be replaced it is.
func TestRefusedLongPoll(t *testing.T) {
	f, s := refusing(t, "    polling: {min_delay_seconds: 1, max_delay_seconds: 1, long_polling_timeout_seconds: 60}\n")
	for _, tt := range []struct {
		name   string
		data   []byte
		refuse error
		waits  bool
	}{
		{"signed", f.key.Signed(t, "6", layer("mv")), errors.New("a full disk"), false},
		{"by another key", bundlestest.NewKey(t).Signed(t, "7", layer("mv")), nil, true},
	} {
		f.refuse = tt.refuse
		s.sends(tt.data, "")
		for range 2 {
			if why := f.poll(t); why == "" {
				t.Fatal("it was taken")
			}
		}
		waits := s.saw().waits
		if got := strings.Contains(waits[1], "wait=60"); got != tt.waits || !strings.HasPrefix(waits[1], "modes=") {
			t.Errorf("%s: Prefer is %q", tt.name, waits)
		}
	}
}
