package preview_test

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// past is a daemon's journal, arguments and memory without the daemon.
type past struct {
	t       *testing.T
	project string
	memory  *remember.Store
	engine  *engine.Engine
	journal *journal.Journal
	kept    *arguments.Keeper
	data    string // the folder
	stores  int
}

func newPast(t *testing.T) *past {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(home, "run"))
	p := &past{t: t, project: filepath.Join(home, "project")}
	filetest.Write(t, filepath.Join(p.project, ".git", "HEAD"), "ref: refs/heads/main\n")
	dirs, err := account.Dirs("")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dirs.Config, filepath.Join(dirs.Config, account.PolicyDir), dirs.Data} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	if p.journal, err = journal.Open(journal.Options{Path: filepath.Join(dirs.Data, "decisions.db"), Durability: journal.Process}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.journal.Close() })
	p.data = dirs.Data
	p.kept = arguments.Keep(arguments.Options{Dir: arguments.Dir(p.data), Log: log, Now: time.Now})
	t.Cleanup(p.kept.Close)
	rules, err := engine.OpenRules(t.Context(), dirs, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.memory = p.store()
	if p.engine, err = engine.New(engine.Config{Dirs: dirs, Rules: rules, Log: log, Memory: p.memory, Journal: p.journal, Observe: p.kept.Note}); err != nil {
		t.Fatal(err)
	}
	if err := rules.Prepare(t.Context(), uint32(os.Geteuid()), p.project); err != nil {
		t.Fatal(err)
	}
	return p
}

// store returns a memory with some lines.
func (p *past) store(lines ...string) *remember.Store {
	p.t.Helper()
	p.stores++
	s, err := remember.Open(remember.Options{Path: filepath.Join(p.data, fmt.Sprintf("remember%d.db", p.stores))})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = s.Close() })
	for _, line := range lines {
		if _, err := p.add(s, line); err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
	}
	return s
}

func (p *past) add(s *remember.Store, line string) (remember.Choice, error) {
	kind, text, _ := strings.Cut(line, " ")
	return s.Add(p.t.Context(), remember.Line{
		UID: uint32(os.Geteuid()), Verdict: decisions.Allow, Kind: effects.Kind(kind), Line: text, Scope: remember.ForProject, Project: p.project,
	})
}

// decide decides a command by a memory; kept is set for one that the log has.
func (p *past) decide(command string, memory *remember.Store, kept bool) *decisions.Decision {
	p.t.Helper()
	e := p.engine.Decisions
	if !kept {
		var err error
		if e, err = e.With(func(o *decisions.Config) { o.Detach(); o.Memory, o.Proposer = memory, memory }); err != nil {
			p.t.Fatal(err)
		}
	}
	uid := uint32(os.Geteuid())
	return e.Decide(p.t.Context(), &decisions.Request{Peer: decisions.Peer{UID: uid}, Session: decisions.SessionRef{ID: "s"}, Unrecorded: !kept, Call: effects.Call{
		ID: "1", Protocol: "permd", Tool: effects.Tool{Name: "Bash"}, Input: strictjson.Value(fmt.Sprintf(`{"command":%q}`, command)),
		Agent: effects.Party{Name: "claude-agent-acp"}, Cwd: p.project, User: p.engine.Users.Lookup(uid),
	}})[0]
}

// matched returns which effects of which commands a choice decides, each as command#index.
func matched(commands []string, d func(string) *decisions.Decision, id string) map[string]bool {
	set := map[string]bool{}
	for _, c := range commands {
		for i, e := range d(c).Effects {
			if e.ChoiceID != "" && (id == "" || e.ChoiceID == id) {
				set[fmt.Sprint(c, "#", i)] = true
			}
		}
	}
	return set
}

// TestNarrowerOracle compares the narrower lines of random choices after random uses with what is
// found without any of its code: the lines that questions about the uses offer, each put in force
// alone, and all calls of a small world decided by it.
func TestNarrowerOracle(t *testing.T) {
	p := newPast(t)
	commands := []string{
		"go vet ./a", "go vet ./b", "go build ./a", "go build -v ./a", "go test ./a", "go test -run X ./a", "go test -run X ./b", "git checkout -b a", "git checkout -b b",
		"curl https://api.example.com/a", "curl https://www.example.com/", "curl https://api.example.org/", "cat notes.txt",
		"touch sub/a/x", "touch sub/a/y", "touch sub/b/z", "touch top",
	}
	wides := []string{"run go vet *", "run go build *", "run cat *", "connect *.example.com", "write ./**", "write ./sub/**", "write ./sub/a/**"}
	empty := p.store()
	offered := map[string][]string{} // lines by command
	for _, c := range commands {
		for _, w := range p.decide(c, empty, false).Widths {
			for line := range strings.SplitSeq(w.Rule, "\n") {
				if offered[c] = append(offered[c], line); strings.Contains(line, "*") && !slices.Contains(wides, line) {
					wides = append(wides, line)
				}
			}
		}
	}
	sets := map[string]map[string]bool{}
	counts := map[string]map[string]int64{} // of matches, by line and command, also where a rule decides
	matches := func(line string) map[string]bool {
		if sets[line] == nil {
			alone := p.store()
			sets[line], counts[line] = map[string]bool{}, map[string]int64{}
			if choice, err := p.add(alone, line); err == nil {
				sets[line] = matched(commands, func(c string) *decisions.Decision {
					before, _ := alone.Get(choice.ID)
					d := p.decide(c, alone, false)
					after, _ := alone.Get(choice.ID)
					counts[line][c] = after.Matches - before.Matches
					return d
				}, "")
			}
		}
		return sets[line]
	}
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	u := preview.NewUses(p.counter(), p.memory, slog.Default())
	defer u.Close()
	said, silent := 0, 0
	for round := range 30 {
		wide := wides[rng.IntN(len(wides))]
		choice, err := p.add(p.memory, wide)
		if err != nil {
			t.Fatalf("%s: %v", wide, err)
		}
		whole := matches(wide)
		picked := slices.DeleteFunc(slices.Clone(commands), func(c string) bool {
			return !slices.ContainsFunc(keys(whole), func(k string) bool { return strings.HasPrefix(k, c+"#") })
		})
		if len(picked) == 0 {
			continue
		}
		few := min(rng.IntN(4)+1, len(picked))
		rng.Shuffle(len(picked), func(i, j int) { picked[i], picked[j] = picked[j], picked[i] })
		var uses []map[string]bool // the oldest first
		var of []string
		for range rng.IntN(40) {
			c := picked[rng.IntN(few)]
			if set := matched([]string{c}, func(c string) *decisions.Decision { return p.decide(c, nil, true) }, choice.ID); len(set) > 0 {
				uses, of = append(uses, set), append(of, c)
			}
		}
		newest := max(0, len(uses)-20)
		uses, of = uses[newest:], of[newest:]
		var want []string
		for _, c := range of {
			for _, line := range offered[c] {
				set := matches(line)
				all := !slices.ContainsFunc(uses, func(u map[string]bool) bool { return !within(u, set) })
				more := slices.ContainsFunc(of, func(c string) bool { return counts[line][c] > counts[wide][c] })
				path := strings.HasPrefix(line, "write ") && !strings.HasSuffix(line, "/**")
				if all && !more && within(set, whole) && len(set) < len(whole) && !path && len(uses) >= preview.LeastUses {
					want = append(want, line)
				}
			}
		}
		now, err := p.memory.Get(choice.ID)
		if err != nil {
			t.Fatal(err)
		}
		is := u.Narrower(t.Context(), map[string]preview.Asked{choice.ID: {Matches: max(now.Matches, preview.LeastUses), Last: now.LastMatched.Add(-time.Hour)}}, time.Minute)[choice.ID]
		line := string(choice.Kind) + " " + is.Line
		switch {
		case is.Line == "" && len(want) > 0:
			t.Fatalf("seed %d, round %d: %s was used for %q, and nothing is said; it could be one of %q", seed, round, wide, of, want)
		case is.Line == "":
			silent++
		default:
			said++
			set := matches(line)
			for i, u := range uses {
				if !within(u, set) {
					t.Errorf("seed %d, round %d: %s is said of %s, and does not match %q", seed, round, line, wide, of[i])
				}
			}
			if !within(set, whole) {
				t.Errorf("seed %d, round %d: %s matches %v, and %s %v", seed, round, line, keys(set), wide, keys(whole))
			}
			if is.Uses != len(uses) {
				t.Errorf("seed %d, round %d: %d uses are said of %d", seed, round, is.Uses, len(uses))
			}
			for _, other := range want {
				if set := matches(other); within(set, matches(line)) && len(set) < len(matches(line)) {
					t.Errorf("seed %d, round %d: %s is said of %s, and %s is narrower", seed, round, line, wide, other)
				}
			}
		}
		if _, err := p.memory.Forget(t.Context(), choice.ID); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("said %d, silent %d", said, silent)
	if said < 3 || silent < 3 {
		t.Errorf("seed %d: a line is said of %d, and nothing of %d", seed, said, silent)
	}
}

// TestUsesWithoutArguments: of a use whose arguments the log does not have nothing is said, nor of
// what was before it.
func TestUsesWithoutArguments(t *testing.T) {
	p := newPast(t)
	choice, err := p.add(p.memory, "run go vet *")
	if err != nil {
		t.Fatal(err)
	}
	asked := func() preview.Narrower {
		u := preview.NewUses(p.counter(), p.memory, slog.Default())
		defer u.Close()
		return u.Narrower(t.Context(), map[string]preview.Asked{choice.ID: {Matches: 9}}, time.Minute)[choice.ID]
	}
	use := func(command string, n int) {
		for range n {
			if d := p.decide(command, nil, true); d.By != decisions.ByMemory {
				t.Fatalf("%s is decided by %s", command, d.By)
			}
		}
		p.kept.Flush(t.Context())
	}
	use("go vet ./b", 3)
	if is := asked(); is.Line != "go vet ./b" || is.Uses != 3 {
		t.Fatalf("it is %+v", is)
	}
	if err := os.RemoveAll(arguments.Dir(p.data)); err != nil {
		t.Fatal(err)
	}
	if is := asked(); is.Line != "" {
		t.Errorf("without the arguments it is %+v", is)
	}
}

func (p *past) counter() *preview.Counter {
	c := preview.New(p.journal.Reader, p.engine, arguments.Dir(p.data))
	c.Flush = p.kept.Flush
	return c
}

func within(a, b map[string]bool) bool {
	for k := range a {
		if !b[k] {
			return false
		}
	}
	return true
}

func keys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
