package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/permd/permd/socket/client"
)

// hideTimeout bounds the wait for permd's answer, in which no other message of the server is
// passed on.
const hideTimeout = 5 * time.Second

// hide leaves out of a list the tools of which permd denies every call. The client is not told
// of them, so a call of one is that of a tool that it was told nothing of. Where permd does not
// say, all tools stay: a call is decided in any case.
func (g *gateway) hide(l *toolList, forms bool) {
	if !g.cfg.HideDenied || len(l.tools) == 0 {
		return
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), hideTimeout, client.ErrConnectTimeout)
	defer cancel()
	denied, err := g.deniedTools(ctx, l, forms)
	if err != nil {
		g.cfg.Say("tools that are denied are listed, as permd cannot be asked: " + err.Error())
		return
	}
	var shown []listed
	for i, t := range l.tools {
		if denied[i] {
			l.hidden++
		} else {
			shown = append(shown, t)
		}
	}
	l.tools = shown
}

func (g *gateway) deniedTools(ctx context.Context, l *toolList, forms bool) ([]bool, error) {
	conn, session, err := g.connection(ctx, forms)
	if err != nil {
		return nil, err
	}
	tools := make([]client.Tool, len(l.tools))
	for i, t := range l.tools {
		tools[i] = client.Tool{Name: t.name, Server: g.cfg.Server, Source: g.cfg.Source}
	}
	denied, err := client.Denied(ctx, conn, session.ID, tools)
	if err == nil && len(denied) != len(tools) {
		err = errors.New("not one answer for each tool")
	}
	return denied, err
}
