package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/permd/permd/bench/shipped"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/remember/allowable"
)

// bench has what all measurements share.
type bench struct {
	rules   *shipped.Rules
	shipped decisions.Snapshot // the profile's rules, without those of a person
	now     time.Time
	found   findings
	count   atomic.Int64 // number of memories
}

// newBench loads the shipped rules.
func newBench(ctx context.Context, o options) (*bench, error) {
	b := &bench{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	var err error
	if b.rules, err = shipped.Open(o.profile, uid, b.now); err != nil {
		return nil, err
	}
	b.rules.Compare = o.compare
	if b.shipped, err = b.rules.With(ctx, shipped.User{}); err != nil {
		return nil, errors.Join(fmt.Errorf("loading the shipped rules: %w", err), b.rules.Close())
	}
	return b, nil
}

// engine returns the real engine on a machine in memory. It remembers nothing if
// memory is nil.
func (b *bench) engine(w *world, snap decisions.Snapshot, memory *remember.Store) *decisions.Engine {
	return shipped.Engine(snap, w.fs, w.own(), daemonPID, b.now, func(c *decisions.Config) {
		if memory != nil {
			c.Memory, c.Proposer = memory, memory
		}
	})
}

// memory opens an empty memory.
func (b *bench) memory(table *programs.Table) (*remember.Store, error) {
	name := fmt.Sprintf("memory%d.db", b.count.Add(1))
	return remember.Open(remember.Options{
		Path: filepath.Join(b.rules.Dir(), name), Now: func() time.Time { return b.now },
		Allowable: func(q *decisions.MemoryQuery) error { return allowable.Run(table, q) },
	})
}

// call is one tool call of a corpus.
type call struct {
	tool   string
	server string
	agent  string
	input  []byte
	cwd    string
	parent string
}

func (w *world) request(c *call) *decisions.Request {
	r := &decisions.Request{
		Peer: decisions.Peer{UID: uid, PID: 7},
		Call: effects.Call{
			ID: "call", Protocol: "permd", Tool: effects.Tool{Name: c.tool, Server: c.server}, Agent: effects.Party{Name: c.agent},
			Input: c.input, Cwd: c.cwd, User: w.user(),
		},
		Session: decisions.SessionRef{ID: "session", Conn: 1},
	}
	if c.parent != "" {
		r.Session.Ancestors = []string{c.parent}
	}
	return r
}

// result is a decision with the call's effects.
type result struct {
	*decisions.Decision
	effects []effects.Effect
}

// decide decides a call.
func decide(ctx context.Context, e *decisions.Engine, snap decisions.Snapshot, r *decisions.Request) result {
	w := e.World(snap)
	o := result{Decision: e.Decide(ctx, r)[0]}
	if o.By != decisions.ByFailure {
		o.effects = w.Effects(&r.Call).Effects
	}
	return o
}

// shown returns a call as it is printed, on one line.
func shown(tool string, input []byte) string {
	const most = 300
	s := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, tool+" "+string(input))
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return display.Display(s)
}
