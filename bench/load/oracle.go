package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"sync"
	"time"

	"github.com/permd/permd/bench/shipped"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/native"
)

// remembered is what a client has had remembered of a call.
type remembered int

const (
	nothing remembered = iota
	anAllow
	aReject
	memories // how many there are
)

// oracle decides calls in this process, by the rules of each edition.
type oracle struct {
	rules   *shipped.Rules
	engines [editions][memories]*engine

	mu       sync.RWMutex
	editions map[string]int // by the digest that the daemon calls them by
}

// engine is what decides by one edition, for a client that has had one thing remembered.
type engine struct {
	mu      sync.Mutex // an engine has one connection
	decider *decider
	methods socket.Methods
	conn    *socket.Conn
}

// newOracle makes the engines for calls in the daemon's project.
func newOracle(ctx context.Context, d *daemon) (*oracle, error) {
	uid := uint32(os.Geteuid())
	rules, err := shipped.Open(settings.ProfileBalanced, uid, time.Now().Add(-time.Hour))
	if err != nil {
		return nil, err
	}
	o := &oracle{rules: rules, editions: map[string]int{}}
	who := effects.User{UID: uid, Home: d.home(), Env: map[string]string{"HOME": d.home(), "XDG_RUNTIME_DIR": d.run()}}
	if sys, err := user.Current(); err == nil {
		who.Name = sys.Username
	}
	for n := range editions {
		snap, err := rules.With(ctx, shipped.User{Rego: edition(n)})
		if err != nil {
			return nil, errors.Join(err, rules.Close())
		}
		for m := range memories {
			e := &engine{methods: socket.Methods{}, conn: &socket.Conn{ID: 1, Peer: decisions.Peer{UID: uid, PID: int32(os.Getpid())}}}
			fs := paths.OSFS{}
			e.decider = &decider{Engine: shipped.Engine(snap, fs, paths.Own{}, d.cmd.Process.Pid, time.Time{}, func(c *decisions.Config) {
				c.Memory, c.Now, c.Cache, c.Deadline = memoryOf(m), time.Now, new(decisions.Cache), time.Minute
			})}
			deps := native.Deps{
				Sessions: &decisions.Sessions{FindProject: func(_ uint32, cwd string) string { return paths.FindProject(fs, cwd, d.home()) }},
				Decider:  e.decider, Users: func(uint32) effects.User { return who },
			}
			native.Register(e.methods, deps)
			acp.Register(e.methods, deps)
			if err := e.send(ctx, native.MethodSession, declaration(oracleSession, d.project)); err != nil {
				return nil, errors.Join(fmt.Errorf("declaring a session to the oracle: %w", err), rules.Close())
			}
			o.engines[n][m] = e
		}
	}
	return o, nil
}

// oracleSession is the session of all calls that the oracle decides.
const oracleSession = "oracle"

func (o *oracle) close() { _ = o.rules.Close() }

// learn takes in the digest by which the daemon calls an edition. It is an error if it
// calls two of them alike, or one by two digests.
func (o *oracle) learn(edition int, digest string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, known := o.editions[digest]
	switch {
	case digest == "":
		return errors.New("the daemon loaded rules without a digest")
	case known && before != edition:
		return fmt.Errorf("the digest %s is of edition %d, the daemon uses it for edition %d", digest, before, edition)
	case !known && len(o.editions) == editions:
		return fmt.Errorf("the daemon calls edition %d by another digest, %s", edition, digest)
	}
	o.editions[digest] = edition
	return nil
}

// edition returns the edition of a digest, -1 if the daemon has not said yet that it has
// loaded it.
func (o *oracle) edition(digest string) int {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if n, ok := o.editions[digest]; ok {
		return n
	}
	return -1
}

// decide returns the decision on a call by the rules of an edition.
func (o *oracle) decide(ctx context.Context, edition int, m remembered, c *call) (*decisions.Decision, error) {
	e := o.engines[edition][m]
	e.mu.Lock()
	defer e.mu.Unlock()
	e.decider.last = nil
	for _, update := range c.updates {
		if err := e.send(ctx, "session/update", ofOracle(update)); err != nil {
			return nil, fmt.Errorf("the oracle: an update: %w", err)
		}
	}
	err := e.send(ctx, c.method, ofOracle(c.params))
	if e.decider.last == nil {
		return nil, fmt.Errorf("the oracle does not decide: %w", err)
	}
	return e.decider.last, nil
}

// ofOracle returns the parameters with the oracle's session.
func ofOracle(params map[string]any) map[string]any {
	params = maps.Clone(params)
	params["sessionId"] = oracleSession
	return params
}

// send calls the method of a message, as a connection does.
func (e *engine) send(ctx context.Context, method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	run, err := e.methods[method](e.conn, raw)
	if err == nil && run != nil {
		_, err = run(ctx)
	}
	return err
}

// decider keeps the last decision of an engine.
type decider struct {
	*decisions.Engine
	last *decisions.Decision
}

// Decide has the engine decide.
func (d *decider) Decide(ctx context.Context, reqs ...*decisions.Request) []*decisions.Decision {
	list := d.Engine.Decide(ctx, reqs...)
	d.last = list[len(list)-1]
	return list
}

// memoryOf is a memory that holds the same choice for every effect.
type memoryOf remembered

// Match returns the choice.
func (m memoryOf) Match(*decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	c := &decisions.Choice{ID: "oracle", Exact: true, Label: "oracle"}
	switch remembered(m) {
	case anAllow:
		return nil, c, nil
	case aReject:
		return c, nil, nil
	case nothing, memories:
	}
	return nil, nil, nil
}
