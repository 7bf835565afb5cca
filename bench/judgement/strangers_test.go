package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/bench/shipped"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/rego"
)

// withoutStandard are rules under which no name of a tool has a usual meaning.
type withoutStandard struct {
	decisions.Snapshot
	profiles *tools.Profiles
}

func (w withoutStandard) Profiles() *tools.Profiles { return w.profiles }

func profilesWithoutStandard(t *testing.T) *tools.Profiles {
	t.Helper()
	data := rego.Profiles()
	from, to := bytes.Index(data, []byte("\nstandard:")), bytes.Index(data, []byte("\nagents:"))
	if from < 0 || to < from {
		t.Fatal("the profiles have no part standard before their agents")
	}
	p, err := tools.ParseProfiles(slices.Concat(data[:from], data[to:]))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStrangersLoseNothing decides the calls of the corpus as those of an agent that nobody
// knows, by their tools' own names and by usual ones, with and without usual meanings. What
// was allowed is allowed, unless a deny or an ask speaks of it; and the shipped rules allow
// nothing more. PERMD_TEST_CORPUS names a folder with a larger corpus.
func TestStrangersLoseNothing(t *testing.T) {
	dir := corpus
	if more := os.Getenv("PERMD_TEST_CORPUS"); more != "" {
		dir = more
	}
	rows, err := readRows[callRow](dir, "agent-calls.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	usual := map[string]string{"Bash": "bash", "exec_command": "shell", "shell": "shell", "Read": "read_file", "Write": "write_file", "Edit": "edit",
		"Grep": "grep", "Glob": "glob", "WebFetch": "fetch", "LS": "ls"}
	type checkout struct {
		rows  []*callRow
		calls []*call
		world *world
	}
	repos := map[string]*checkout{}
	for i := range rows {
		repo := repos[rows[i].group()]
		if repo == nil {
			repo = new(checkout)
			repos[rows[i].group()] = repo
		}
		repo.rows = append(repo.rows, &rows[i])
	}
	for _, repo := range repos {
		declareFolder(repo.rows)
		for _, r := range repo.rows {
			c := r.call()
			c.agent = "nobody"
			repo.calls = append(repo.calls, c)
			if name := usual[c.tool]; name != "" {
				other := *c
				other.tool = name
				repo.calls = append(repo.calls, &other)
			}
		}
	}
	former := profilesWithoutStandard(t)
	b, err := newBench(t.Context(), options{profile: "balanced"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.rules.Close(); err != nil {
			t.Error(err)
		}
	}()
	for name, user := range map[string]struct {
		shipped.User
		milder bool // more is allowed than without usual meanings
	}{
		"the shipped rules":                  {},
		"rules about tools":                  {User: shipped.User{List: "allow:\n  use: [\"bash\", \"Bash\", \"read_file\", \"Read\", \"edit\", \"Edit\", \"grep\", \"Grep\", \"glob\", \"Glob\", \"fetch\"]\n"}},
		"rules about files and programs":     {User: shipped.User{List: "allow:\n  read: [\"./**\"]\n  write: [\"./**\"]\n  run: [\"git log *\", \"ls *\", \"cat *\"]\n"}, milder: true},
		"rules about both, denies and asks":  {User: shipped.User{List: "allow:\n  use: [\"bash\", \"Bash\", \"edit\", \"Edit\", \"grep\", \"Grep\"]\n  read: [\"./**\"]\ndeny:\n  read: [\"./src/**\"]\nask:\n  run: [\"git *\"]\n"}, milder: true},
		"an allow of all that nobody claims": {User: shipped.User{Rego: "package permd.user\nimport rego.v2\nallow contains \"facts\" if {\n\tinput.effect.kind in {\"read\", \"write\", \"run\"}\n\tinput.effect.claimed == false\n}\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			snap, err := b.rules.With(t.Context(), user.User)
			if err != nil {
				t.Fatal(err)
			}
			allowed := 0
			judge := func(c *call, w *world, now, before *decisions.Engine) {
				a, z := now.Decide(t.Context(), w.request(c))[0], before.Decide(t.Context(), w.request(c))[0]
				switch {
				case a.Verdict == z.Verdict:
				case z.Verdict == decisions.Allow || z.Verdict == decisions.Ask && a.Verdict == decisions.Deny:
					if !speaks(a) {
						t.Errorf("%s: %s, was %s: %s", shown(c.tool, c.input), a.Verdict, z.Verdict, a.Reason)
					}
				case user.milder && z.Verdict == decisions.Ask && a.By != decisions.ByDefault:
					allowed++
				default:
					t.Errorf("%s: %s, was %s: %s", shown(c.tool, c.input), a.Verdict, z.Verdict, a.Reason)
				}
			}
			for _, repo := range repos {
				if repo.world == nil {
					repo.world = b.repositoryWorld(repo.rows)
				}
				now, before := b.engine(repo.world, snap, nil), b.engine(repo.world, withoutStandard{snap, former}, nil)
				for _, c := range repo.calls {
					judge(c, repo.world, now, before)
				}
			}
			if name == "rules about files and programs" && allowed == 0 {
				t.Error("no call is allowed by what it claims")
			}
		})
	}
}

// speaks reports whether a deny or an ask of a person's rules decided about a claim.
func speaks(d *decisions.Decision) bool {
	return slices.ContainsFunc(d.Effects, func(e decisions.EffectDecision) bool {
		return e.Claimed && e.Verdict != decisions.Allow && slices.ContainsFunc(e.Rules, func(r decisions.RuleRef) bool {
			return r.Layer != decisions.Base && !strings.Contains(r.ID, "allow")
		})
	})
}
