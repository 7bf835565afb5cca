package replay

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
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/xdg"
)

// world is a home with a journal of n decisions. Every eighth is about a call of its own.
func world(tb testing.TB, n int) (dirs xdg.Dirs) {
	tb.Helper()
	home, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		tb.Setenv(name, "")
	}
	tb.Setenv("HOME", home)
	tb.Setenv("XDG_RUNTIME_DIR", filepath.Join(home, "run"))
	project := filepath.Join(home, "project")
	filetest.Write(tb, filepath.Join(project, ".git", "HEAD"), "ref: refs/heads/main\n")
	filetest.Write(tb, filepath.Join(project, "a.go"), "package a\n")
	if dirs, err = account.Dirs(""); err != nil {
		tb.Fatal(err)
	}
	filetest.Write(tb, filepath.Join(dirs.Config, account.PolicyDir, "rules.yaml"), "allow:\n  run: [frob a *, go test *]\n")
	for _, dir := range []string{dirs.Config, filepath.Join(dirs.Config, account.PolicyDir), filepath.Dir(dirs.Data)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	j, err := journal.Open(journal.Options{Path: filepath.Join(dirs.Data, "decisions.db"), Durability: journal.Process})
	if err != nil {
		tb.Fatal(err)
	}
	keeper := arguments.Keep(arguments.Options{Dir: arguments.Dir(dirs.Data), Log: log, Now: time.Now})
	rules, err := engine.OpenRules(tb.Context(), dirs, false, nil)
	if err != nil {
		tb.Fatal(err)
	}
	e, err := engine.New(engine.Config{Dirs: dirs, Rules: rules, Log: log, Journal: j, Observe: keeper.Note})
	if err != nil {
		tb.Fatal(err)
	}
	if err := rules.Prepare(tb.Context(), uint32(os.Geteuid()), project); err != nil {
		tb.Fatal(err)
	}
	words := []string{"git status", "frob b", "go test ./a", "ls", "cat a.go", "rm -rf build", "curl https://x.dev/"}
	const batch = 256
	for i := 0; i < n; i += batch {
		for k := i; k < min(n, i+batch); k++ {
			command := words[k%len(words)]
			if k%8 == 0 {
				command = fmt.Sprintf("frob a %d", k)
			}
			req := &decisions.Request{Peer: decisions.Peer{UID: uint32(os.Geteuid())}, Session: decisions.SessionRef{ID: "s"}, Call: effects.Call{
				ID: "1", Protocol: "permd", Tool: effects.Tool{Name: "Bash"}, Input: strictjson.Value(fmt.Sprintf(`{"command":%q}`, command)),
				Agent: effects.Party{Name: "claude-agent-acp"}, Cwd: project, User: e.Users.Lookup(uint32(os.Geteuid())),
			}}
			e.Decisions.Decide(tb.Context(), req)
		}
		keeper.Flush(tb.Context())
	}
	keeper.Close()
	if err := j.Close(); err != nil {
		tb.Fatal(err)
	}
	return dirs
}

// BenchmarkReplay replays a journal with PERMD_BENCH_JOURNAL_ROWS decisions.
func BenchmarkReplay(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("PERMD_BENCH_JOURNAL_ROWS"))
	if err != nil {
		n = 2000
	}
	world(b, n)
	s := &cli.Streams{Err: os.Stderr}
	for b.Loop() {
		r, err := Replay(b.Context(), s, "", decisions.RecordFilter{}, "")
		if err != nil {
			b.Fatal(err)
		}
		if r.Decisions != n || r.Same != n {
			b.Fatalf("%+v %+v", r, r.Undecided)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}

// BenchmarkWhyAsked finds what was asked in a journal with PERMD_BENCH_JOURNAL_ROWS decisions.
func BenchmarkWhyAsked(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("PERMD_BENCH_JOURNAL_ROWS"))
	if err != nil {
		n = 2000
	}
	world(b, n)
	s := &cli.Streams{Err: os.Stderr}
	for b.Loop() {
		list, undecided, err := WhyAsked(b.Context(), s, "", decisions.RecordFilter{}, 10)
		if err != nil {
			b.Fatal(err)
		}
		if len(list) != 3 || len(undecided) != 0 {
			b.Fatalf("%+v %+v", list, undecided)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}
