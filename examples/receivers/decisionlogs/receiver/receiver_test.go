package receiver

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

const token = "a-token-that-is-long-enough"

type uploads struct {
	t *testing.T
	s *Store
	h http.Handler
}

func open(t *testing.T) *uploads {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "audit.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	h, err := Handler(s, token)
	if err != nil {
		t.Fatal(err)
	}
	return &uploads{t, s, h}
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// send returns the status of an upload, whose request change may change.
func (u *uploads) send(body string, change func(*http.Request)) int {
	u.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/logs", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Encoding", "gzip")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	u.h.ServeHTTP(w, r)
	return w.Code
}

func (u *uploads) row(query string) string {
	u.t.Helper()
	var text string
	if err := u.s.db.QueryRow(query).Scan(&text); err != nil {
		u.t.Fatalf("%s: %v", query, err)
	}
	return text
}

// TestOnce: an event that comes again is kept once, and the one with an answer stays.
func TestOnce(t *testing.T) {
	u := open(t)
	event := func(id string, seq, entry int, answer string) string {
		return fmt.Sprintf(`{"decision_id":%q,"path":"permd/decide","timestamp":"2026-01-02T03:04:05.6+01:00","labels":{"id":"j","host":"h"},"result":{"verdict":"ask"%s},"custom":{"permd":{"seq":%d,"entry":%d,"follows":%d}}}`, id, answer, seq, entry, seq-1)
	}
	answered := `,"answer":{"verdict":"allow","author":{"uid":7,"via":"command"}}`
	for _, body := range []string{
		"[" + event("a", 1, 0, "") + "," + event("b", 2, 0, "") + "]", "[" + event("a", 1, 0, "") + "]", "[" + event("a", 1, 9, answered) + "]", "[" + event("a", 1, 0, "") + "]", "[]",
	} {
		if got := u.send(zipped(t, body), nil); got != 204 {
			t.Fatalf("%s: %d", body, got)
		}
	}
	if got := u.row("SELECT group_concat(decision_id || ' ' || coalesce(answer, '-') || ' ' || host || ' ' || time) FROM decisions"); got != "a allow h 2026-01-02T02:04:05.600000000Z,b - h 2026-01-02T02:04:05.600000000Z" {
		t.Error(got)
	}
	gap := `[{"decision_id":"gap-1","path":"permd/gap","timestamp":"2026-01-02T03:04:05Z","labels":{"id":"j","host":"h"},"custom":{"permd":{"gap":{"reason":"removed","from":3,"to":5,"removed":3}}}}]`
	if got := u.send(gap, func(r *http.Request) { r.Header.Del("Content-Encoding"); r.URL.Path = "/logs/part" }); got != 204 {
		t.Error(got)
	}
	if got := u.row("SELECT reason || first || last || removed FROM gaps"); got != "removed353" {
		t.Error(got)
	}
}

// TestRefused: what is not an upload of who has the token changes nothing.
func TestRefused(t *testing.T) {
	u := open(t)
	good := zipped(t, `[{"decision_id":"a","path":"permd/decide","timestamp":"2026-01-02T03:04:05Z"}]`)
	for name, tt := range map[string]struct {
		body   string
		change func(*http.Request)
		want   int
	}{
		"no token":      {good, func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"another token": {good, func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, 401},
		"another form":  {good, func(r *http.Request) { r.Header.Set("Authorization", token) }, 401},
		"GET":           {good, func(r *http.Request) { r.Method = http.MethodGet }, 405},
		"another path":  {good, func(r *http.Request) { r.URL.Path = "/x" }, 404},
		"no gzip":       {"[]", nil, 400},
		"cut off":       {good[:len(good)-9], nil, 400},
		"another code":  {good, func(r *http.Request) { r.Header.Set("Content-Encoding", "br") }, 415},
		"no array":      {zipped(t, `{"decision_id":"a"}`), nil, 400},
		"no id":         {zipped(t, `[{"decision_id":"a","timestamp":"2026-01-02T03:04:05Z"},{"path":"x"}]`), nil, 400},
		"large":         {strings.Repeat("x", maxBody+1), func(r *http.Request) { r.Header.Del("Content-Encoding") }, 413},
		"bomb":          {zipped(t, "["+strings.Repeat(" ", maxEvents+1)+"]"), nil, 413},
	} {
		if got := u.send(tt.body, tt.change); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
	if got := u.row("SELECT count(*) FROM events"); got != "0" {
		t.Errorf("%s events are kept", got)
	}
	if _, err := Handler(u.s, "short"); err == nil {
		t.Error("a short token is taken")
	}
	u.s.Close()
	if got := u.send(good, nil); got != 503 {
		t.Errorf("without a database: %d", got)
	}
}
