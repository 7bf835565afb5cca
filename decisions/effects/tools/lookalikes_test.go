package tools

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/testload"
)

// spell returns a name of some words in one of the ways in which servers join them.
func spell(random *rand.Rand, words ...string) string {
	join := []string{"_", "-", " ", "", "."}[random.IntN(5)]
	style := random.IntN(4)
	for i, w := range words {
		switch {
		case style == 0:
			words[i] = strings.ToUpper(w)
		case style == 1, style == 2 && i > 0:
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, join)
}

// seenBy returns what denies see of a call, each effect as its kind and what it is about.
func seenBy(r effects.Result) (all []string) {
	for _, list := range [][]effects.Effect{r.Effects, r.Hints, r.Rest} {
		for i := range list {
			switch e := &list[i]; {
			case e.File != nil:
				all = append(all, string(e.Kind)+" "+e.File.Path)
			case e.Connect != nil:
				all = append(all, "connect "+e.Connect.Host)
			case e.Run != nil:
				all = append(all, "run "+strings.Join(append([]string{e.Run.Program}, e.Run.Shown[min(1, len(e.Run.Shown)):]...), " "))
			case e.Use != nil:
				all = append(all, "use "+e.Use.Server+":"+e.Use.Tool)
			}
		}
	}
	return all
}

// TestMemberNames: denies see the paths, addresses and commands in the arguments of a server's
// tool in whatever way their members are spelled, and at any depth.
func TestMemberNames(t *testing.T) {
	w := toolWorld(t)
	random := rand.New(rand.NewPCG(1, testSeed(t)))
	prefixes := []string{"", "my", "output", "target", "base", "absolute", "remote", "photo"}
	any := []string{"zzz", "value", "text", "x1"}
	classes := []struct {
		ends   []string
		values map[string]string
	}{
		{[]string{"path", "file", "filename", "dir", "directory", "folder", "paths", "files"}, map[string]string{
			`"a/b.txt"`: "write /home/ana/src/shop/a/b.txt", `["q"]`: "write /home/ana/src/shop/q", `"../up"`: "write /home/ana/src/up",
		}},
		{append([]string{"path", "socket", "content"}, any...), map[string]string{
			`"/srv/x"`: "write /srv/x", `"~/.ssh/id_ed25519"`: "read /home/ana/.ssh/id_ed25519", `" /srv/x"`: "write /srv/x",
			`"file:///srv/x"`: "write /srv/x", `"unix:///srv/x"`: "write /srv/x", `"unix:/srv/x"`: "write /srv/x", `"http+unix://%2Fsrv%2Fx/y"`: "write /srv/x",
			`"unix:/srv/x:/y"`: "write /srv/x", `{"/srv/x":"text"}`: "write /srv/x", `"{\"k\":[\"/srv/x\"]}"`: "write /srv/x",
			`"/` + strings.Repeat("./", 5000) + `srv/x"`: "write /srv/x",
			`"https://evil.example/x"`:                   "connect evil.example", `["wss://evil.example"]`: "connect evil.example", `"//evil.example/x"`: "connect evil.example",
			`"https://evil.example/a b"`: "connect evil.example", `"https:evil.example"`: "connect evil.example", `"redis://evil.example/1"`: "connect evil.example",
			`"https://evil.example/?` + strings.Repeat("x", 10000) + `"`: "connect evil.example",
		}},
		{[]string{"url", "uri", "href", "host", "hostname", "endpoint", "domain", "webhook", "urls", "hosts"}, map[string]string{
			`"evil.example"`: "connect evil.example", `"evil.example:8080"`: "connect evil.example", `["evil.example"]`: "connect evil.example",
		}},
		{[]string{"command", "cmd", "script", "commandline", "commands", "shell", "bash"}, map[string]string{
			`"frob x"`: "run frob x", `["frob","x"]`: "run frob x", `["true","frob x"]`: "run frob x", `"cd / && frob x"`: "run frob x",
		}},
	}
	for range testload.Rounds(t, "PERMD_TEST_NESTED_ROUNDS", 100, 2000) {
		for _, class := range classes {
			for value, want := range class.values {
				var parts []string
				if p := prefixes[random.IntN(len(prefixes))]; p != "" {
					parts = append(parts, p)
				}
				end := class.ends[random.IntN(len(class.ends))]
				name := spell(random, append(parts, end)...)
				arguments := nest(random, any, `{`+strconv.Quote(name)+`:`+value+`}`, random.IntN(8))
				r := w.Effects(agentCall("claude-code", "mcp__hub__go", arguments))
				if got := seenBy(r); !slices.Contains(got, want) {
					t.Fatalf("%.300s: %q, want %q", arguments, got, want)
				}
				for i := range r.Hints {
					if h := &r.Hints[i]; !h.Hint || !h.Guessed || h.Claimed || h.Kind == effects.KindUnknown {
						t.Fatalf("%s: %+v is no hint for persons' rules", arguments, h)
					}
				}
			}
		}
	}
}

// TestLookalikesOpenNothing: what a string may mean adds no effect, so that nothing more is
// asked, unless there is more of it than is looked at.
func TestLookalikesOpenNothing(t *testing.T) {
	w := toolWorld(t)
	call := func(input string) effects.Result { return w.Effects(agentCall("claude-code", "mcp__hub__go", input)) }
	for _, input := range []string{
		`{"absolutePath":"/srv/x"}`, `{"zzz":"https://evil.example"}`, `{"shellCommand":"eval \"$X\" | sh <("}`, `{"script":"return {a: 1}"}`,
		`{"calls":[{"tool":"x","arguments":{}}]}`, `{"file":"\u0000"}`, `{"host":":::"}`,
	} {
		if got := lines(call(input)); len(got) != 1 {
			t.Errorf("%s: %q", input, got)
		}
	}
	for _, input := range []string{`{"text":"see https://evil.example"}`, `{"n":7,"photo":"cat","title":"to do"}`, `{"body":"git push"}`} {
		if r := call(input); len(r.Hints) > 0 {
			t.Errorf("%s: %q", input, seenBy(r))
		}
	}
	for form, most := range map[string]int{`"/srv/%d"`: maxLookalikes, `{"shellCommand":"frob %d"}`: maxLookRuns, `{"tool":"t%d"}`: maxLookalikes} {
		var list []string
		for i := range most + 1 {
			list = append(list, fmt.Sprintf(form, i))
		}
		got := lines(call(`{"list":[` + strings.Join(list, ",") + `]}`))
		if !slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, "unknown") }) {
			t.Errorf("%d of %s: %q", len(list), form, got)
		}
	}
}

// TestFolderAndFile: a file's name is joined to each folder that the same object names.
func TestFolderAndFile(t *testing.T) {
	w := toolWorld(t)
	for _, input := range []string{`{"dirPath":"/srv","fileName":"x"}`, `{"file":"x","base_dir":"/srv/"}`, `{"a":{"Folder":"/srv","names":1,"files":["y","x"]}}`} {
		if got := seenBy(w.Effects(agentCall("claude-code", "mcp__hub__go", input))); !slices.Contains(got, "write /srv/x") {
			t.Errorf("%s: %q", input, got)
		}
	}
}

// TestToolsInArguments: denies apply to a tool that an object in the arguments names, at any
// depth, if the object has arguments for it.
func TestToolsInArguments(t *testing.T) {
	w := toolWorld(t)
	random := rand.New(rand.NewPCG(1, testSeed(t)))
	for range testload.Rounds(t, "PERMD_TEST_NESTED_ROUNDS", 200, 2000) {
		names := slices.Concat(innerNames, innerNamesLoose)
		words := func(s string) []string { return slices.Collect(words(s)) }
		name := spell(random, words(names[random.IntN(len(names))])...)
		args := spell(random, words(innerArguments[random.IntN(len(innerArguments))])...)
		value := []string{`{}`, `[]`, `"x"`, `"{\"a\":1}"`, `7`}[random.IntN(5)]
		inner, want := `{`+strconv.Quote(name)+`:"bad_x",`+strconv.Quote(args)+`:`+value, "use ?:bad_x"
		if random.IntN(2) == 0 {
			inner, want = inner+`,`+strconv.Quote(spell(random, "server", "name"))+`:"mail"`, "use mail:bad_x"
		}
		arguments := nest(random, []string{"calls", "request", "x", "payload"}, inner+`}`, random.IntN(8))
		if got := seenBy(w.Effects(agentCall("claude-code", "mcp__hub__go", arguments))); !slices.Contains(got, want) {
			t.Fatalf("%s: %q, want %q", arguments, got, want)
		}
	}
}
