package gateway

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/permd/permd/socket/gatehttp"
)

// Bounds of what clients send before a request is known.
const (
	maxHeader     = 32 << 10
	headerTimeout = 5 * time.Second
	readTimeout   = 20 * time.Second // for header and body
	idleTimeout   = 2 * time.Minute
	stopTimeout   = 3 * time.Second // for turns that run when the gateway ends
)

// Serve serves on ln until ctx ends or ln fails, and closes ln and the gateway. On a Unix
// socket only the gateway's own user, and root, are served.
func (g *Gateway) Serve(ctx context.Context, ln net.Listener) error {
	reading := cmp.Or(g.readTimeout, readTimeout)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	hs := &http.Server{
		Handler: http.HandlerFunc(g.serveAlone), ConnContext: gatehttp.ConnContext, Protocols: protocols, MaxHeaderBytes: maxHeader, ReadHeaderTimeout: min(headerTimeout, reading), IdleTimeout: idleTimeout,
		// gatehttp.ReadBody ends it, so that a turn may take longer. It stays where a body is
		// not read: net/http then reads the rest of it, at most until this.
		ReadTimeout: reading,
		ErrorLog:    log.New(io.Discard, "", 0), DisableGeneralOptionsHandler: true,
	}
	ended := make(chan error, 1)
	go func() { ended <- hs.Serve(gatehttp.LimitConns(ln)) }()
	defer g.Close()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	g.end() // waits for a person
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if hs.Shutdown(late) != nil {
		_ = hs.Close()
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// serveAlone serves a request whose client sends no more before it has its answer: any of them
// may wait for a person.
func (g *Gateway) serveAlone(w http.ResponseWriter, r *http.Request) {
	release, alone := gatehttp.Hold(r.Context())
	defer release()
	if !alone {
		w.Header().Set("Connection", "close")
		(&fault{http.StatusBadRequest, gatehttp.ErrPipelined.Error()}).write(w)
		return
	}
	g.ServeHTTP(w, r)
}
