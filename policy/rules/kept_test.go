package rules

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
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/input/inputtest"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/rego"
)

// compareKept evaluates random inputs by layers with and without keeping results. After
// each input come some that differ from it in one field.
func compareKept(t *rapid.T, layers []*Layer, words []string, n int) {
	anew, kept := snapshotOf(layers...), snapshotOf(layers...)
	kept.Keep(nil, nil)
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
		l, ps := Compile(unitOf(decisions.User, map[string]string{"a.rego": text}), nil)
		if ps.Failed() {
			t.Fatalf("%v\n%s", ps.Errors(), text)
		}
		compareKept(t, []*Layer{l}, testWords, 15)
	})
}

// TestKeptByShippedRules compares for the shipped rules of each profile, with some
// lines and the rules of a person and an organization. The words of the inputs are
// those that the rules know.
func TestKeptByShippedRules(t *testing.T) {
	schema := testSchema(t)
	for _, profile := range testload.Sample(t, 1, []string{"careful", "balanced", "unattended"}) {
		t.Run(profile, func(t *testing.T) {
			u := Unit{Layer: decisions.Base}
			var text strings.Builder
			for name, data := range rego.Base() {
				if rego.InProfile(name, profile) {
					u.Files = append(u.Files, source.File{Name: name, Rel: name, Data: data})
					text.Write(data)
				}
			}
			base, ps := Compile(u, schema)
			if ps.Failed() {
				t.Fatal(ps.Errors())
			}
			lines, ps := Compile(unitOf(decisions.User, map[string]string{"rules.yaml": testLines}), schema)
			if ps.Failed() {
				t.Fatal(ps.Errors())
			}
			org := mustCompile(t, decisions.Org, policytest.ManyRules(decisions.Org, 60))
			words := append(textsIn(text.String()), textsIn(testLines)...)
			words = append(words, textsIn(policytest.ManyRules(decisions.Org, 60))...)
			rapid.Check(t, func(t *rapid.T) {
				compareKept(t, []*Layer{org, lines, base}, words, 12)
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
		text(&e.Text), text(&e.From), flip(&e.Claimed), flip(&e.Declared), flip(&e.Shell), func() { e.Tags ^= effects.TagsOf(rapid.SampledFrom(effects.AllTags()).Draw(t, "tag")) },
		text(&c.Tool.Name), text(&c.Tool.Server), text(&c.Protocol), text(&c.Cwd), text(&c.Claims.Title), text(&c.Claims.Kind), text(&c.Claims.User), text(&c.Claims.TraceID),
		text(&c.Claims.Status), list(&c.Claims.Options), func() {
			c.Claims.Meta = fmt.Appendf(nil, `{"a":%q,"codex":{"params":{"cwd":%q}}}`, rapid.SampledFrom([]string{"", "a"}).Draw(t, "meta"), rapid.SampledFrom([]string{"", "b"}).Draw(t, "cwd"))
		},
		func() {
			r.Claimed = []effects.ClaimedPath{{Path: g.word(t), AsWritten: g.word(t), Source: g.word(t), Operation: g.word(t),
				Tags: effects.TagsOf(rapid.SampledFrom(effects.AllTags()).Draw(t, "tag of a claim"))}}
		},
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
			list(&run.Operands), func() { run.Operands = nil }, text(&run.Cwd), flip(&run.Readonly), flip(&run.OwnData), flip(&run.Reformats), flip(&run.Known),
			number(&run.HarmlessFrom), number(&run.OptionsFrom), func() { run.Harmful = rapid.SliceOfN(rapid.IntRange(0, 2), 0, 2).Draw(t, "harmful") },
			func() { run.Script = &effects.Script{Path: g.word(t), SHA256: g.word(t)} }, func() { run.Script = nil },
			func() {
				run.Stdin = rapid.SampledFrom([]effects.Stdin{"", effects.StdinNone, "file", "pipe", "network"}).Draw(t, "stdin")
			})
	}
	if f := e.File; f != nil {
		changes = append(changes, text(&f.Path), text(&f.AsWritten), flip(&f.Recursive), flip(&f.Reformatted), func() { f.Path = "/home/u/" + g.word(t) })
	}
	if c := e.Connect; c != nil {
		changes = append(changes, text(&c.Host), number(&c.Port), text(&c.Scheme), text(&c.URL), func() { c.Method = effects.MethodSend })
	}
	if u := e.Use; u != nil {
		changes = append(changes, text(&u.Server), text(&u.Source), text(&u.Tool), text(&u.Version), flip(&u.Destructive), flip(&u.Trusted), list(&u.Credentials.Secrets),
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
		for range 8 {
			out := g.change(t, in)
			docs := []ast.Value{input.Build(in, input.AllParts).Value, input.Build(out, input.AllParts).Value}
			paths := map[string]bool{}
			for _, doc := range docs {
				inputtest.Paths(doc, "", paths)
			}
			for path := range paths {
				ref := ast.MustParseRef("input." + path)
				part := input.PartOf(ref)
				if !part.Difference(input.Keyed).Empty() {
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
