package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"

	"github.com/permd/permd/socket/client"
)

// TestForgottenWhileWaiting: a request that waits for a session which is forgotten meanwhile
// gets the session as the server knows it then, and no connection is left behind.
func TestForgottenWhileWaiting(t *testing.T) {
	read := 0
	upstream := func(w http.ResponseWriter) {
		read++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"sessionId":"s","agent":{"name":"a"}}`)
	}
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Config{Upstream: &url.URL{Scheme: "http", Host: "server"}, Dial: func(context.Context) (*client.Client, error) { return nil, client.ErrUnreachable }})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		g.http.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			upstream(w)
			return w.Result(), nil
		})
		r := httptest.NewRequest(http.MethodPost, "http://localhost/", http.NoBody)
		first, release, f := g.find(t.Context(), "s", r)
		if f != nil {
			t.Fatal(f.text)
		}
		found := make(chan *session)
		go func() {
			s, release, f := g.find(t.Context(), "s", r)
			if f != nil {
				t.Error(f.text)
			} else {
				release()
			}
			found <- s
		}()
		synctest.Wait()
		g.forget("s")
		release()
		if s := <-found; s == nil || s == first || read != 2 {
			t.Errorf("a session that was forgotten is used, after it was read %d times", read)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
