package socket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/strictjson"
)

// pipes is a listener of connections in memory, whose peers are said by uid.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

type pipe struct {
	net.Conn
	uid uint32
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return nil }

func (p *pipes) dial(uid uint32) net.Conn {
	here, there := net.Pipe()
	p.conns <- &pipe{there, uid}
	return here
}

// decider is a method that decides some calls, each of which takes a time.
type decider struct {
	each  time.Duration
	begun map[uint32]*atomic.Int64 // calls that were begun, by the number in params
	// atClient is begun when the client's last call was.
	atClient map[uint32]*atomic.Int64
}

func (d *decider) decide(_ *Conn, params strictjson.Value) (func(context.Context) (any, error), error) {
	var p struct {
		Who   int `json:"who"`
		Calls int `json:"calls"`
	}
	if err := ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		turn := fairshare.TurnOf(ctx)
		for i := 0; i < p.Calls && ctx.Err() == nil; i++ {
			if i > 0 {
				if _, err := turn.Yield(ctx); err != nil {
					return nil, err
				}
			}
			if p.Who == 0 {
				for who, n := range d.begun {
					d.atClient[who].Store(n.Load())
				}
			}
			d.begun[uint32(p.Who)].Add(1)
			time.Sleep(d.each)
		}
		return "done", ctx.Err()
	}, nil
}

// TestSmallClientBesideHogs: clients with thousands of calls in many requests on several
// connections, of the same and of another user, hold nobody up: the request of another
// client starts after at most one further decision of each connection.
func TestSmallClientBesideHogs(t *testing.T) {
	for _, tt := range []struct {
		name string
		uids []uint32 // of the hogs; the client is of 1000
	}{
		{"one", []uint32{1000}},
		{"the same user's", []uint32{1000, 1000}},
		{"another user's", []uint32{0, 0, 0}},
		{"both users'", []uint32{1000, 0, 1000, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const each = 30 * time.Millisecond
				d := &decider{each: each, begun: map[uint32]*atomic.Int64{}, atClient: map[uint32]*atomic.Int64{}}
				for who := range uint32(len(tt.uids) + 1) {
					d.begun[who], d.atClient[who] = new(atomic.Int64), new(atomic.Int64)
				}
				ln := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				share := fairshare.New(fairshare.Options{Slots: 2, Max: 64, MaxWait: time.Hour})
				go func() {
					ended <- Serve(ctx, ln, Methods{"decide": d.decide}, Options{Share: share, WriteTimeout: time.Hour, peer: func(c net.Conn) (decisions.Peer, error) {
						p, ok := c.(*pipe)
						if !ok {
							return decisions.Peer{}, errors.New("not a pipe")
						}
						return decisions.Peer{UID: p.uid}, nil
					}, Admit: func(decisions.Peer) error { return nil }})
				}()
				var hogs []net.Conn
				for who, uid := range tt.uids {
					c := ln.dial(uid)
					hogs = append(hogs, c)
					go func() { _, _ = io.Copy(io.Discard, c) }()
					go func() {
						for id := 1; ; id++ {
							if _, err := fmt.Fprintf(c, `{"jsonrpc":"2.0","id":%d,"method":"decide","params":{"who":%d,"calls":64}}`+"\n", id, who+1); err != nil {
								return
							}
						}
					}()
				}
				time.Sleep(10 * time.Second)
				small := ln.dial(1000)
				r := bufio.NewReader(small)
				for round := range 40 {
					// Between the moments at which hogs begin: of two things at the same moment,
					// either may be first.
					time.Sleep(time.Duration(round*17)*time.Millisecond + 333*time.Microsecond)
					before := make([]int64, len(tt.uids))
					for i := range before {
						before[i] = d.begun[uint32(i+1)].Load()
					}
					own, start := d.begun[0].Load(), time.Now()
					go fmt.Fprintf(small, `{"jsonrpc":"2.0","id":%d,"method":"decide","params":{"who":0,"calls":1}}`+"\n", round)
					for d.begun[0].Load() == own {
						time.Sleep(time.Millisecond)
					}
					for i := range before {
						most := int64(1)
						if tt.uids[i] != 1000 && slices.Contains(tt.uids, 1000) {
							most = 2 // where others of the client's user have used much, other users catch up first
						}
						if n := d.atClient[uint32(i+1)].Load() - before[i]; n > most {
							t.Errorf("round %d: hog %d began %d calls before the client's", round, i, n)
						}
					}
					line, err := r.ReadString('\n')
					if err != nil || !strings.HasSuffix(line, `"result":"done"}`+"\n") {
						t.Fatalf("answer %s, %v", line, err)
					}
					if took, most := time.Since(start), time.Duration(len(tt.uids)+2)*each; took > most {
						t.Errorf("round %d took %v, more than %v", round, took, most)
					}
				}
				for _, c := range append(hogs, small) {
					_ = c.Close()
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if n := share.Waiting(); n != 0 {
					t.Errorf("%d wait at the end", n)
				}
			})
		})
	}
}

// TestWithdrawnWhileWaiting: a request that is withdrawn while it waits for a slot leaves
// at once, and its method never runs.
func TestWithdrawnWhileWaiting(t *testing.T) {
	gate, holds := make(chan struct{}), make(chan struct{})
	var ran atomic.Int32
	share := fairshare.New(fairshare.Options{Slots: 1})
	r := serve(t, Methods{
		"hold": later(func(context.Context) (any, error) { close(holds); <-gate; return "held", nil }),
		"run":  later(func(context.Context) (any, error) { ran.Add(1); return "ran", nil }),
	}, Options{Share: share})
	holder, c := r.dial(), r.dial()
	holder.write(`{"jsonrpc":"2.0","id":1,"method":"hold"}` + "\n")
	<-holds
	waitFor := func(n int) {
		t.Helper()
		eventually.Holds(t, fmt.Sprint(n, " wait"), func() bool { return share.Waiting() == n })
	}
	c.write(`{"jsonrpc":"2.0","id":2,"method":"run"}` + "\n")
	waitFor(1)
	c.write(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}` + "\n")
	c.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32800,"message":"request cancelled"}}`)
	waitFor(0)
	close(gate)
	holder.want(`{"jsonrpc":"2.0","id":1,"result":"held"}`)
	c.write(`{"jsonrpc":"2.0","id":4,"method":"run"}` + "\n")
	c.want(`{"jsonrpc":"2.0","id":4,"result":"ran"}`)
	if n := ran.Load(); n != 1 {
		t.Errorf("%d requests ran", n)
	}
}

// TestWaitTooLong: a request that waits for too long is refused with a hint.
func TestWaitTooLong(t *testing.T) {
	gate := make(chan struct{})
	defer close(gate)
	r := serve(t, Methods{
		"hold": later(func(context.Context) (any, error) { <-gate; return nil, nil }),
	}, Options{Share: fairshare.New(fairshare.Options{Slots: 1, MaxWait: 50 * time.Millisecond})})
	c := r.dial()
	c.write(`{"jsonrpc":"2.0","id":1,"method":"hold"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"hold"}` + "\n")
	got := c.line()
	if !strings.Contains(got, `"error":{"code":-32051,"message":"too many requests wait to be decided; ask the person"}`) {
		t.Errorf("answer %s", got)
	}
}
