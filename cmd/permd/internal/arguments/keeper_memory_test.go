package arguments

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/rego"
)

// nothing is a policy without rules, a memory without choices and a journal without records.
type nothing struct {
	table    *programs.Table
	profiles *tools.Profiles
}

func (p *nothing) Snapshot(uint32, string) (decisions.Snapshot, error) { return p, nil }
func (p *nothing) Digest() string                                      { return "digest" }
func (p *nothing) Table() *programs.Table                              { return p.table }
func (p *nothing) Profiles() *tools.Profiles                           { return p.profiles }
func (p *nothing) OnFailure() decisions.Verdict                        { return decisions.Ask }
func (p *nothing) Trusted() bool                                       { return false }
func (p *nothing) Timeless() bool                                      { return true }
func (p *nothing) Evaluate(context.Context, *decisions.Input) (decisions.Findings, error) {
	return decisions.Findings{}, nil
}
func (p *nothing) Match(*decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	return nil, nil, nil
}
func (p *nothing) Append(context.Context, ...*decisions.Record) error { return nil }

// deciding returns an engine with a cache whose decisions note is called with.
func deciding(t *testing.T, note func(*decisions.Deliberation)) *decisions.Engine {
	t.Helper()
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := tools.ParseProfiles(rego.Profiles())
	if err != nil {
		t.Fatal(err)
	}
	p, n := &nothing{table, profiles}, 0
	e, err := decisions.NewEngine(decisions.Config{
		Policy: p, Memory: p, Journal: p, FS: paths.OSFS{}, Log: slog.New(slog.DiscardHandler), Cache: new(decisions.Cache),
		Now: time.Now, NewID: func() string { n++; return fmt.Sprint("d", n) }, Observe: note,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// message is as long as a message may be; calls are parts of it.
type message [4 << 20]byte

// request returns a request for a call that is part of a message.
func (m *message) request(input string) *decisions.Request {
	return &decisions.Request{Call: effects.Call{
		Protocol: "permd", Tool: effects.Tool{Name: "Bash"}, Input: m[:copy(m[:], input)], Agent: effects.Party{Name: "claude-agent-acp"}, Cwd: "/p",
	}}
}

// TestKeepsNoMessage: neither what waits nor what is known to be in the file has the message
// that a call is part of.
func TestKeepsNoMessage(t *testing.T) {
	const input = `{"command":"ls"}`
	for name, decide := range map[string]func(*decisions.Engine, *message){
		"a call of several": func(e *decisions.Engine, m *message) { e.Decide(t.Context(), m.request(input), m.request(input)) },
		"a cached call":     func(e *decisions.Engine, m *message) { e.Decide(t.Context(), m.request(input)) },
		"a long call": func(e *decisions.Engine, m *message) {
			e.Decide(t.Context(), m.request(`{"command":"ls `+strings.Repeat("x", 1<<20)+`"}`))
		},
		"a call that was announced otherwise": func(e *decisions.Engine, m *message) {
			r := m.request(input)
			r.Call.Announced = &m.request(input).Call
			e.Decide(t.Context(), r, m.request(input))
		},
	} {
		k := Keep(Options{Dir: filepath.Join(t.TempDir(), "arguments"), Log: slog.New(slog.DiscardHandler), Now: time.Now})
		e := deciding(t, k.Note)
		m := new(message)
		held := weak.Make(m)
		decide(e, m)
		runtime.GC()
		if held.Value() != nil {
			t.Errorf("%s: what waits has the message", name)
		}
		k.Flush(t.Context())
		runtime.GC()
		if held.Value() != nil {
			t.Errorf("%s: what is written has the message", name)
		}
		k.Close()
		kept, err := Read(k.o.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if c, _ := kept.Of("d1"); c == nil || c.Why != "" && name != "a long call" {
			t.Errorf("%s: kept %+v", name, c)
		}
	}
}

// TestQueuedBytes: what waits counts what it keeps in memory.
func TestQueuedBytes(t *testing.T) {
	k := &Keeper{o: Options{Now: time.Now}, wake: make(chan struct{}, 1)} // nothing is written
	e := deciding(t, k.Note)
	m, long := new(message), strings.Repeat("x", 12<<10)
	for i := range 400 {
		r := m.request(fmt.Sprintf(`{"n":%d,"x":%q}`, i, long))
		r.Call.Tool.Name = "frob"
		e.Decide(t.Context(), r)
	}
	n := 0
	for i := range k.queue {
		for _, c := range []*effects.Call{k.queue[i].call, k.queue[i].from} {
			n += c.Size()
		}
	}
	if n == 0 || n > maxQueuedBytes {
		t.Errorf("%d bytes wait", n)
	}
}

// TestKeepsNoUser: nothing of the user but their number is written, also where a call is
// written again to the next file.
func TestKeepsNoUser(t *testing.T) {
	now := time.Now()
	k := Keep(Options{Dir: filepath.Join(t.TempDir(), "arguments"), MaxAge: 80 * time.Hour, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
	defer k.Close()
	e := deciding(t, k.Note)
	decide := func() {
		t.Helper()
		r := new(message).request(`{"command":"ls"}`)
		r.Call.User = effects.User{UID: 7, Name: "canary", Home: "/home/canary", Groups: []string{"canary"}, Env: map[string]string{"TMPDIR": "/canary"}}
		e.Decide(t.Context(), r)
	}
	decide()
	k.Flush(t.Context())
	now = now.Add(11 * time.Hour) // another file
	decide()
	k.mu.Lock()
	again := len(k.queue) == 1 && k.queue[0].call == nil && k.queue[0].from != nil
	k.mu.Unlock()
	k.Flush(t.Context())
	files, _ := filepath.Glob(filepath.Join(k.o.Dir, "*"+suffix))
	if !again || len(files) != 2 {
		t.Fatalf("control: %t, %d files", again, len(files))
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err != nil || strings.Contains(string(text), "canary") || !strings.Contains(string(text), `"UID":7`) {
			t.Errorf("%s %v", text, err)
		}
	}
}
