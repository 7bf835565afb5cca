package doctor

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/gatehttp"
	"github.com/permd/permd/socket/httpapi"
)

// http checks the HTTP listener, if it is on.
func (x *examination) http(ctx context.Context, at string) {
	if at == "" {
		return
	}
	status, said, err := x.health(ctx, at)
	switch {
	case err != nil:
		x.Error("http", cli.HintOf(err, x.restart()), "%s: %v", at, err)
	case status != http.StatusOK:
		x.Error("http", "permd status", "%s: it cannot decide (status %d)", at, status)
	case len(said) > 0:
		x.Warn("http", "permd status", "%s: it is degraded: %s", at, strings.Join(said, ", "))
	default:
		x.OK("http", "%s", at)
	}
}

// health requests the daemon's health as clients do.
func (x *examination) health(ctx context.Context, at string) (status int, degraded []string, err error) {
	url, token := at, ""
	transport := &http.Transport{DisableKeepAlives: true, Proxy: nil}
	if daemon.IsURL(at) {
		if token, err = gatehttp.ReadToken(x.dirs.HTTPToken()); err != nil {
			return 0, nil, err
		}
	} else {
		url = "http://permd"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", at)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+httpapi.PathHealth, nil)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return 0, nil, err
	}
	var said struct {
		Status   string   `json:"status"`
		Degraded []string `json:"degraded"`
	}
	if resp.StatusCode == http.StatusOK {
		err = strictjson.Unmarshal(body, &said)
	}
	return resp.StatusCode, said.Degraded, err
}
