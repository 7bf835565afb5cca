package gateway

import (
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
	bodyTimeout   = time.Minute
	idleTimeout   = 2 * time.Minute
	stopTimeout   = 3 * time.Second // for turns that run when the gateway ends
)

// Serve serves on ln until ctx ends or ln fails, and closes ln and the gateway. On a Unix
// socket only the gateway's own user, and root, are served.
func (g *Gateway) Serve(ctx context.Context, ln net.Listener) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	hs := &http.Server{
		Handler: servedConn(g), ConnContext: withConn, Protocols: protocols, MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		ErrorLog: log.New(io.Discard, "", 0), DisableGeneralOptionsHandler: true,
	}
	ended := make(chan error, 1)
	go func() { ended <- hs.Serve(noPipelining{gatehttp.LimitConns(ln)}) }()
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
