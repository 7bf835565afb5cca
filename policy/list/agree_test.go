package list

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/lexpath"
)

// Where the effects of these tests happen.
var context = pattern.Context{Project: "/h/p", Home: "/h", Cwd: "/h/p"}

// answer is a list's result for one effect.
type answer struct {
	Fired bool
	Exact bool // an allow that covers the guarded tags
}

// evaluate returns the compiled list's result for an effect.
func evaluate(t *rapid.T, m *ast.Module, set decisions.Set, input map[string]any) answer {
	t.Helper()
	c := ast.NewCompiler().WithCapabilities(capabilitiesForLists())
	c.Compile(map[string]*ast.Module{"rules.yaml": m})
	if c.Failed() {
		t.Fatalf("compiling:\n%s\n%v", m, c.Errors)
	}
	rs, err := rego.New(
		rego.Query("data.permd.user"), rego.Compiler(c), rego.Input(input), rego.StrictBuiltinErrors(true),
	).Eval(t.Context())
	if err != nil {
		t.Fatalf("evaluating:\n%s\n%v", m, err)
	}
	var a answer
	sets, ok := rs[0].Expressions[0].Value.(map[string]any)
	if !ok {
		t.Fatalf("the package is a %T", rs[0].Expressions[0].Value)
	}
	elements, ok := sets[string(set)].([]any)
	if !ok {
		t.Fatalf("the package has no set %s: %v", set, sets)
	}
	for _, element := range elements {
		a.Fired = true
		if _, object := element.(map[string]any); object {
			a.Exact = true
		}
	}
	return a
}

// capabilitiesForLists are those of unmodified OPA, on which an exported list must
// run.
func capabilitiesForLists() *ast.Capabilities {
	return ast.CapabilitiesForThisVersion(ast.CapabilitiesRegoVersion(ast.RegoV1))
}

// listInput returns the input of an effect, made by hand so that lists are tested
// against the documented fields and not against the code that makes them.
func listInput(e *effects.Effect, all []effects.Effect) map[string]any {
	out := map[string]any{"kind": string(e.Kind), "tags": e.Tags.Names(), "claimed": e.Claimed}
	if e.Via != nil {
		r := all[e.Via.Effect].Run
		word := ""
		if e.Via.Arg >= 0 {
			word = r.Args[e.Via.Arg]
		}
		out["by"] = map[string]any{
			"program": r.Program, "subcommand": r.Subcommand, "args": r.Args,
			"arg": word, "inherent": e.Via.Arg < 0,
		}
	}
	switch {
	case e.Run != nil:
		r := e.Run
		for k, v := range map[string]any{
			"program": r.Program, "executable": r.Executable, "args": r.Args, "subcommand": r.Subcommand,
			"flags": r.Flags, "stdin": string(r.Stdin), "cwd": r.Cwd, "readonly": r.Readonly, "own_data": r.OwnData, "reformats": r.Reformats,
			"known": r.Known, "harmless_from": r.HarmlessFrom, "harmful": r.Harmful, "options_from": r.OptionsFrom,
		} {
			out[k] = v
		}
		if r.Operands != nil {
			out["operands"] = r.Operands
		}
	case e.File != nil:
		out["path"], out["recursive"], out["reformats"] = e.File.Path, e.File.Recursive, e.File.Reformatted
		for name, root := range map[string]string{"project_path": context.Project, "home_path": context.Home} {
			if rel, ok := lexpath.Rel(root, e.File.Path); ok {
				out[name] = rel
			}
		}
	case e.Connect != nil:
		out["host"], out["port"], out["scheme"] = e.Connect.Host, e.Connect.Port, e.Connect.Scheme
	case e.Use != nil:
		out["server"], out["source"], out["tool"], out["version"] = e.Use.Server, e.Use.Source, e.Use.Tool, e.Use.Version
		for _, name := range []string{"server", "tool", "version"} {
			// As OPA's builtins fold it.
			out["folded_"+name] = strings.ToLower(strings.ToUpper(out[name].(string)))
		}
	}
	return map[string]any{
		"effect":  out,
		"call":    map[string]any{"cwd": context.Cwd},
		"project": map[string]any{"root": context.Project},
		"user":    map[string]any{"home": context.Home},
	}
}

// says returns the Go matcher's result for the same line and effect.
func says(p *pattern.Pattern, set decisions.Set, e *effects.Effect, all []effects.Effect) answer {
	if set == decisions.SetAllow {
		return answer{Fired: p.Match(e, all, context), Exact: p.Exact(e, all, context)}
	}
	return answer{Fired: p.Touches(e, context)}
}

// word draws a word that is likely to be one of the line's.
func drawWord(words ...string) *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom(append(words, "a", "b/c", "/a", "-a", "", "..", "a/../b", "\x00dynamic")),
		rapid.StringMatching(`[ab/-]{0,3}`))
}

func drawRun(t *rapid.T, p *pattern.Run) *effects.Run {
	program := "prog"
	words := []string{"a"}
	if p != nil {
		program = p.Program
		for _, w := range p.Words {
			words = append(words, strings.Join(w, rapid.SampledFrom([]string{"", "a", "a", "/", ";", "a b", "$x", "\\"}).Draw(t, "star")))
		}
	}
	r := &effects.Run{
		Program: rapid.SampledFrom([]string{
			program, program, "/x/" + program, "/h/p" + strings.TrimPrefix(program, "."), "/h" + strings.TrimPrefix(program, "~"), "b",
		}).Draw(t, "program"),
		Executable: rapid.SampledFrom([]string{"", program, "/x"}).Draw(t, "executable"),
		Subcommand: rapid.SampledFrom([]string{"", "a", "a b", "b"}).Draw(t, "subcommand"),
		Flags:      rapid.SliceOfDistinct(rapid.SampledFrom([]string{"-a", "--b", "-b"}), rapid.ID[string]).Draw(t, "flags"),
		Stdin: rapid.SampledFrom([]effects.Stdin{
			effects.StdinNone, effects.StdinNone, effects.StdinPipe, effects.StdinNetwork,
		}).Draw(t, "stdin"),
		Cwd:          rapid.SampledFrom([]string{"/h/p", "/h/p/a", "/x", ""}).Draw(t, "cwd"),
		Known:        rapid.Bool().Draw(t, "known"),
		Readonly:     rapid.Bool().Draw(t, "readonly"),
		HarmlessFrom: rapid.IntRange(0, 2).Draw(t, "harmless"),
	}
	likely := p != nil && len(p.Named) > 0 && rapid.IntRange(0, 3).Draw(t, "likely") > 0
	if likely || rapid.Bool().Draw(t, "plain") {
		r.Program, r.Stdin, r.Cwd, r.HarmlessFrom = program, effects.StdinNone, "/h/p", 0
	}
	if likely || rapid.IntRange(0, 2).Draw(t, "asWritten") > 0 {
		r.Args = words[1:]
		if !likely && rapid.Bool().Draw(t, "more") {
			r.Args = append(slices.Clone(r.Args), drawWord(words...).Draw(t, "last"))
		}
	} else {
		r.Args = rapid.SliceOfN(drawWord(words...), 0, 3).Draw(t, "args")
	}
	if r.Args == nil {
		r.Args = []string{}
	}
	drawHarmful(t, p, r)
	switch rapid.IntRange(0, 3).Draw(t, "operands") {
	case 0: // not certain
	case 1:
		r.Operands = rapid.SliceOfN(drawWord(words...), 0, 3).Draw(t, "otherOperands")
	default:
		r.Operands = slices.DeleteFunc(slices.Clone(r.Args), func(w string) bool { return strings.HasPrefix(w, "-") || w == r.Subcommand })
	}
	if r.Operands != nil && len(r.Operands) == 0 {
		r.Operands = []string{}
	}
	return r
}

// drawHarmful draws which words are not harmless: often just those that the
// line names, somewhere among others.
func drawHarmful(t *rapid.T, p *pattern.Run, r *effects.Run) {
	r.Harmful = []int{}
	if p == nil || len(p.Named) == 0 || rapid.IntRange(0, 3).Draw(t, "harmful") == 0 {
		for i := range r.Args {
			if rapid.Bool().Draw(t, "isHarmful") {
				r.Harmful = append(r.Harmful, i)
			}
		}
		r.OptionsFrom = rapid.IntRange(0, 3).Draw(t, "options")
		return
	}
	named := slices.Clone(p.Named)
	switch rapid.IntRange(0, 7).Draw(t, "change") {
	case 0:
		named = named[1:]
	case 1:
		named = slices.Repeat(named, 2)
	case 2:
		slices.Reverse(named)
	}
	plain := rapid.SampledFrom([]string{"x", "a", "--b", "-a=1", "5"})
	for i, word := range named {
		if gap := rapid.IntRange(0, 6).Draw(t, "gap"); gap == 0 || gap < 3 && i == 0 {
			r.Args = append(r.Args, plain.Draw(t, "plain"))
		}
		r.Harmful = append(r.Harmful, len(r.Args))
		r.Args = append(r.Args, word)
	}
	if rapid.IntRange(0, 2).Draw(t, "end") == 0 {
		r.Args = append(r.Args, plain.Draw(t, "last"))
	}
	r.OptionsFrom = rapid.SampledFrom([]int{0, len(p.Words), len(p.Words) + 1}).Draw(t, "optionsFrom")
	end := 0
	if n := len(r.Harmful); n > 0 {
		end = r.Harmful[n-1] + 1
	}
	r.HarmlessFrom = rapid.SampledFrom([]int{end, end, 0, end + 1}).Draw(t, "harmlessFrom")
}

func drawPath(t *rapid.T, p *pattern.Path) *effects.File {
	if p != nil && rapid.Bool().Draw(t, "asWritten") {
		path := map[pattern.Base]string{pattern.Root: "", pattern.Home: "/h", pattern.Project: "/h/p"}[p.Base]
		for _, part := range p.Parts {
			if part == nil {
				path += rapid.SampledFrom([]string{"", "/a", "/b/x"}).Draw(t, "deep")
			} else if name := strings.Join(part, rapid.SampledFrom([]string{"", "a"}).Draw(t, "star")); name != "" {
				path += "/" + name
			}
		}
		return &effects.File{Path: cmp.Or(path, "/"), Recursive: rapid.Bool().Draw(t, "recursive")}
	}
	f := &effects.File{
		Path:      rapid.SampledFrom([]string{"/", "/h", "/h/p", "/x"}).Draw(t, "base"),
		Recursive: rapid.Bool().Draw(t, "recursive"),
	}
	for _, part := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "aab", "a\nb", ".a", "x"}), 0, 4).Draw(t, "parts") {
		f.Path = strings.TrimSuffix(f.Path, "/") + "/" + part
	}
	return f
}

// drawEffect draws an effect that the line may match.
func drawEffect(t *rapid.T, p *pattern.Pattern) (*effects.Effect, []effects.Effect) {
	e := effects.Effect{Kind: p.Kind}
	for _, tag := range []effects.Tag{effects.Outside, effects.Secret, effects.Loopback} {
		if rapid.Bool().Draw(t, tag.String()) {
			e.Tags = e.Tags.With(tag)
		}
	}
	var all []effects.Effect
	if p.Run != nil && rapid.Bool().Draw(t, "derived") {
		r := drawRun(t, p.Run)
		all = append(all, effects.Effect{Kind: effects.KindRun, Run: r})
		e.Via = &effects.Via{Effect: 0, Arg: rapid.IntRange(-1, len(r.Args)-1).Draw(t, "arg")}
		e.Kind = rapid.SampledFrom(effects.Kinds).Draw(t, "kind")
	}
	switch e.Kind {
	case effects.KindRun:
		e.Run = drawRun(t, p.Run)
	case effects.KindRead, effects.KindWrite, effects.KindDelete:
		e.File = drawPath(t, p.Path)
	case effects.KindConnect:
		e.Connect = &effects.Connect{
			Host:   rapid.SampledFrom([]string{"a.example", "b.a.example", "xa.example", "a", "", "::1", "localhost", "a.localhost"}).Draw(t, "host"),
			Port:   rapid.SampledFrom([]int{0, 80, 22}).Draw(t, "port"),
			Scheme: rapid.SampledFrom([]string{"https", "http", "", "ssh", "ftp"}).Draw(t, "scheme"),
		}
	case effects.KindUse:
		e.Claimed = rapid.Bool().Draw(t, "claimed")
		name := rapid.SampledFrom([]string{"", "a", "ab", "ba", "aab", "a/b", "a\nb", "a@1", "a@1.0.0", "a_b", "a__a", "ab:a", "a.a@1", "-a", "mcp_a_b", "mcp__ab-a", "mcp_a", "A", "aB", "BA", "MCP_A_b", "A@1", "a@1.0.0-Rc", "ſ", "A.ſ", "ß", "SS", "a\ufb01", "AFI", "\u1fd3", "\u0390", "kind/a", "kind/b"})
		server := rapid.OneOf(name, rapid.Just(effects.UnknownServer))
		e.Use = &effects.Use{
			Server: server.Draw(t, "server"), Tool: name.Draw(t, "tool"),
			Version: rapid.SampledFrom([]string{"", "1.0.0", "1.0.1", "10.0.0", "1", "1.0.0-RC", "v1", "=01.0", " 1.0.0+b ", "1.0.0.0", "1.", "x", "V1-rc", "٣", "1.0.0\n", "+1"}).Draw(t, "version"),
			Source:  rapid.SampledFrom([]string{"", effects.AgentSource}).Draw(t, "source"),
		}
	}
	all = append(all, e)
	return &all[len(all)-1], all
}

// listTable has the program of the lines, so that denies are compared by meaning
// too.
var listTable = sync.OnceValues(func() (*programs.Table, error) {
	return programs.ParseTable(map[string][]byte{"test.yaml": []byte(`
shell: {}
programs:
  - names: [prog]
    options: {harmless: ["-a", "--b=", "-b"]}
    operands: ["text..."]
    sub_optional: true
    sub: [{names: [a], operands: ["text..."]}, {names: [b, c], operands: ["text..."]}]
same: ["prog a b = c", "prog b = "]
`)})
})

var lineFor = map[effects.Kind]*rapid.Generator[string]{
	effects.KindRun:     rapid.StringMatching(`(prog|other|\./a|~/b/a|/x/prog)( (a|b|c|--c|-c=b|b/\*|\*b|a\*b|-a|--b|-a=\*|/a|''|'a b')){0,3}( \*( (-a|--b|-b x|-b x|--b=1|-a -5|-a -|--b '')){0,3}( (--|a|'\*'|\*))?)?`),
	effects.KindRead:    rapid.StringMatching(`(\./|~/|/)((a|b|\*|a\*|\*b|a\*\*?b|\.a|x|h|\*\*)/){0,3}(a|\*|a\*b|\*\*)`),
	effects.KindWrite:   rapid.StringMatching(`(\./|/h/p/)(a|\*)(/\*\*)?(/a)?`),
	effects.KindDelete:  rapid.StringMatching(`(\./|~/|/)(a|p|h|\*)(/(b|\*|\*\*)){0,3}`),
	effects.KindConnect: rapid.SampledFrom([]string{"a.example", "*.a.example", "a.example:80", "*.a.example:80", "[::1]:80", "::1", "a", "ssh://a.example", "ssh://*.a.example:80", "127.0.0.1", "localhost:80", "*.localhost"}),
	effects.KindUse:     rapid.StringMatching(`((a|A|a\*|\*|\*b|\*B):)?(a\*|\*b|a|A|S|ab|Ab|a\*b\*|a\*B\*|k\*|kind/\*|kind/a)(@(1|1\.0\.0|1\.\*|\*|\*1|1\.0\.0-rc|))?`),
}

// A list compiled to Rego and the matcher of remembered choices agree, and refuse
// the same lines.
func TestAgreesWithMatcher(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(pattern.Kinds).Draw(t, "kind")
		line := lineFor[kind].Draw(t, "line")
		set := rapid.SampledFrom(sets).Draw(t, "set")
		table, err := listTable()
		if err != nil {
			t.Fatal(err)
		}
		if rapid.IntRange(0, 3).Draw(t, "ignorant") == 0 {
			table = nil
		}
		list := fmt.Sprintf("%s:\n  %s:\n    - '%s'\n", set, kind, strings.ReplaceAll(line, "'", "''"))
		p, refused := pattern.Parse(kind, line)
		m, err := Compile("user", "rules.yaml", []byte(list), false, table)
		if refused != nil {
			le, ok := errors.AsType[*Error](err)
			if !ok || le.Line != 3 || le.Err.Error() != refused.Error() {
				t.Fatalf("the matcher refuses %s %s (%v), the list says %v", kind, line, refused, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if set != decisions.SetAllow {
			p = p.Resolved(table)
		}
		for range 4 {
			e, all := drawEffect(t, p)
			got := evaluate(t, m, set, listInput(e, all))
			if diff := gocmp.Diff(says(p, set, e, all), got); diff != "" {
				t.Fatalf("%s %s: %s on %+v (-matcher +Rego):\n%s\n%s", set, kind, line, listInput(e, all), diff, m)
			}
		}
	})
}

// The property above is meaningful only if both answers occur.
func TestAgreementIsNotVacuous(t *testing.T) {
	seen := map[string]int{}
	for i := range 10000 {
		gen := rapid.Custom(func(t *rapid.T) string {
			kind := rapid.SampledFrom(pattern.Kinds).Draw(t, "kind")
			p, err := pattern.Parse(kind, lineFor[kind].Draw(t, "line"))
			if err != nil {
				return "refused"
			}
			e, all := drawEffect(t, p)
			set := rapid.SampledFrom(sets[:2]).Draw(t, "set")
			a := says(p, set, e, all)
			if p.Run != nil && len(p.Run.Named) > 0 && e.Via == nil {
				return fmt.Sprintf("%s named fired=%v", set, a.Fired)
			}
			return fmt.Sprintf("%s %s derived=%v fired=%v", set, kind, e.Via != nil, a.Fired)
		})
		seen[gen.Example(i)]++
	}
	for _, set := range sets[:2] {
		for _, kind := range pattern.Kinds {
			for _, fired := range []bool{true, false} {
				if key := fmt.Sprintf("%s %s derived=false fired=%v", set, kind, fired); seen[key] < 5 {
					t.Errorf("%q came up %d times in 10000", key, seen[key])
				}
			}
		}
	}
	for _, key := range []string{
		"allow run derived=true fired=true", "refused",
		"allow named fired=true", "allow named fired=false", "ask named fired=true", "ask named fired=false",
	} {
		if seen[key] < 5 {
			t.Errorf("%q came up %d times in 10000", key, seen[key])
		}
	}
	if seen["refused"] > 2500 {
		t.Errorf("%d of 5000 lines are refused", seen["refused"])
	}
}
