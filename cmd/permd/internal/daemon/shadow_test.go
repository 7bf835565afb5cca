package daemon

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/shadow"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket"
)

// tries has a world try rules in the place of a layer's, and returns when they are tried.
func (w *benchWorld) tries(t testing.TB, layer decisions.Layer, rules map[string]string) {
	t.Helper()
	dir := w.dirs.Config
	if layer == decisions.Org {
		dir = w.dirs.Org
	}
	filetest.Write(t, filepath.Join(dir, "permd.toml"), "shadow = \"shadow.d\"\n")
	for name, text := range rules {
		filetest.Write(t, filepath.Join(dir, "shadow.d", name), text)
	}
	w.tryRules()
	if _, err := w.rules.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := w.rules.ShadowStatus(); st == nil || st.Error != "" || !w.shadow.Trying() {
		t.Fatalf("the rules are not tried: %+v", st)
	}
}

// decide decides one call of a session of its own.
func (w *benchWorld) decide(t testing.TB, session int, call string) decisions.Decision {
	t.Helper()
	methods, conn := w.engine.Methods(), &socket.Conn{ID: uint64(session + 1), Peer: decisions.Peer{UID: uint32(os.Geteuid()), PID: int32(os.Getpid())}}
	do := func(method, params string) any {
		run, err := methods[method](conn, strictjson.Value(strings.ReplaceAll(params, "PROJECT", w.project)))
		if err != nil {
			t.Fatal(err)
		}
		result, err := run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	do("permd/session", fmt.Sprintf(`{"sessionId":"s%d","cwd":"PROJECT","agent":{"name":"claude-agent-acp","version":"0.60.0"}}`, session))
	raw, err := json.Marshal(do("permd/decide", fmt.Sprintf(`{"sessionId":"s%d","calls":[%s]}`, session, call)))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Decisions []decisions.Decision `json:"decisions"`
	}
	if err := json.Unmarshal(raw, &got); err != nil || len(got.Decisions) != 1 {
		t.Fatalf("%v: %s", err, raw)
	}
	return got.Decisions[0]
}

// The parts of generated rules and calls.
var (
	shadowLines = []string{
		`run: ["git log"]`, `run: ["git log *"]`, `run: ["git *"]`, `run: ["frob build"]`, `run: ["frob *"]`, `run: ["ls *"]`, `run: ["rm *"]`, `run: ["go test *"]`,
		`read: ["./**"]`, `read: ["./src/*"]`, `read: ["~/.ssh/id"]`, `write: ["./src/**"]`, `write: ["./README.md"]`, `delete: ["./src/**"]`,
		`connect: ["example.com"]`, `connect: ["*.example.com"]`, `use: ["sky:weather"]`, `use: ["sky:*"]`, `run: ["mystery *"]`,
	}
	shadowRego = []string{
		"deny contains \"no\" if input.effect.program == \"git\"\n", "ask contains {\"reason\": \"look\", \"remember\": false} if input.effect.kind == \"write\"\n",
		"allow contains \"fine\" if input.effect.program == \"frob\"\n", "deny contains \"tool\" if input.call.tool.name == \"Read\"\n",
		"ask contains \"secrets\" if \"secret\" in input.effect.tags\n", "deny contains \"unknown\" if input.effect.kind == \"unknown\"\n",
		"ask contains \"outside\" if not \"in_project\" in input.effect.tags\n",
	}
	shadowCommands = []string{
		"git status", "git log", "git log -n 3", "git push", "frob build", "frob build --release", "ls src", "cat README.md", "cat ~/.ssh/id", "rm src/main.go", "rm -rf src",
		"rm -rf /", "echo x > src/new.go", "echo x > README.md", "curl https://example.com/a", "curl https://api.example.com", "mystery a b", "go test ./...", "make test",
		"find . -delete", "sort -o README.md src/lib.go", "python3 -c 'print(1)'", "$X foo", "sudo git log", "cd src", "x=$(git log)",
	}
	shadowCalls = []string{
		`{"callId":"c","tool":{"name":"Read"},"input":{"file_path":"PROJECT/src/main.go"}}`, `{"callId":"c","tool":{"name":"Edit"},"input":{"file_path":"PROJECT/src/main.go","old_string":"a","new_string":"b"}}`,
		`{"callId":"c","tool":{"name":"Write"},"input":{"file_path":"PROJECT/README.md","content":"x"}}`, `{"callId":"c","tool":{"name":"WebFetch"},"input":{"url":"https://example.com/x","prompt":"p"}}`,
		`{"callId":"c","tool":{"name":"mcp__sky__weather"},"input":{"day":1}}`, `{"callId":"c","tool":{"name":"mcp__sky__storm"},"input":{"path":"src/main.go"}}`,
		`{"callId":"c","tool":{"name":"Grep"},"input":{"pattern":"x","path":"PROJECT"}}`, `{"callId":"c","tool":{"name":"Mystery"},"input":{"command":"git log"}}`,
	}
)

// generateRules returns the files of a layer.
func generateRules(r *rand.Rand, layer decisions.Layer) map[string]string {
	sets := map[string]map[string][]string{}
	for range 2 + r.IntN(8) {
		set := []string{"allow", "ask", "deny"}[r.IntN(3)]
		kind, list, _ := strings.Cut(shadowLines[r.IntN(len(shadowLines))], ": ")
		if sets[set] == nil {
			sets[set] = map[string][]string{}
		}
		if line := strings.Trim(list, "[]"); !slices.Contains(sets[set][kind], line) {
			sets[set][kind] = append(sets[set][kind], line)
		}
	}
	var list strings.Builder
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		fmt.Fprintf(&list, "%s:\n", set)
		for _, kind := range slices.Sorted(maps.Keys(sets[set])) {
			fmt.Fprintf(&list, "  %s: [%s]\n", kind, strings.Join(sets[set][kind], ", "))
		}
	}
	rego := fmt.Sprintf("package permd.%s\n\nimport rego.v2\n\n", layer)
	for range r.IntN(3) {
		rego += shadowRego[r.IntN(len(shadowRego))]
	}
	return map[string]string{"rules.yaml": list.String(), "more.rego": rego}
}

func generateCall(r *rand.Rand) string {
	if r.IntN(4) == 0 {
		return shadowCalls[r.IntN(len(shadowCalls))]
	}
	command := ""
	for i := range 1 + r.IntN(3) {
		if i > 0 {
			command += []string{" && ", " | ", "; ", " || "}[r.IntN(4)]
		}
		command += shadowCommands[r.IntN(len(shadowCommands))]
	}
	text, err := json.Marshal(command)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"callId":"c","tool":{"name":"Bash"},"input":{"command":%s}}`, text)
}

// TestShadowIsTheRealThing: shadow rules would decide generated calls as a second daemon
// decides them that has these rules in force, and the same choices.
func TestShadowIsTheRealThing(t *testing.T) {
	for round := range testload.Rounds(t, "PERMD_TEST_SHADOW_ROUNDS", 3, 12) {
		seed := testload.Seed(t) + uint64(round)
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		layer := []decisions.Layer{decisions.User, decisions.Org}[round%2]
		other := []decisions.Layer{decisions.Org, decisions.User}[round%2]
		t.Run(fmt.Sprintf("%s %d", layer, seed), func(t *testing.T) {
			used, tried, others := generateRules(r, layer), generateRules(r, layer), generateRules(r, other)
			project, top := "ask:\n  run: [\"git log -n 3\"]\ndeny:\n  write: [\"./README.md\"]\n", ""
			if round%3 == 2 {
				top = "profile = \"unattended\"\n"
			}
			world := func(rules map[string]string) *benchWorld {
				w := newBenchWorld(t, true)
				folders := map[decisions.Layer]string{decisions.User: w.dirs.Config, decisions.Org: w.dirs.Org}
				if err := os.RemoveAll(filepath.Join(w.dirs.Config, account.PolicyDir)); err != nil {
					t.Fatal(err)
				}
				for name := range rules {
					filetest.Write(t, filepath.Join(folders[layer], account.PolicyDir, name), rules[name])
					filetest.Write(t, filepath.Join(folders[other], account.PolicyDir, name), others[name])
				}
				filetest.Write(t, filepath.Join(folders[other], "permd.toml"), top)
				filetest.Write(t, filepath.Join(w.project, ".permd", "rules.yaml"), project)
				if _, err := w.rules.Reload(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, l := range []remember.Line{
					{Verdict: decisions.Allow, Kind: effects.KindRun, Line: "frob build"}, {Verdict: decisions.Allow, Kind: effects.KindRun, Line: "frob build --release"}, {Verdict: decisions.Deny, Kind: effects.KindRun, Line: "mystery a b"},
					{Verdict: decisions.Allow, Kind: effects.KindConnect, Line: "example.com"}, {Verdict: decisions.Deny, Kind: effects.KindWrite, Line: "./README.md"},
				} {
					l.UID, l.Scope = uint32(os.Geteuid()), remember.ForUser
					if l.Scope == remember.ForProject {
						l.Project = w.project
					}
					if _, err := w.memory.Add(t.Context(), l); err != nil {
						t.Fatalf("%s: %v", l.Line, err)
					}
				}
				return w
			}
			a := world(used)
			a.tries(t, layer, tried)
			b := world(tried)
			const calls = 120
			want := map[string]int{}
			for n := range calls {
				call := generateCall(r)
				is, would := a.decide(t, n, call), b.decide(t, n, call)
				if is.Verdict != would.Verdict {
					want[fmt.Sprintf("%s -> %s", is.Verdict, would.Verdict)]++
				}
				if n%40 == 39 || n == calls-1 {
					if at := a.found(t, n+1); !maps.Equal(at, want) {
						t.Fatalf("after %s:\n%s\nfound %v\nwant  %v\nrules: %s%s", call, mustJSON(t, a.shadow.Report()), at, want, tried["rules.yaml"], tried["more.rego"])
					}
				}
			}
			t.Logf("%v", want)
		})
	}
}

// found waits until that many calls were compared, and returns how many would be decided
// otherwise, by what they were and would be.
func (w *benchWorld) found(t testing.TB, calls int) map[string]int {
	t.Helper()
	var r *shadow.Report
	eventually.Holds(t, "all are compared", func() bool {
		r = w.shadow.Report()
		n := r.Compared
		for _, m := range r.NotCompared {
			n += m.Count
		}
		return n == calls
	}, func() string { return mustJSON(t, r) })
	if len(r.NotCompared) > 0 {
		t.Fatalf("not compared: %+v", r.NotCompared)
	}
	got := map[string]int{}
	for _, g := range r.Groups {
		got[fmt.Sprintf("%s -> %s", g.From, g.To)] += g.Count
	}
	return got
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestShadowCosts: a request allocates the same while rules are tried, and those that are not
// tried are not asked for anything.
func TestShadowCosts(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it sends thousands of requests; TestShadowIsTheRealThing is the quick one")
	}
	skipUncounted(t)
	w := newCostWorld(t, true)
	request := w.line(costCases()[0].method, strings.ReplaceAll(costCases()[0].params, "PROJECT", w.project))
	send := func(int) { w.send(t, w.lines, request, `"result"`) }
	without := costOf(send)
	w.tries(t, decisions.User, map[string]string{"rules.yaml": "deny:\n  run: [\"git log\"]\n"})
	for range 8000 { // the queues have their full size
		send(0)
	}
	with := costOf(send)
	if with.allocations > without.allocations+0.5 || with.bytes > without.bytes+64 {
		t.Errorf("%.1f allocations and %.0f bytes while rules are tried, %.1f and %.0f without", with.allocations, with.bytes, without.allocations, without.bytes)
	}
	if n := w.shadow.Totals(); n.Same+n.Different+n.NotCompared == 0 {
		t.Error("no call was compared")
	}
}

// slowRules take longer than evaluating an effect may, for commands with the word slow.
var slowRules = map[string]string{"slow.rego": `package permd.user

import rego.v2

deny contains "slow" if {
	"slow" in input.effect.args
	some i in letters
	some j in letters
	some k in letters
	concat("", [i, j, k]) == "y"
}
letters := split("` + strings.Repeat("x", 300) + `", "")
`}

// TestShadowBatchIsKept: what is found about the first of many calls is on the disk before the
// last is compared.
func TestShadowBatchIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for rules that take too long; TestShadowIsTheRealThing is the quick one")
	}
	w := newBenchWorld(t, true)
	w.tries(t, decisions.User, slowRules)
	const calls = 200
	for n := range calls {
		w.decide(t, n, fmt.Sprintf(`{"callId":"c","tool":{"name":"Bash"},"input":{"command":"git log slow -n %d"}}`, n))
	}
	file, found := filepath.Join(w.dirs.Data, "shadow.json"), 0
	eventually.Holds(t, "some is kept", func() bool {
		text, err := os.ReadFile(file)
		var r shadow.Report
		if err != nil || json.Unmarshal(text, &r) != nil {
			return false
		}
		found = r.Compared
		for _, m := range r.NotCompared {
			found += m.Count
		}
		return found > 0
	}, func() string { return mustJSON(t, w.shadow.Report()) })
	if found == calls {
		t.Error("it is kept when all calls have been compared")
	}
}

// TestShadowIsEnded: a comparison ends with the daemon.
func TestShadowIsEnded(t *testing.T) {
	w := newBenchWorld(t, true)
	w.tries(t, decisions.User, slowRules)
	for n, command := range []string{"git log", strings.Repeat("git log slow && git status slow && ", 20) + "git log -n 1"} {
		w.decide(t, n, `{"callId":"c","tool":{"name":"Bash"},"input":{"command":"`+command+`"}}`)
	}
	// The other comes next.
	eventually.Holds(t, "one is compared", func() bool { return w.shadow.Report().Compared == 1 }, func() string { return mustJSON(t, w.shadow.Report()) })
	begun := time.Now()
	w.shadow.Close()
	if took := time.Since(begun); took > 1500*time.Millisecond {
		t.Errorf("it ended after %v", took)
	}
	if got := w.shadow.Report().NotCompared; len(got) != 1 || got[0] != (shadow.Missed{Why: "the daemon stopped before", Count: 1}) {
		t.Errorf("not compared: %+v", got)
	}
}
