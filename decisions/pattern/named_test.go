package pattern_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/rego"
)

// Both are immutable, so all tests share them.
var parsedProfiles = sync.OnceValues(func() (*tools.Profiles, error) { return tools.ParseProfiles(rego.Profiles()) })

func shippedTable(t *testing.T) *programs.Table {
	t.Helper()
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestNamedOptions checks which runs a line with options after its * covers. The
// runs are read with the shipped table, in which tool is unknown.
func TestNamedOptions(t *testing.T) {
	table := shippedTable(t)
	for _, tt := range []struct {
		line    string
		yes, no []string
	}{
		{
			"tool search * --json",
			[]string{"tool search --json", "tool search github --json", "tool search a b --json", "/usr/bin/tool search x --json"},
			[]string{
				"tool search", "tool search x", // the named option must be there
				"tool search --json x", "tool search --json close", // may be its value
				"tool search x --json --all", "tool search x --json --json", "tool search -a --json", "tool search x --json -",
				"tool search x --json=1", "tool search x --jso", "tool search x --JSON", "tool search x -json",
				"tool search -- --json", "tool search x -- --json", "tool search x --json -- y", "tool search x --json --",
				"tool --json search x", "tool --json close", "tool --x search --json", "tool close --json",
				"tool search ../x --json", "tool search /etc/passwd --json", "tool search a=b --json", "tool search $X --json",
				"tool search *.x --json", "./tool search x --json", "tool", "tool --json",
			},
		},
		{
			"tool list * --status open --json",
			[]string{"tool list --status open --json", "tool list mine --status open later --json"},
			[]string{
				"tool list --status closed --json", "tool list --status open", "tool list --json", "tool list --status --json",
				"tool list --status=open --json", "tool list --status x open --json", "tool list open --status --json",
				"tool list --json --status open", "tool list --status open --status closed --json", "tool list --status openx --json",
				"tool list --status open --json closed", "tool list --status '' open --json", "tool list --status 'open --json'",
			},
		},
		{"deploy app * --dry-run", []string{"deploy app --dry-run", "deploy app web --dry-run"}, []string{"deploy app", "deploy app web", "deploy app --dry-run=false", "deploy app --dry-run false", "deploy app --dry-run --no-dry-run"}},
		{"deploy app * --env staging", []string{"deploy app --env staging"}, []string{"deploy app --env production", "deploy app --env", "deploy app --env staging2", "deploy app --env -x staging"}},
		{"tool do * -n5", []string{"tool do -n5", "tool do x -n5"}, []string{"tool do -n 5", "tool do -n5 x", "tool do -n50"}},
		{"tool do * -x", []string{"tool do -x"}, []string{"tool do -xy", "tool do -xx", "tool do -x -x", "tool do -X"}},
		{"tool do * --off -5", []string{"tool do --off -5"}, []string{"tool do --off", "tool do -5 --off", "tool do --off x -5"}},
		{"tool do -- * -x", []string{"tool do -- a -x"}, []string{"tool do a -x", "tool do -x --", "tool do -- a -x --"}},
		// An empty value, and one that looks like two words.
		{"tool do * --msg 'a b'", []string{"tool do --msg 'a b'"}, []string{"tool do --msg a b", "tool do --msg a"}},
		// The table says that --force takes no value: the next word is an operand.
		{"git push * --force", []string{"git push --force", "git push --force origin main", "git push origin --force main"},
			[]string{"git push", "git push -f", "git push --forc", "git push --force --no-verify", "git push --force origin +main", "git push --force origin :main", "git -C x push --force", "git push --force --receive-pack=x"}},
		{"git push * --no-verify --force", []string{"git push --no-verify origin --force main"}, []string{"git push --force --no-verify", "git push --no-verify", "git push --force"}},
		// If the position of options matters, none can be named.
		{"find . * -delete", nil, []string{"find . -delete", "find . -name x -delete", "find . -o -delete"}},
		{"python3 * -m http.server", nil, []string{"python3 -m http.server"}},
		{"docker exec box * rm", nil, nil},
		{"docker exec box * --force", nil, []string{"docker exec box --force", "docker exec box rm --force"}},
		{"ssh host * --force", nil, []string{"ssh host rm --force", "ssh host --force"}},
		{"tar * -v", nil, []string{"tar -xf a.tar -v", "tar xf a.tar -v"}},
		// Before -- the option would be npm's own, and npm has none of that name.
		{"npm run lint * --fix", nil, []string{"npm run lint --fix", "npm run lint", "npm run lint -- --fix", "npm run build --fix", "npm run lint --fix ../x"}},
		{"npm run lint -- * --fix", []string{"npm run lint -- --fix", "npm run lint -- src --fix"}, []string{"npm run lint --fix", "npm run lint -- --fix -- x", "npm run lint -- --fix x"}},
		{"mise run lint * --fix", []string{"mise run lint --fix", "mise run lint src --fix"}, []string{"mise run lint --fix src", "mise run lint -- --fix", "mise --fix run lint", "mise run --fix lint", "mise run build --fix"}},
		{"./tool do * --json", nil, []string{"./tool do --json", "tool do --json"}},
		// The first word of an unknown program may be a sub-command.
		{"tool * --json", nil, []string{"tool x --json", "tool --json", "tool --json close"}},
	} {
		p, err := pattern.Parse(effects.KindRun, tt.line)
		if err != nil {
			if len(tt.yes)+len(tt.no) > 0 {
				t.Errorf("%s: %v", tt.line, err)
			}
			continue
		}
		match := func(text string) bool {
			for _, e := range runsOf(t, table, text) {
				if p.Match(&e, []effects.Effect{e}, pattern.Context{Project: "/h/p", Home: "/h", Cwd: "/h/p"}) {
					return true
				}
			}
			return false
		}
		for _, text := range tt.yes {
			if !match(text) {
				t.Errorf("%s does not cover %s", tt.line, text)
			}
		}
		for _, text := range tt.no {
			if match(text) {
				t.Errorf("%s covers %s", tt.line, text)
			}
		}
	}
}

// TestNamedOptionsTouch checks which runs such a line touches if it denies or asks.
func TestNamedOptionsTouch(t *testing.T) {
	table := shippedTable(t)
	for _, tt := range []struct {
		line    string
		yes, no []string
	}{
		{"tool push * --force", []string{"tool push --force", "tool push a --force=1 b", "tool push -- --force", "tool push --x --force y"}, []string{"tool push", "tool push --forceful", "tool pull --force"}},
		{"tool push * --env prod", []string{"tool push --env prod", "tool push --env=prod", "tool push x --env prod y", "tool push prod --env x"}, []string{"tool push --env staging", "tool push prod", "tool push --env"}},
		{"tool push * -e prod", []string{"tool push -e prod", "tool push -eprod", "tool push -e=prod"}, []string{"tool push -e dev", "tool push -x prod"}},
		{"git push * --force", []string{"git push --force", "git push -f origin x", "git push origin +x", "git -C y push --forc x"}, []string{"git push origin x"}},
	} {
		p, err := pattern.Parse(effects.KindRun, tt.line)
		if err != nil {
			t.Fatal(err)
		}
		p = p.Resolved(table)
		touch := func(text string) bool {
			for _, e := range runsOf(t, table, text) {
				if p.Touches(&e, pattern.Context{Project: "/h/p", Home: "/h", Cwd: "/h/p"}) {
					return true
				}
			}
			return false
		}
		for _, text := range tt.yes {
			if !touch(text) {
				t.Errorf("%s does not touch %s", tt.line, text)
			}
		}
		for _, text := range tt.no {
			if touch(text) {
				t.Errorf("%s touches %s", tt.line, text)
			}
		}
	}
}

// callWords draws the words of a call: options in many spellings, operands,
// values, and what is between them.
func callWords() *rapid.Generator[[]string] {
	return rapid.SliceOfN(rapid.SampledFrom([]string{
		"--json", "--json=1", "--jso", "--env", "--env=prod", "--env=dev", "prod", "dev", "-e", "-eprod", "-x", "-xy", "-y", "-5", "-", "--",
		"a", "b", "push", "close", "../x", "/etc/x", "a=b", "''", "--dry-run", "--force", "-f", "--no-verify", "-v", "--cov=x", "-k", "--pdb", "--cov-report=x",
	}), 0, 6)
}

// If a line that was offered for one call covers another call, both have the same
// options and values.
func TestWidenedLinesCoverNothingElse(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it compares thousands of lines")
	}
	table := shippedTable(t)
	cx := pattern.Context{Project: "/h/p", Home: "/h", Cwd: "/h/p"}
	matched, named := 0, 0
	check := func(rt *rapid.T) {
		begin := rapid.SampledFrom([]string{"tool", "tool do", "tool do it", "git push", "git", "pytest", "npm run lint", "npm run lint --", "go test", "mise run x", "cargo build", "pytest", "pytest a", "rm", "mkdir"}).Draw(rt, "begin")
		first := callWords().Draw(rt, "first")
		second := callWords().Draw(rt, "second")
		switch rapid.IntRange(0, 4).Draw(rt, "how") {
		case 0:
			second = rapid.Permutation(first).Draw(rt, "reordered")
		case 1:
			at := rapid.IntRange(0, len(first)).Draw(rt, "at")
			second = append(append(append([]string{}, first[:at]...), second...), first[at:]...)
		case 2:
			second = append(append([]string{}, first...), first...)
		case 3:
			at := rapid.IntRange(0, len(first)).Draw(rt, "at")
			second = append(append(append([]string{}, first[:at]...), rapid.SampledFrom([]string{"a", "b", "c", "-v"}).Draw(rt, "one")), first[at:]...)
		}
		run := runsOf(t, table, strings.Join(append([]string{begin}, first...), " "))[0]
		other := runsOf(t, table, strings.Join(append([]string{begin}, second...), " "))[0]
		wide := pattern.Widen(&run, []effects.Effect{run}, cx)
		for _, w := range wide {
			line := w.Pattern.String()
			if !w.Pattern.Match(&run, []effects.Effect{run}, cx) {
				rt.Fatalf("%s does not cover %q that it was made of", line, run.Run.Args)
			}
			if len(w.Pattern.Run.Named) > 0 {
				named++
			}
			if !w.Pattern.Match(&other, []effects.Effect{other}, cx) {
				continue
			}
			matched++
			if a, b := dangers(run.Run, len(w.Pattern.Run.Words)), dangers(other.Run, len(w.Pattern.Run.Words)); a != b {
				rt.Fatalf("%s, of %q, covers %q: %q is not %q", line, run.Run.Args, other.Run.Args, b, a)
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		for range 20 { // few lines name options
			check(rt)
		}
	})
	if matched < 5 || named < 5 {
		t.Errorf("%d lines matched another call, and %d name options: too few to tell", matched, named)
	}
}

// dangers returns the options of a run from a position on, by its words alone, each
// with the next word if that may be its value. Only the table says which options of a
// program do not count.
func dangers(r *effects.Run, from int) string {
	var out []string
	for i := from; i < len(r.Args); i++ {
		word := r.Args[i]
		harmless := r.Known && !slices.Contains(r.Harmful, i)
		if len(word) > 1 && word[0] == '-' && !harmless {
			if i+1 < len(r.Args) && !strings.HasPrefix(r.Args[i+1], "-") && !strings.Contains(word, "=") && !r.Known {
				word += " " + r.Args[i+1]
			}
			out = append(out, word)
		}
	}
	return strings.Join(out, "|")
}

// TestNamedFacts checks what a line covers for facts that contradict each other,
// which no table has.
func TestNamedFacts(t *testing.T) {
	p, err := pattern.Parse(effects.KindRun, "tool do * -a x")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"do", "-a", "x", "y", "z"}
	for name, tt := range map[string]struct {
		change func(*effects.Run)
		want   bool
	}{
		"as it is":                {func(*effects.Run) {}, true},
		"no word is harmful":      {func(r *effects.Run) { r.Harmful = nil }, false},
		"one more before the *":   {func(r *effects.Run) { r.Harmful = []int{0, 1, 2}; r.OptionsFrom = 1 }, true},
		"one more behind it":      {func(r *effects.Run) { r.Harmful = []int{1, 2, 3} }, false},
		"one less":                {func(r *effects.Run) { r.Harmful = []int{1} }, false},
		"one that does not exist": {func(r *effects.Run) { r.Harmful = []int{1, 2, 9} }, false},
		"more is not harmless":    {func(r *effects.Run) { r.HarmlessFrom = 4 }, false},
		"a place counts":          {func(r *effects.Run) { r.OptionsFrom = 2 }, false},
		"a value behind another word": {func(r *effects.Run) {
			r.Args = []string{"do", "-a", "y", "x"}
			r.Harmful = []int{1, 3}
			r.HarmlessFrom = 4
		}, false},
	} {
		r := &effects.Run{Program: "tool", Args: args, Cwd: "/h/p", HarmlessFrom: 3, Harmful: []int{1, 2}, OptionsFrom: 1}
		tt.change(r)
		e := effects.Effect{Kind: effects.KindRun, Run: r}
		if got := p.Match(&e, []effects.Effect{e}, pattern.Context{Project: "/h/p", Cwd: "/h/p"}); got != tt.want {
			t.Errorf("%s: covered is %v", name, got)
		}
	}
}
