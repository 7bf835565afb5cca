package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/sockettest"
)

// TestReplyUnread: a client that does not read its answer is dropped after the time for writing.
func TestReplyUnread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ln := sockettest.NewPipes()
		s := new(server)
		hs := &http.Server{ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			s.reply(w, http.StatusOK, []byte(strings.Repeat("x", 64<<10)))
		})}
		ended := make(chan error, 1)
		go func() { ended <- hs.Serve(ln) }()
		c := ln.Dial()
		if _, err := fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: permd\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(socket.DefaultWriteTimeout + time.Second)
		if n, err := io.Copy(io.Discard, c); n > 0 || err != nil {
			t.Errorf("the connection afterwards: %d bytes, %v", n, err)
		}
		c.Close()
		hs.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}
