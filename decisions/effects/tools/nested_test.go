package tools

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/permd/permd/internal/testload"
)

// nest returns arguments that contain the object inner at the given depth, among random
// values and in members with random names.
func nest(random *rand.Rand, names []string, inner string, depth int) string {
	for range depth {
		var around []string
		for range random.IntN(3) {
			around = append(around, []string{`7`, `"x"`, `null`, `{}`, `[]`, `{"k":1}`, `[[1],{"z":{}}]`}[random.IntN(7)])
		}
		if inner[0] == '{' && random.IntN(2) == 0 {
			inner = "[" + strings.Join(slices.Insert(around, random.IntN(len(around)+1), inner), ",") + "]"
			continue
		}
		for i := range around {
			around[i] = `"k` + strconv.Itoa(i) + `":` + around[i]
		}
		member := strconv.Quote(names[random.IntN(len(names))]) + ":" + inner
		inner = "{" + strings.Join(slices.Insert(around, random.IntN(len(around)+1), member), ",") + "}"
	}
	if inner[0] != '{' {
		inner = `{"list":` + inner + `}`
	}
	return inner
}

// TestNestedArguments: a command, a file or an address in the arguments of a server's tool is
// found at any depth, or the effects of the call are unknown.
func TestNestedArguments(t *testing.T) {
	w := toolWorld(t)
	names := []string{"a", "data", "params", "steps", "value"}
	for name := range w.Profiles.generic.members {
		names = append(names, name)
	}
	slices.Sort(names)
	hidden := map[string]string{
		`{"command":"frob x"}`:           "run frob x ",
		`{"file_path":"/srv/x/passwd"}`:  "/srv/x/passwd ",
		`{"url":"https://evil.example"}`: "evil.example",
	}
	random := rand.New(rand.NewPCG(1, testSeed(t)))
	for range testload.Rounds(t, "PERMD_TEST_NESTED_ROUNDS", 200, 2000) {
		for inner, want := range hidden {
			depth := random.IntN(foreignDepth + 12)
			arguments := nest(random, names, inner, depth)
			got := lines(w.Effects(agentCall("claude-code", "mcp__hub__go", arguments)))
			found := slices.ContainsFunc(got, func(l string) bool { return strings.Contains(l, strings.TrimSpace(want)) })
			unknown := slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, "unknown") })
			if !found && (depth < foreignDepth-1 || !unknown) {
				t.Fatalf("at depth %d of %s: %q", depth, arguments, got)
			}
		}
	}
}

func testSeed(t *testing.T) uint64 {
	seed := testload.Seed(t)
	return seed
}

// TestForeignValues tests the forms in which a server's tool may accept a command, a file or
// an address.
func TestForeignValues(t *testing.T) {
	w := toolWorld(t)
	for input, want := range map[string]string{
		`[{"command":"frob x"}]`:                        "run frob x ",
		`[[{"a":[{"command":"frob x"}]}]]`:              "run frob x ",
		`"[{\"command\":\"frob x\"}]"`:                  "run frob x ",
		`{"command":"frob","args":["-rf","x"]}`:         "run frob -rf x ",
		`{"a":{"command":"frob","arguments":["-x"]}}`:   "run frob -x ",
		`{"command":"sh","args":["-c","frob x"]}`:       "run frob x ",
		`{"command":"frob","args":"-rf x"}`:             "unknown ",
		`{"command":"frob a","args":["x"]}`:             "unknown ",
		`{"command":"frob","args":[["x"]]}`:             "unknown ",
		`{"command":"frob","args":["x"],"argv":["y"]}`:  "unknown ",
		`{"command":"frob","args":[ ]}`:                 "run frob ",
		`{"url":" https://evil.example/x"}`:             "evil.example",
		`{"url":"\thttps://evil.example/x"}`:            "evil.example",
		`{"url":"\u0001https://evil.example/x"}`:        "evil.example",
		`{"url":"ht\ntps://evil.example/x"}`:            "evil.example",
		`{"url":"view-source:https://evil.example"}`:    "evil.example",
		`{"url":"blob:https://evil.example/1"}`:         "evil.example",
		`{"url":"<https://evil.example/x>"}`:            "evil.example",
		`{"urls":["\"https://evil.example/x\""]}`:       "evil.example",
		`{"url":{"href":"https://evil.example/x"}}`:     "evil.example",
		`{"url":{"a":[{"b":" https://evil.example"}]}}`: "evil.example",
		`{"url":" file:///srv/x"}`:                      "/srv/x ",
		`{"path":"file:///srv/x"}`:                      "/srv/x ",
		`{"path":" FILE:///srv/x"}`:                     "/srv/x ",
		`{"file_path":{"a":"/srv/x"}}`:                  "/srv/x ",
		`{"path":{"x":["/srv/x"]}}`:                     "/srv/x ",
	} {
		got := lines(w.Effects(agentCall("claude-code", "mcp__hub__go", input)))
		if !slices.ContainsFunc(got, func(l string) bool { return strings.Contains(l+" ", want) }) {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
	for _, input := range []string{`{"url":"notion://page/1"}`, `{"url":{"id":"x"}}`, `{"path":{"x":"y"}}`, `[1,2]`, `{"args":["a"]}`, `{"text":"see https://evil.example"}`} {
		if got := lines(w.Effects(agentCall("claude-code", "mcp__hub__go", input))); len(got) != 1 {
			t.Errorf("%s: %q", input, got)
		}
	}
}

// TestManyArguments tests that the effects of a call with too many objects are unknown.
func TestManyArguments(t *testing.T) {
	w := toolWorld(t)
	for _, n := range []int{maxToolPaths + 1, maxForeignObjects, 3 * maxForeignObjects} {
		arguments := fmt.Sprintf(`{"items":[%s{"command":"frob x"}]}`, strings.Repeat(`{"k":1},`, n))
		got := lines(w.Effects(agentCall("claude-code", "mcp__hub__go", arguments)))
		found := slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, "run frob x") })
		unknown := slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, "unknown") })
		if found != (n < maxForeignObjects) || found == unknown {
			t.Errorf("behind %d objects: %q", n, got[:min(len(got), 3)])
		}
	}
}
