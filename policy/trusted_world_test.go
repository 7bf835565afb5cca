package policy

import (
	"context"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/trust"
	"github.com/permd/permd/rego"
)

// trusting is a store and what it depends on, in memory: lists of projects by their names, pins,
// settings and a clock.
type trusting struct {
	store  *Store
	engine *decisions.Engine
	lists  map[string]source.File
	pins   map[layerKey]*trust.Pin
	now    time.Time
	sw     Switches
	read   func(dir string) // called before a folder is read, nil for nothing
}

type unremembered struct{}

func (unremembered) Match(*decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	return nil, nil, nil
}
func (unremembered) Append(context.Context, ...*decisions.Record) error { return nil }

func newTrusting(t testing.TB) *trusting {
	t.Helper()
	w := &trusting{lists: map[string]source.File{}, pins: map[layerKey]*trust.Pin{}, now: time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)}
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := shippedProfiles()
	if err != nil {
		t.Fatal(err)
	}
	w.store, err = Open(t.Context(), Options{
		System: true, Base: rego.Base(), Schema: rego.InputSchema(), Programs: rego.Programs(), Profiles: rego.Profiles(), Table: table, ParsedProfiles: profiles,
		Switches: func() (Switches, error) { return w.sw, nil },
		Trust:    func(uid uint32, root string) *trust.Pin { return w.pins[layerKey{uid, root}] },
		now:      func() time.Time { return w.now },
		readDir: func(dir string, _ source.Access) (*source.Tree, error) {
			if w.read != nil {
				w.read(dir)
			}
			tree := &source.Tree{}
			if f, ok := w.lists[filepath.Join(dir, source.ListName)]; ok {
				f.Name, f.Rel, f.Dir = filepath.Join(dir, source.ListName), source.ListName, dir
				tree.Dirs, tree.Files, tree.Stamps = []string{dir}, []source.File{f}, []string{string(f.Data)}
			}
			return tree, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.engine, err = decisions.NewEngine(decisions.Config{
		System: true, Policy: w.store, Memory: unremembered{}, Journal: unremembered{}, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return w.now }, NewID: func() string { return "id" },
		FS: fsfake.New(shop+"/.git/", shop+"/docs/a", shop+"/.env", shop+"/.envrc", shop+"/.github/workflows/", shop+"/.claude/settings.json",
			shop+"/sub/.git/", "/home/u/other/.git/", "/home/u/notes", "/home/u/.ssh/id_ed25519", "/usr/bin/make", "/bin/sh", "/tmp/",
			shop+"/out -> /home/u/other", shop+"/in -> docs", shop+"/lnk -> /etc/passwd", "/home/u/other/a", "/etc/passwd"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// write makes text the list of a name, of ann.
func (w *trusting) write(name, text string) {
	w.lists[name] = source.File{Data: []byte(text), Owner: ann}
}

// pin has a person trust a text at a root for a time.
func (w *trusting) pin(uid uint32, root, text string, lasts time.Duration) {
	w.pins[layerKey{uid, root}] = &trust.Pin{UID: uid, Root: root, Digest: trust.Digest([]byte(text)), Text: []byte(text), Since: w.now, Until: w.now.Add(lasts)}
}

// trusts writes a list that ann trusts.
func (w *trusting) trusts(text string) {
	w.write(shopList, text)
	w.pin(ann, shop, text, time.Hour)
}

// load reads the rules of a person and a project.
func (w *trusting) load(t testing.TB, uid uint32, root string) {
	t.Helper()
	_ = w.store.Prepare(t.Context(), uid, root) // a layer that is broken is part of some tests
}

// decide decides a call in a short form: "Read PATH", "Write PATH", a tool of a server, or a command.
func (w *trusting) decide(t testing.TB, uid uint32, cwd, text string) *decisions.Decision {
	t.Helper()
	first, rest, _ := strings.Cut(text, " ")
	name, input := "Bash", `{"command":`+strconv.Quote(text)+`}`
	switch {
	case first == "Read" || first == "Write":
		name, input = first, `{"content":"x","file_path":`+strconv.Quote(rest)+`}`
		if first == "Read" {
			input = `{"file_path":` + strconv.Quote(rest) + `}`
		}
	case strings.HasPrefix(first, "mcp__"):
		name, input = first, `{}`
	}
	return w.engine.Decide(t.Context(), &decisions.Request{
		Call: effects.Call{
			ID: "c1", Protocol: "permd", Tool: effects.Tool{Name: name}, Input: []byte(input), Cwd: cwd, Roots: []string{"/home/u/other"},
			Agent: effects.Party{Name: "claude-agent-acp", Version: "0.100.0"},
			User:  effects.User{UID: uid, Name: "u", Home: "/home/u", Env: map[string]string{"HOME": "/home/u"}},
		},
		Peer: decisions.Peer{UID: uid}, Session: decisions.SessionRef{ID: "s1", Mode: "default"},
	})[0]
}
