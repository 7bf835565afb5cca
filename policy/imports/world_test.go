package imports

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/rego"
)

// The place that tests are about.
const (
	home    = "/home/dev"
	project = home + "/project"
)

// shipped are the program table and the agent profiles, read once.
var shipped = sync.OnceValues(func() (*programs.Table, *tools.Profiles) {
	table, err := programs.Shipped()
	if err != nil {
		panic(err)
	}
	profiles, err := tools.ParseProfiles(rego.Profiles())
	if err != nil {
		panic(err)
	}
	return table, profiles
})

// world decides calls with imported rules as the user's.
type world struct{ engine *decisions.Engine }

func newWorld(t testing.TB, im *Import, base map[string][]byte) *world {
	t.Helper()
	return openWorld(t, im, folder(t, im), base)
}

// openWorld is newWorld for rules that have been written.
func openWorld(t testing.TB, im *Import, dir string, base map[string][]byte) *world {
	t.Helper()
	uid := uint32(os.Geteuid())
	table, profiles := shipped()
	store, err := policy.Open(t.Context(), policy.Options{
		OrgDir: filepath.Join(t.TempDir(), "none"), OrgOwners: []uint32{0, uid},
		UserDir: func(uint32) (string, error) { return dir, nil },
		UID:     uid, Base: base, Schema: rego.InputSchema(), Programs: rego.Programs(), Profiles: rego.Profiles(), Table: table, ParsedProfiles: profiles,
	})
	if err != nil {
		for _, f := range im.Files {
			t.Logf("-- %s --\n%s", f.Name, f.Text)
		}
		t.Fatal(err)
	}
	if s := store.Status(); s.Degraded() {
		for _, f := range im.Files {
			t.Logf("-- %s --\n%s", f.Name, f.Text)
		}
		t.Fatalf("the rules cannot be used: %+v", s)
	}
	fs := fsfake.New(project+"/.git/", project+"/src/main.py", project+"/docs/", project+"/.env", home+"/.ssh/id_ed25519", home+"/other/.git/",
		project+"/scripts/lint.sh", "/usr/bin/git", "/bin/rm", "/bin/sh", "/tmp/", "/etc/passwd")
	for _, root := range []string{project, home + "/other"} {
		if err := store.Prepare(t.Context(), uid, root); err != nil {
			t.Fatal(err)
		}
	}
	engine, err := decisions.NewEngine(decisions.Config{
		Policy: store, Memory: nobody{}, Journal: nobody{}, FS: fs,
		Now:   func() time.Time { return time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC) },
		NewID: func() string { return "id" }, Log: slog.New(slog.DiscardHandler), Unattended: store.Unattended,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &world{engine}
}

// nobody is a memory and journal that store nothing.
type nobody struct{}

func (nobody) Match(*decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	return nil, nil, nil
}

func (nobody) Append(context.Context, ...*decisions.Record) error { return nil }

// folder writes the import as permd wants its rules: only its owner can write.
func folder(t testing.TB, im *Import) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "private", "policy.d")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range im.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(f.Text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	policytest.Age(t, dir)
	return dir
}

// call reads a call in a short form: "Read PATH", "Write PATH", "Fetch URL", the
// name of a tool of a server, or else shell text.
func (w *world) decide(t testing.TB, text string) *decisions.Decision {
	return w.decideIn(t, text, project)
}

func (w *world) decideIn(t testing.TB, text, cwd string) *decisions.Decision {
	t.Helper()
	first, rest, _ := strings.Cut(text, " ")
	name, input := "Bash", `{"command":`+strconv.Quote(text)+`}`
	switch {
	case first == "Read" || first == "Write":
		if !strings.HasPrefix(rest, "/") {
			rest = cwd + "/" + rest
		}
		name, input = first, `{"file_path":`+strconv.Quote(rest)+`}`
	case first == "Fetch":
		name, input = "WebFetch", `{"url":`+strconv.Quote(rest)+`,"prompt":"x"}`
	case strings.HasPrefix(first, "mcp__"), first == "Skill", first == "skill", first == "Task", first == "WebSearch":
		name, input = first, `{}`
	}
	return w.call(t, name, input, cwd)
}

func (w *world) call(t testing.TB, name, input, cwd string) *decisions.Decision {
	t.Helper()
	ds := w.engine.Decide(t.Context(), &decisions.Request{
		Call: effects.Call{
			ID: "c1", Protocol: "permd", Tool: effects.Tool{Name: name}, Input: []byte(input), Cwd: cwd,
			Agent: effects.Party{Name: "claude-agent-acp", Version: "0.100.0"},
			User:  effects.User{UID: 1000, Name: "dev", Home: home, Groups: []string{"dev"}, Env: map[string]string{"HOME": home}},
		},
		Peer: decisions.Peer{UID: uint32(os.Geteuid())}, Session: decisions.SessionRef{ID: "s1", Mode: "default"},
	})
	if ds[0].By == decisions.ByFailure {
		t.Fatalf("deciding %q failed: %s", input, ds[0].Reason)
	}
	return ds[0]
}

// translate imports one settings file of a tool.
func translate(t testing.TB, tool Tool, name, text string) *Import {
	t.Helper()
	im, err := tryTranslate(t, tool, name, text)
	if err != nil {
		t.Fatal(err)
	}
	return im
}

func tryTranslate(t testing.TB, tool Tool, name, text string) (*Import, error) {
	t.Helper()
	table, profiles := shipped()
	return Translate(tool, []File{{name, []byte(text)}}, Options{Home: home, Table: table, Profiles: profiles})
}
