package httpapi

import (
	"bufio"
	"io"
	"net/http"
	"testing"
)

// TestNoPlace: a client that is refused because of its identity has no
// connection afterwards; others have.
func TestNoPlace(t *testing.T) {
	s := serveLoopback(t, Options{})
	for _, tt := range []struct {
		name, raw    string
		status, next int // next is what a good request on the connection gets, 0 for nothing
	}{
		{"no token", s.request("GET", PathHealth, "", "Authorization", ""), 401, 0},
		{"another host", s.request("GET", PathHealth, "", "Host", "evil.example"), 403, 0},
		{"a browser", s.request("GET", PathHealth, "", "Origin", "null"), 403, 0},
		{"another path", s.request("GET", "/x", ""), 404, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := s.dial(t)
			_, _ = io.WriteString(c, tt.raw+s.request("GET", PathHealth, ""))
			r := bufio.NewReader(c)
			if got := readAnswerTo(t, r, "GET"); got.status != tt.status {
				t.Errorf("it got %+v", got)
			}
			if tt.next > 0 {
				if got := readAnswerTo(t, r, "GET"); got.status != tt.next {
					t.Errorf("then it got %+v", got)
				}
			} else if resp, err := http.ReadResponse(r, nil); err == nil {
				resp.Body.Close()
				t.Errorf("then it got status %d", resp.StatusCode)
			}
		})
	}
}
