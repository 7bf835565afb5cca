package gateway

import (
	"context"
	"net"
	"net/http"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/gatehttp"
)

// Serve serves on ln until ctx ends or ln fails, and closes ln and the gateway. On a Unix
// socket only the gateway's own user, and root, are served.
func (g *Gateway) Serve(ctx context.Context, ln net.Listener) error {
	defer g.Close()
	defer context.AfterFunc(ctx, g.end)() // turns, and waits for a person
	s := gatehttp.Server{
		Token: g.cfg.Token, Handler: http.HandlerFunc(g.serveAlone),
		Refuse: func(w http.ResponseWriter, _ *http.Request, f *gatehttp.Refusal) {
			(&fault{f.Status, f.Message}).write(w)
		},
	}
	return s.Serve(ctx, ln)
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

// readBody reads the JSON object in the body of a request.
func readBody(w http.ResponseWriter, r *http.Request) (strictjson.Object, *fault) {
	data, f := gatehttp.ReadBody(w, r, maxBody)
	if f != nil {
		return nil, &fault{f.Status, f.Message}
	}
	o, err := readObject(data)
	if err != nil {
		return nil, &fault{http.StatusBadRequest, "reading the body: " + err.Error()}
	}
	return o, nil
}
