package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPlainIDs asks for sessions whose ids are more than a segment of a path, in all notations:
// the server sees none of them.
func TestPlainIDs(t *testing.T) {
	var paths []string
	answer := `{"sessionId":"s","agent":{"name":"a"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.RequestURI)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	upstream, err := url.Parse(server.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(Config{Upstream: upstream, Key: "the-servers-key"})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	serve := func(method, path, body string) int {
		r := httptest.NewRequest(method, "http://localhost/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if r.URL, err = url.ParseRequestURI(path); err != nil {
			return http.StatusBadRequest // net/http refuses it
		}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w.Code
	}
	for _, id := range []string{"s", "sess_7Qm2", "0b4c-55.a~x", "a:b@c"} {
		if code := serve("GET", "/sessions/"+id, ""); code != http.StatusOK || paths[len(paths)-1] != "/v1/sessions/"+id {
			t.Errorf("%s: status %d, %q", id, code, paths)
		}
	}
	paths = nil
	for _, id := range []string{
		"..%2f..%2fadmin", "%2e%2e%2f%2e%2e", "..", ".", "%2e", "%2E%2e", ".%2e", "a%2fb", "a%2Fb", `a%5cb`, `a\b`, "a%252fb", "a%00", "a%3Fb", "a%23b", "a;b", "a%0d%0ab", "%61",
		"a%20b", "a%c0%afb", "%ef%bc%8e%ef%bc%8e", "",
	} {
		for _, form := range []string{"GET ", "DELETE ", "GET /history", "POST /turns"} {
			method, rest, _ := strings.Cut(form, " ")
			if code := serve(method, "/sessions/"+id+rest, `{"messages":[{"role":"user","content":"x"}]}`); code < 400 || len(paths) > 0 {
				t.Errorf("%s %s%s: status %d, the server got %q", method, id, rest, code, paths)
			}
		}
		name, err := url.PathUnescape(id)
		if err != nil || isPlainID(name) || !utf8.ValidString(name) {
			continue
		}
		answer = `{"sessionId":` + quote(name) + `}`
		if code := serve("POST", "/sessions", `{"agent":{"name":"a"}}`); code != http.StatusBadGateway {
			t.Errorf("a session called %q: status %d", name, code)
		}
		paths = nil
	}
}
