package preview_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/cmd/permd/internal/preview"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/remember"
)

// BenchmarkPreview counts the widths of a question, with PERMD_BENCH_JOURNAL_ROWS requests in the
// log. Each command is another one.
func BenchmarkPreview(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("PERMD_BENCH_JOURNAL_ROWS"))
	if err != nil {
		n = 2000
	}
	home, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		b.Setenv(name, "")
	}
	b.Setenv("HOME", home)
	b.Setenv("XDG_RUNTIME_DIR", filepath.Join(home, "run"))
	project := filepath.Join(home, "project")
	filetest.Write(b, filepath.Join(project, ".git", "HEAD"), "ref: refs/heads/main\n")
	dirs, err := account.Dirs("")
	if err != nil {
		b.Fatal(err)
	}
	for _, dir := range []string{dirs.Config, filepath.Join(dirs.Config, account.PolicyDir), dirs.Data} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			b.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	j, err := journal.Open(journal.Options{Path: filepath.Join(dirs.Data, "decisions.db"), Durability: journal.Process})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	keeper := arguments.Keep(arguments.Options{Dir: arguments.Dir(dirs.Data), Log: log, Now: time.Now})
	defer keeper.Close()
	rules, err := engine.OpenRules(b.Context(), dirs, false, nil)
	if err != nil {
		b.Fatal(err)
	}
	e, err := engine.New(engine.Config{Dirs: dirs, Rules: rules, Log: log, Journal: j, Observe: keeper.Note})
	if err != nil {
		b.Fatal(err)
	}
	uid := uint32(os.Geteuid())
	if err := rules.Prepare(b.Context(), uid, project); err != nil {
		b.Fatal(err)
	}
	words := []string{"git status", "frob b", "go test ./a", "ls", "cat a.go", "rm -rf build", "curl https://x.dev/"}
	for i := range n {
		e.Decisions.Decide(b.Context(), &decisions.Request{Peer: decisions.Peer{UID: uid}, Session: decisions.SessionRef{ID: "s"}, Call: effects.Call{
			ID: "1", Protocol: "permd", Tool: effects.Tool{Name: "Bash"}, Input: strictjson.Value(fmt.Sprintf(`{"command":"%s && go test ./p%d"}`, words[i%len(words)], i)),
			Agent: effects.Party{Name: "claude-agent-acp"}, Cwd: project, User: e.Users.Lookup(uid),
		}})
		if i%256 == 0 {
			keeper.Flush(b.Context())
		}
	}
	keeper.Flush(b.Context())
	memory, err := remember.Open(remember.Options{Path: filepath.Join(dirs.Data, "remember.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer memory.Close()
	var trials []*remember.Trial
	for _, l := range []remember.Line{
		{Verdict: decisions.Allow, Line: "go test *", Scope: remember.ForProject}, {Verdict: decisions.Deny, Line: "go test ./p1", Scope: remember.ForProject},
		{Verdict: decisions.Allow, Line: "curl *", Scope: remember.ForUser},
	} {
		l.UID, l.Kind, l.Project = uid, effects.KindRun, project
		t, err := memory.TryLine(l)
		if err != nil {
			b.Fatal(err)
		}
		trials = append(trials, t)
	}
	c := preview.New(j.Reader, e, arguments.Dir(dirs.Data))
	c.Flush = keeper.Flush
	looked := 0
	for b.Loop() {
		counts, err := c.Count(b.Context(), trials...)
		if err != nil {
			b.Fatal(err)
		}
		if got := counts[0]; got.Matched != got.Requests || got.Unknown != 0 {
			b.Fatalf("%+v", got)
		}
		looked += counts[0].Requests
	}
	b.ReportMetric(float64(looked)/float64(b.N), "requests")
}
