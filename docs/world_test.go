package docs

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/rego"
)

// The paths in the documents' examples.
const (
	home    = "/home/ana"
	project = home + "/shop"
)

// now is the time in the documents' examples.
var now = time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)

// rules are folders of rules, by layer.
type rules struct {
	org, user string
	// project is a folder whose .permd has the project's rules. It replaces the
	// documents' project.
	project string
	noBase  bool
	profile string // balanced if empty
}

// world is an engine with rules, and a file system in memory.
type world struct {
	engine  *decisions.Engine
	fs      *fsfake.FS
	own     paths.Own
	store   *policy.Store
	project string
}

// The shipped program table and agent profiles, shared by all tests.
var shippedProfiles = sync.OnceValues(func() (*tools.Profiles, error) { return tools.ParseProfiles(rego.Profiles()) })

func newWorld(t *testing.T, r rules) *world {
	t.Helper()
	uid := uint32(os.Geteuid())
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := shippedProfiles()
	if err != nil {
		t.Fatal(err)
	}
	base := rego.Base()
	if r.noBase {
		base = nil
	}
	store, err := policy.Open(t.Context(), policy.Options{
		OrgDir: r.org, OrgOwners: []uint32{0, uid},
		UserDir: func(uint32) (string, error) { return r.user, nil },
		UID:     uid,
		Base:    base, Schema: rego.InputSchema(), Programs: rego.Programs(), Profiles: rego.Profiles(), Table: table, ParsedProfiles: profiles,
		Switches: func() (policy.Switches, error) { return policy.Switches{Profile: r.profile}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{store: store, project: project}
	if r.project != "" {
		w.project = r.project
	}
	fs := fsfake.New(
		w.project+"/src/main.py", w.project+"/docs/", w.project+"/build/", w.project+"/migrations/0001.sql",
		w.project+"/.github/workflows/", w.project+"/testdata/server.key", w.project+"/scripts/lint.sh", w.project+"/tools/gen.py",
		home+"/.ssh/id_ed25519", home+"/notes/today.md", home+"/scratch/.git/", "/usr/bin/git", "/usr/include/", "/tmp/", "/etc/hosts",
	)
	fs.File(w.project+"/.git/HEAD", "ref: refs/heads/main\n").File(w.project+"/.git/refs/heads/main", strings.Repeat("0", 40)+"\n").
		File(w.project+"/.git/config", "[core]\n\trepositoryformatversion = 0\n").Dir(w.project + "/.git/objects")
	if err := store.Prepare(t.Context(), uid, w.project); err != nil {
		t.Fatal(err)
	}
	if err := store.Prepare(t.Context(), uid, home+"/scratch"); err != nil {
		t.Fatal(err)
	}
	w.fs, w.own = fs, paths.OwnFiles(home+"/.config/permd")
	w.engine, err = decisions.NewEngine(decisions.Config{
		Policy: store, Memory: nothing{}, Journal: nothing{}, FS: fs, Own: w.own,
		Now: func() time.Time { return now }, NewID: func() string { return "id" }, Log: slog.New(slog.DiscardHandler),
		Unattended: store.Unattended,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// nothing is a memory without choices and a journal that stores nothing.
type nothing struct{}

func (nothing) Match(*decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	return nil, nil, nil
}

func (nothing) Append(context.Context, ...*decisions.Record) error { return nil }

// callWire is a call in the JSON of the documents.
type callWire struct {
	Tool struct {
		Name, Server, Version string
	}
	Secrets, Scopes []string
	Input           json.RawMessage
	Kind            string
	Title           string
	Cwd             string
}

// call parses a call in the documents' short form: "Write PATH", "Read PATH", the name
// of a tool, JSON, or otherwise shell text.
func (w *world) call(t *testing.T, text string) *effects.Call {
	t.Helper()
	var wire callWire
	first, rest, _ := strings.Cut(text, " ")
	switch {
	case strings.HasPrefix(text, "{"):
		if err := json.Unmarshal([]byte(text), &wire); err != nil {
			t.Fatalf("reading the call %s: %v", text, err)
		}
	case first == "Read" || first == "Write":
		wire.Tool.Name = first
		wire.Input = []byte(`{"file_path":` + strconv.Quote(w.abs(rest)) + `}`)
	case strings.HasPrefix(first, "mcp__") || rest == "" && unicode.IsUpper(rune(text[0])):
		wire.Tool.Name, wire.Input = first, []byte(`{}`)
	default:
		wire.Tool.Name = "Bash"
		wire.Input = []byte(`{"command":` + strconv.Quote(text) + `}`)
	}
	cwd := w.project
	if wire.Cwd != "" {
		cwd = wire.Cwd
	}
	given := effects.Credentials{Secrets: wire.Secrets}
	if wire.Scopes != nil {
		given.Authorizations = []effects.Authorization{{ID: "sms", Scopes: wire.Scopes}}
	}
	return &effects.Call{
		ID: "c1", Protocol: "permd", Tool: effects.Tool{Name: wire.Tool.Name, Server: wire.Tool.Server, Version: wire.Tool.Version}, Input: []byte(wire.Input), Credentials: given,
		Claims: effects.Claims{Kind: wire.Kind, Title: wire.Title}, Cwd: cwd,
		Agent: effects.Party{Name: "claude-agent-acp", Version: "0.100.0"}, Client: effects.Party{Name: "zed", Version: "1.2.0"},
		User: effects.User{UID: 1000, Name: "ana", Home: home, Groups: []string{"ana"}, Env: map[string]string{"HOME": home}},
	}
}

func (w *world) abs(name string) string {
	switch {
	case strings.HasPrefix(name, "/"):
		return name
	case strings.HasPrefix(name, "~/"):
		return home + name[1:]
	}
	return path.Join(w.project, name)
}

func (w *world) decide(t *testing.T, c *effects.Call) *decisions.Decision {
	t.Helper()
	ds := w.engine.Decide(t.Context(), &decisions.Request{
		Call: *c, Peer: decisions.Peer{UID: uint32(os.Geteuid())}, Session: decisions.SessionRef{ID: "s1", Mode: "default"},
	})
	if ds[0].By == decisions.ByFailure {
		t.Fatalf("deciding failed: %s", ds[0].Reason)
	}
	return ds[0]
}

// folder writes files into a new folder that only its owner can write, as permd requires
// of rules. The files are old, so that permd does not wait for further changes.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "private", "policy.d")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	policytest.Age(t, dir)
	return dir
}
