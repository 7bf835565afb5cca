package policy

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/input/inputtest"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/rego"
)

// compareKept evaluates random inputs by layers with and without keeping results. After
// each input come some that differ from it in one field.
func compareKept(t *rapid.T, layers []*compiledLayer, words []string, n int) {
	anew, kept := snapshotOf(layers...), snapshotOf(layers...)
	kept.keep(nil, nil)
	g := &inputs{words: rapid.SampledFrom(words)}
	for range n {
		in := g.draw(t)
		for i := range 6 {
			if i > 0 {
				in = g.change(t, in)
			}
			want, err1 := anew.Evaluate(t.Context(), in)
			got, err2 := kept.Evaluate(t.Context(), in)
			if diff := cmp.Diff(want, got); diff != "" || (err1 == nil) != (err2 == nil) {
				t.Fatalf("errors: %v anew, %v kept; findings (-anew +kept):\n%s\n%v", err1, err2, diff, input.Build(in, input.AllParts))
			}
		}
	}
}

// TestKeptByRandomRules: rules of all forms cannot tell effects apart that have the
// same kept result.
func TestKeptByRandomRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawRules(t)
		// Without a schema any field may be tested for any kind.
		l, ps := compile(unitOf(decisions.User, map[string]string{"a.rego": text}), nil)
		if ps.Failed() {
			t.Fatalf("%v\n%s", ps.Errors(), text)
		}
		compareKept(t, []*compiledLayer{l}, testWords, 15)
	})
}

// TestKeptByShippedRules compares for the shipped rules of each profile, with some
// lines and the rules of a person and an organization. The words of the inputs are
// those that the rules know.
func TestKeptByShippedRules(t *testing.T) {
	schema := testSchema(t)
	for _, profile := range []string{"careful", "balanced", "unattended"} {
		t.Run(profile, func(t *testing.T) {
			u := unit{layer: decisions.Base}
			var text strings.Builder
			for name, data := range rego.Base() {
				if rego.InProfile(name, profile) {
					u.files = append(u.files, source.File{Name: name, Rel: name, Data: data})
					text.Write(data)
				}
			}
			base, ps := compile(u, schema)
			if ps.Failed() {
				t.Fatal(ps.Errors())
			}
			lines, ps := compile(unitOf(decisions.User, map[string]string{"rules.yaml": testLines}), schema)
			if ps.Failed() {
				t.Fatal(ps.Errors())
			}
			org := mustCompile(t, decisions.Org, manyRules(decisions.Org, 60))
			words := append(textsIn(text.String()), textsIn(testLines)...)
			words = append(words, textsIn(manyRules(decisions.Org, 60))...)
			rapid.Check(t, func(t *rapid.T) {
				compareKept(t, []*compiledLayer{org, lines, base}, words, 12)
			})
		})
	}
}

const testLines = `
allow:
  run: ["git log *", "npm test", "go test * --race", "ls --color", "~/bin/x", "./run *"]
  read: [~/notes/**]
  write: [./src/**, /tmp/x]
  delete: [./out]
  connect: ["*.github.com", "localhost:8080", "https://example.com"]
  use: [github/get_*, fetch]
deny:
  run: ["git push --force", "rm -rf *", "npm publish", "kubectl delete * -n prod"]
  read: [~/.ssh/**, ./.env]
  write: ["./**/*.pem"]
  connect: ["*.evil.com"]
  use: ["*/delete_*"]
ask:
  run: ["docker *"]
  write: [./ci/**]
`

// textsIn returns the quoted texts and words of some rules, and some like them.
func textsIn(text string) []string {
	out := []string{"", "x", "/x", "./x", "\u0000dynamic"}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\"`\n\t ,{}[]()", r) }) {
		if len(w) < 40 {
			out = append(out, w)
		}
	}
	return out
}

// testWords are the words of random rules and of their inputs.
var testWords = []string{"a", "b", "ab", "git", "push", "--force", "-x", "/a", "/a/b", "/home/u", "/home/u/p/a", "", "1", "x\x00y", "null"}

// inputs makes random inputs.
type inputs struct{ words *rapid.Generator[string] }

func (g *inputs) word(t *rapid.T) string { return g.words.Draw(t, "word") }

func (g *inputs) list(t *rapid.T) []string { return rapid.SliceOfN(g.words, 0, 3).Draw(t, "words") }

func (g *inputs) draw(t *rapid.T) *decisions.Input {
	all := []effects.Effect{g.effect(t), g.effect(t)}
	if rapid.Bool().Draw(t, "by") {
		all[1] = effects.Effect{Kind: effects.KindRun, Run: &effects.Run{Program: g.word(t), Args: g.list(t), Subcommand: g.word(t)}}
		all[0].Via = &effects.Via{Effect: 1, Arg: rapid.IntRange(-1, 2).Draw(t, "arg")}
	}
	in := inputOf(all...)
	in.Call.Input = nil
	for range 4 {
		g.changeOnce(t, in)
	}
	return in
}

func (g *inputs) effect(t *rapid.T) effects.Effect {
	var e effects.Effect
	switch kind := rapid.SampledFrom(effects.Kinds).Draw(t, "kind"); kind {
	case effects.KindRun:
		e = run(g.word(t), g.list(t)...)
		e.Run.Flags = e.Run.Args
	case effects.KindRead, effects.KindWrite, effects.KindDelete:
		e = file(kind, "/"+g.word(t))
	case effects.KindConnect:
		e = connect(g.word(t))
	case effects.KindUse:
		e = use(g.word(t), g.word(t), "")
		e.Use.Arguments = nil
	default:
		e = why(kind, g.word(t))
	}
	e.Tags = effects.TagsOf(rapid.SliceOfNDistinct(rapid.SampledFrom(effects.AllTags()), 0, 2, rapid.ID[effects.Tag]).Draw(t, "tags")...)
	return e
}

// change returns a copy of an input with one field changed, or the effect itself.
func (g *inputs) change(t *rapid.T, in *decisions.Input) *decisions.Input {
	out := *in
	out.Scratch = nil
	out.All = append([]effects.Effect(nil), in.All...)
	for i := range out.All {
		e := &out.All[i]
		if &in.All[i] == in.Effect {
			out.Effect = e
		}
		e.Run, e.File, e.Connect, e.Use, e.Via = copyOf(e.Run), copyOf(e.File), copyOf(e.Connect), copyOf(e.Use), copyOf(e.Via)
	}
	out.Call, out.Result = copyOf(in.Call), copyOf(in.Result)
	g.changeOnce(t, &out)
	return &out
}

func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

func (g *inputs) changeOnce(t *rapid.T, in *decisions.Input) {
	e, c, r := in.Effect, in.Call, in.Result
	flip := func(b *bool) func() { return func() { *b = !*b } }
	text := func(s *string) func() { return func() { *s = g.word(t) } }
	list := func(s *[]string) func() { return func() { *s = g.list(t) } }
	number := func(n *int) func() { return func() { *n = rapid.IntRange(0, 3).Draw(t, "number") } }
	changes := []func(){
		text(&e.Text), text(&e.From), flip(&e.Claimed), flip(&e.Shell), func() { e.Tags ^= effects.TagsOf(rapid.SampledFrom(effects.AllTags()).Draw(t, "tag")) },
		text(&c.Tool.Name), text(&c.Tool.Server), text(&c.Protocol), text(&c.Cwd), text(&c.Claims.Title), text(&c.Claims.Kind), text(&c.Claims.User),
		text(&c.User.Home), text(&c.User.Name), list(&c.User.Groups), text(&c.Agent.Name), text(&c.Client.Version), text(&r.Missing), text(&r.Project),
		func() {
			r.Completeness = rapid.SampledFrom([]effects.Completeness{effects.Full, effects.Partial, effects.None}).Draw(t, "completeness")
		},
		func() {
			r.Defects = rapid.SliceOfN(rapid.SampledFrom([]effects.Defect{{Code: effects.DefectDropped}, {Code: effects.DefectOption}}), 0, 2).Draw(t, "defects")
		},
		text(&in.Session.ID), text(&in.Session.Mode), list(&in.Session.Ancestors), flip(&in.Trusted),
		func() { in.Now = in.Now.Add(time.Hour) },
		func() {
			in.All[len(in.All)-1].Tags ^= effects.TagsOf(rapid.SampledFrom(effects.AllTags()).Draw(t, "tag of another"))
		},
	}
	if run := e.Run; run != nil {
		changes = append(changes, text(&run.Program), text(&run.Executable), list(&run.Args), text(&run.Subcommand), list(&run.Flags),
			list(&run.Operands), func() { run.Operands = nil }, text(&run.Cwd), flip(&run.Readonly), flip(&run.Known),
			number(&run.HarmlessFrom), number(&run.OptionsFrom), func() { run.Harmful = rapid.SliceOfN(rapid.IntRange(0, 2), 0, 2).Draw(t, "harmful") },
			func() { run.Script = &effects.Script{Path: g.word(t), SHA256: g.word(t)} }, func() { run.Script = nil },
			func() {
				run.Stdin = rapid.SampledFrom([]effects.Stdin{"", effects.StdinNone, "file", "pipe", "network"}).Draw(t, "stdin")
			})
	}
	if f := e.File; f != nil {
		changes = append(changes, text(&f.Path), text(&f.AsWritten), flip(&f.Recursive), func() { f.Path = "/home/u/" + g.word(t) })
	}
	if c := e.Connect; c != nil {
		changes = append(changes, text(&c.Host), number(&c.Port), text(&c.Scheme), text(&c.URL), func() { c.Method = effects.MethodSend })
	}
	if u := e.Use; u != nil {
		changes = append(changes, text(&u.Server), text(&u.Source), text(&u.Tool), text(&u.Version), flip(&u.Destructive), list(&u.Credentials.Secrets),
			func() { u.Credentials.Authorizations = []effects.Authorization{{ID: g.word(t), Scopes: g.list(t)}} },
			func() {
				u.Arguments = []byte(`{"a":"` + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "argument") + `"}`)
			})
	}
	if e.Detail() == effects.NoDetail {
		changes = append(changes, text(&e.Why))
	}
	if e.Via != nil {
		by := in.All[e.Via.Effect].Run
		changes = append(changes, text(&by.Program), text(&by.Subcommand), list(&by.Args), func() { e.Via = nil },
			func() { e.Via.Arg = rapid.IntRange(-1, 2).Draw(t, "arg") })
	}
	changes[rapid.IntRange(0, len(changes)-1).Draw(t, "change")]()
}

// TestKeysOfInputs: whatever rules can tell apart has another key, and values are those
// that rules see.
func TestKeysOfInputs(t *testing.T) {
	g := &inputs{words: rapid.SampledFrom(testWords)}
	rapid.Check(t, func(t *rapid.T) {
		in := g.draw(t)
		for range 20 {
			out := g.change(t, in)
			docs := []ast.Value{input.Build(in, input.AllParts).Value, input.Build(out, input.AllParts).Value}
			paths := map[string]bool{}
			for _, doc := range docs {
				inputtest.Paths(doc, "", paths)
			}
			for path := range paths {
				ref := ast.MustParseRef("input." + path)
				part := input.PartOf(ref)
				if part&^input.Keyed != 0 {
					continue
				}
				before, err1 := docs[0].Find(ref[1:])
				after, err2 := docs[1].Find(ref[1:])
				same := (err1 == nil) == (err2 == nil) && (err1 != nil || before.Compare(after) == 0)
				if !same && bytes.Equal(input.AppendKey(nil, in, part), input.AppendKey(nil, out, part)) {
					t.Fatalf("%s: %v and %v have the same key", path, before, after)
				}
				if exact, index, ok := input.Exactly(ref); ok {
					checkValue(t, path, input.ValueOf(out, exact), exact.Type(), after, index)
				}
			}
			in = out
		}
	})
}

// checkValue compares the value of a part with what rules see, nil if it is undefined.
func checkValue(t *rapid.T, path string, got input.Value, want input.Type, seen ast.Value, index int) {
	if index != input.Whole || (seen == nil) != (got.Type == input.Undefined) || seen != nil && got.Type != want {
		t.Fatalf("%s: type %d, index %d, want %d; rules see %v", path, got.Type, index, want, seen)
	}
	var same bool
	switch seen := seen.(type) {
	case nil:
		same = true
	case ast.String:
		same = got.Text == string(seen)
	case ast.Boolean:
		same = got.Flag == bool(seen)
	case ast.Number:
		n, ok := seen.Int()
		same = ok && n == got.Number
	case *ast.Array:
		same = seen.Len() == len(got.Words)
		for i := range min(seen.Len(), len(got.Words)) {
			same = same && seen.Elem(i).Equal(ast.StringTerm(got.Words[i]))
		}
	}
	if !same {
		t.Fatalf("%s: %+v, rules see %v", path, got, seen)
	}
}

// drawRules draws a policy.
func drawRules(t *rapid.T) string {
	g := &ruleTexts{t: t}
	var b strings.Builder
	for _, name := range []string{"h0", "h1", "h2"} {
		if rapid.Bool().Draw(t, "default") {
			fmt.Fprintf(&b, "default %s := false\n", name)
		}
		for range rapid.IntRange(1, 2).Draw(t, "bodies") {
			fmt.Fprintf(&b, "%s if {\n%s}\n", name, g.body(2))
		}
		g.helpers = append(g.helpers, name)
	}
	fmt.Fprintf(&b, "e0 := 1 if {\n%s} else := 2 if {\n%s}\n", g.body(1), g.body(1))
	fmt.Fprintf(&b, "f0(x) if {\nx == %s\n%s}\n", g.word(), g.body(1))
	fmt.Fprintf(&b, "s0 contains x if {\n%ssome x in input.effect.tags\n}\n", g.body(1))
	fmt.Fprintf(&b, "c0 := {%s, %s}\n", g.word(), g.word())
	g.all = true
	for i := range rapid.IntRange(1, 5).Draw(t, "rules") {
		set := rapid.SampledFrom([]string{"allow", "ask", "deny"}).Draw(t, "set")
		head := rapid.SampledFrom([]string{`"r%d"`, `sprintf("r%d %%v", [` + g.text() + `])`, `{"reason": sprintf("r%d %%v", [` + g.list() + `])}`}).Draw(t, "head")
		fmt.Fprintf(&b, "%s contains %s if {\n%s}\n", set, fmt.Sprintf(head, i), g.body(4))
	}
	return b.String()
}

// ruleTexts draws parts of rules.
type ruleTexts struct {
	t       *rapid.T
	helpers []string
	all     bool // the other helpers are defined
	n       int  // of variables
}

func (g *ruleTexts) pick(list ...string) string { return rapid.SampledFrom(list).Draw(g.t, "form") }

func (g *ruleTexts) word() string {
	return strings.ReplaceAll(fmt.Sprintf("%q", rapid.SampledFrom(testWords).Draw(g.t, "word")), `\x00`, `\u0000`)
}

func (g *ruleTexts) number() string { return fmt.Sprint(rapid.IntRange(0, 2).Draw(g.t, "number")) }

func (g *ruleTexts) text() string {
	return "input." + g.pick("effect.program", "effect.program", "effect.program", "effect.subcommand", "effect.text", "effect.cwd", "effect.path",
		"effect.path", "effect.given", "effect.project_path", "effect.home_path", "effect.host", "effect.url", "effect.server", "effect.tool", "effect.version",
		"effect.by.program", "effect.by.arg", "effect.by.subcommand", "call.title", "call.cwd", "call.missing", "call.protocol", "call.tool.name", "call.kind",
		"effect.executable", "effect.from", "effect.why", "session.mode", "user.home", "project.root", "effect.script.path", "effect.args[0]", "effect.args[1]",
		"effect.by.args[0]", "effect.flags[0]")
}

func (g *ruleTexts) list() string {
	return "input." + g.pick("effect.args", "effect.args", "effect.args", "effect.flags", "effect.operands", "effect.by.args", "user.groups", "session.ancestors",
		"effect.secrets")
}

func (g *ruleTexts) flag() string {
	return "input." + g.pick("effect.claimed", "effect.shell", "effect.readonly", "effect.known", "effect.recursive", "effect.destructive", "effect.by.inherent", "project.trusted")
}

func (g *ruleTexts) int() string {
	return "input.effect." + g.pick("port", "harmless_from", "options_from", "harmful[0]")
}

func (g *ruleTexts) variable() string {
	g.n++
	return fmt.Sprintf("v%d", g.n)
}

func (g *ruleTexts) body(n int) string {
	var b strings.Builder
	for range rapid.IntRange(1, n).Draw(g.t, "expressions") {
		b.WriteString("\t" + g.expr() + "\n")
	}
	return b.String()
}

func (g *ruleTexts) expr() string {
	not := g.pick("", "", "not ")
	v := g.variable()
	switch rapid.IntRange(0, 9).Draw(g.t, "expression") {
	case 0:
		return `input.effect.kind ` + g.pick(`== "run"`, `== "read"`, `!= "run"`, `in {"run", "write", "connect"}`, `== "use"`)
	case 1, 2:
		return not + fmt.Sprintf(g.pick("%[1]s == %[2]s", "%[1]s != %[2]s", "%[2]s == %[1]s", "%[1]s in {%[2]s, %[3]s}", "startswith(%[1]s, %[2]s)", "endswith(%[1]s, %[2]s)",
			"contains(%[1]s, %[2]s)", "contains(%[2]s, %[1]s)", "regex.match(`^/?a|push`, %[1]s)", "glob.match(\"*a*\", [\"/\"], %[1]s)", "lower(%[1]s) == %[2]s",
			"%[1]s == %[4]s", "startswith(%[4]s, %[1]s)", "concat(\"/\", [%[1]s, %[2]s]) == %[3]s", "count(%[1]s) > 1", "%[1]s", "%[1]s < %[2]s", "[%[1]s, %[4]s] == [%[2]s, %[3]s]"),
			g.text(), g.word(), g.word(), g.text())
	case 3:
		return fmt.Sprintf(g.pick("%[1]s := %[2]s\n\t%[1]s == %[3]s", "%[1]s := %[2]s\n\tnot startswith(%[1]s, %[3]s)", "%[1]s := %[2]s\n\tsprintf(\"%%s\", [%[1]s]) == %[3]s",
			"%[1]s := %[2]s\n\tevery x in input.effect.args { x != %[1]s }"), v, g.text(), g.word())
	case 4, 5:
		return fmt.Sprintf(g.pick("%[5]s%[2]s in %[1]s", "some %[4]s in %[1]s\n\t%[4]s == %[2]s", "%[5]s%[1]s[0] == %[2]s", "count(%[1]s) == %[3]s", "count(%[1]s) > %[3]s", "%[3]s >= count(%[1]s)",
			"%[5]s%[1]s == [%[2]s]", "every %[4]s in %[1]s { %[4]s != %[2]s }", "count([1 | some %[4]s in %[1]s; %[4]s == %[2]s]) > 0", "%[4]s := count(%[1]s)\n\t%[4]s != %[3]s",
			"%[4]s := concat(\"\", [w | some a in input.effect.args; w := concat(\"\", [\"\\u0000\", replace(a, \"\\u0000\", \"\\u0001\")])])\n\tregex.match(`\\x00-x|push`, %[4]s)",
			"some %[4]s\n\t%[1]s[%[4]s] == %[2]s\n\tinput.effect.args[%[4]s] == %[2]s", "%[5]s%[1]s", "%[4]s := %[1]s\n\tnot %[2]s in %[4]s"), g.list(), g.word(), g.number(), v, not)
	case 6:
		return g.pick("", "not ") + g.flag() + g.pick("", " == true", " == false", " != true")
	case 7:
		return not + fmt.Sprintf(g.pick("%s == %s", "%s <= %s", "%s < %s", "%s >= %s", "%s != %s", "%[2]s > %[1]s", "%s in {0, %s}", "%s + 1 == %s"), g.int(), g.number())
	case 8:
		tag := g.pick("in_project", "outside", "secret", "temp", "vital")
		return not + fmt.Sprintf(g.pick("%q in input.effect.tags", "%q in input.call.tags", "%q == input.effect.tags[0]"), tag)
	}
	if len(g.helpers) == 0 {
		return "true"
	}
	h := rapid.SampledFrom(g.helpers).Draw(g.t, "helper")
	forms := []string{h, "not " + h, h + " == true", h + " == false", fmt.Sprintf("%s with input.effect.claimed as true", h), fmt.Sprintf("%s with input.effect.program as %s", h, g.word())}
	if g.all {
		forms = append(forms, "e0 == 1", "e0 == 2", "not e0", fmt.Sprintf("f0(%s)", g.text()), fmt.Sprintf("not f0(%s)", g.text()), `"secret" in s0`, "count(s0) > 0", g.text()+" in c0",
			"not "+g.text()+" in c0", "some "+v+" in c0\n\t"+v+" in input.effect.args",
			fmt.Sprintf("%s := input.effect\n\t%s.program == %s", v, v, g.word()), fmt.Sprintf("%s := \"text\"\n\tinput.effect[%s] == %s", v, v, g.word()),
			fmt.Sprintf("walk(input.effect, [_, %s])\n\t%s == %s", v, v, g.word()), fmt.Sprintf("contains(json.marshal(input.effect), %s)", g.word()),
			fmt.Sprintf("object.get(input.effect, \"cwd\", %s) == %s", g.word(), g.word()), fmt.Sprintf("json.unmarshal(%s) == %s", g.text(), g.number()),
			fmt.Sprintf("to_number(%s) == %s", g.text(), g.number()), `startswith(input.now, "2026-05-04T03")`, `input.effect.arguments.a == "a"`,
			`"connect" in input.call.kinds`, `input.call.completeness == "full"`, `"dropped" in input.call.defects`, "not input.effect.by", "count(input) > 5",
			`some k`+v+`, `+v+` in input.effect
	`+v+` == `+g.word())
	}
	return g.pick(forms...)
}
