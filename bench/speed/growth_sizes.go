package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/native"
)

// rulesPerFile keeps a file of rules below the size at which permd refuses it.
const rulesPerFile = 5000

// ofRules measures with n rules of the person, a mix of programs, files and hosts of which
// none is about the call.
func ofRules(ctx context.Context, g *growth, n int) (point, error) {
	s, err := g.daemon(ctx, configuration{connections: 1}, func(dir string) error {
		for first := 0; first < n; first += rulesPerFile {
			path := filepath.Join(dir, "config", "permd", "policy.d", fmt.Sprintf("more%d.rego", first))
			if err := write(path, policytest.Rules(first, min(n, first+rulesPerFile))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return point{}, err
	}
	defer g.end(s)
	return g.measure(s, toolCall(command, small, g.world.project))
}

// ofChoices measures with n remembered choices, of which none is about the call.
func ofChoices(ctx context.Context, g *growth, n int) (point, error) {
	s, err := g.daemon(ctx, configuration{connections: 1}, func(dir string) error { return g.remember(ctx, filepath.Join(dir, "data", "permd"), n) })
	if err != nil {
		return point{}, err
	}
	defer g.end(s)
	return g.measure(s, toolCall(command, small, g.world.project))
}

// remember stores choices in a database that a daemon is then started with.
func (g *growth) remember(ctx context.Context, dir string, n int) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	store, err := remember.Open(remember.Options{Path: filepath.Join(dir, "remember.db")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for first := 0; first < n; first += 1000 {
		var drafts []remember.Draft
		for i := first; i < min(n, first+1000); i++ {
			e := effects.Effect{Kind: effects.KindRun, Text: fmt.Sprintf("run make target%d", i), Run: &effects.Run{
				Program: "make", Args: []string{fmt.Sprintf("target%d", i)}, Cwd: g.world.project, Stdin: effects.StdinNone,
			}}
			drafts = append(drafts, remember.Draft{Verdict: decisions.Allow, Scope: remember.ForProject, Query: &decisions.MemoryQuery{
				UID: uint32(os.Geteuid()), Session: decisions.SessionRef{ID: "s"}, Project: g.world.project,
				Effect: &e, All: []effects.Effect{e}, Now: time.Now(),
			}})
		}
		if _, err := store.Save(ctx, drafts...); err != nil {
			if first > 0 {
				return errRefused(err.Error())
			}
			return err
		}
	}
	return nil
}

// ofSessions measures in one of n sessions, which many connections have declared.
func ofSessions(ctx context.Context, g *growth, n int) (point, error) {
	per := decisions.MaxSessions - 1
	s, err := g.daemon(ctx, configuration{connections: n/per + 2}, nil)
	if err != nil {
		return point{}, err
	}
	defer g.end(s)
	for i := range n - 1 { // besides the one in which is asked
		conns, err := s.connections(2 + i/per)
		if err != nil {
			return point{}, err
		}
		text := strings.Replace(declaration(g.world.project), `"s1"`, fmt.Sprintf(`"more%d"`, i), 1)
		answer, err := conns[len(conns)-1].roundTrip(withID(line(native.MethodSession, text)))
		if err == nil && !bytes.Contains(answer, []byte(`"result"`)) {
			err = errors.New(string(answer))
		}
		if err != nil {
			return point{}, fmt.Errorf("declaring session %d: %w", i, err)
		}
	}
	return g.measure(s, toolCall(command, small, g.world.project))
}

// ofConnections measures on one of n connections, each with a session.
func ofConnections(ctx context.Context, g *growth, n int) (point, error) {
	s, err := g.daemon(ctx, configuration{connections: n}, nil)
	if err != nil {
		return point{}, err
	}
	defer g.end(s)
	if _, err := s.connections(n); err != nil {
		return point{}, err
	}
	return g.measure(s, toolCall(command, small, g.world.project))
}

// ofBytes measures requests of n bytes: an edit that writes as much text.
func ofBytes(ctx context.Context, g *growth, n int) (point, error) {
	s, err := g.daemon(ctx, configuration{connections: 1}, nil)
	if err != nil {
		return point{}, err
	}
	defer g.end(s)
	return g.measure(s, editOf(g.world.project, max(0, n-700)))
}

// editOf returns an edit that writes as many bytes of text.
func editOf(project string, length int) string {
	text := strings.Repeat("x = 1; ", length/7)
	return strings.Replace(toolCall(edit, small, project), `"new_string":"b"`, `"new_string":"b`+text+`"`, 1)
}

// beginnings is how many connections the first calls of one are measured on: of one there is
// only one first call.
const beginnings = 20

// ofCalls measures the first calls of a connection, the next ones, and so on.
func ofCalls(ctx context.Context, g *growth, sizes []int, most int) ([]point, error) {
	s, err := g.daemon(ctx, configuration{connections: beginnings + 1}, nil)
	if err != nil {
		return nil, err
	}
	defer g.end(s)
	fresh := &series{
		Server: s.name, Clients: 1, want: []byte(`"optionId":"allow"`),
		request: newTemplate(line("session/request_permission", params(toolCall(command, small, g.world.project)))),
	}
	repeated := *fresh
	repeated.Repeated = true
	// The daemon's heap and caches are filled on another connection.
	for _, series := range []*series{fresh, &repeated} {
		if _, err := g.world.turn(series, &g.calls, 10*g.turn); err != nil {
			return nil, err
		}
	}
	conns, err := s.connections(beginnings + 1)
	if err != nil {
		return nil, err
	}
	conns = conns[1:]
	var points []point
	sent := 0
	for _, n := range sizes {
		if n > most {
			break
		}
		if n > 100 {
			conns = conns[:1]
		}
		var took, again []time.Duration
		for _, c := range conns {
			all, err := c.drive(g.calls.next(fresh), fresh.want, time.Now().Add(time.Hour), n-sent, nil)
			if err != nil {
				return nil, err
			}
			took = append(took, all[max(0, len(all)-1000):]...)
			if again, err = c.drive(g.calls.next(&repeated), fresh.want, time.Now().Add(time.Hour), max(1, min(n/10, 1000)), again); err != nil {
				return nil, err
			}
		}
		sent = n
		u, err := s.usage()
		if err != nil {
			return nil, err
		}
		slices.Sort(took)
		slices.Sort(again)
		points = append(points, point{N: n, Fresh: micros(percentile(took, 0.5)), Repeated: micros(percentile(again, 0.5)), usage: u})
	}
	return points, nil
}

// operands is how many operands each of the parallel calls has.
const operands = 100

// ofParallel measures a turn of the Agent Application Protocol with n calls that wait. The
// longest message is as long as it may be: with the default, a connection has no room for
// the answer of 256 such calls.
func ofParallel(ctx context.Context, g *growth, n int) (point, error) {
	s, err := g.daemon(ctx, configuration{connections: 1, messageBytes: 64 << 20}, nil)
	if err != nil {
		return point{}, err
	}
	defer g.end(s)
	// A client that reads such calls itself is known by its name.
	session := withID(line(native.MethodSession, strings.Replace(declaration(g.world.project), `"agent"`, `"client"`, 1)))
	var took []float64
	for i := range growthRounds + 1 {
		c, err := dial(s.socket, false) // a connection keeps its turns
		if err != nil {
			return point{}, err
		}
		if _, err := c.roundTrip(session); err != nil {
			return point{}, err
		}
		request := []byte(parallelTurn(n, i))
		start := time.Now()
		answer, err := c.roundTrip(request)
		took = append(took, micros(time.Since(start)))
		c.conn.Close()
		if err != nil {
			return point{}, err
		}
		if got := bytes.Count(answer, []byte(`"outcome":"execute"`)); got != n {
			return point{}, errRefused(fmt.Sprintf("of %d calls %d may run: %.200s", n, got, answer))
		}
	}
	u, err := s.usage()
	return point{Fresh: median(took[1:]), usage: u}, err
}

// parallelTurn returns a turn in which an agent announces n commands that read files.
func parallelTurn(n, round int) string {
	var events strings.Builder
	for i := range n {
		var words strings.Builder
		for o := range operands {
			fmt.Fprintf(&words, " f%d-%d-%d", round, i, o)
		}
		fmt.Fprintf(&events, `{"event":"tool_call","toolCallId":"c%d-%d","name":"Bash","input":{"command":"cat%s"}},`, round, i, words.String())
	}
	return `{"jsonrpc":"2.0","id":1,"method":"aap/permissions","params":{"sessionId":"s1","agent":{"name":"helper"},"tools":[{"name":"Bash"}],"turn":{"events":[{"event":"turn_start"},` +
		events.String() + `{"event":"turn_stop","stopReason":"tool_use"}]}}}` + "\n"
}
