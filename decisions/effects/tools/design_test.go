package tools_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/rego"
)

const designCwd = "/home/ana/src/shop"

// designWorld returns a machine with the shipped table and profiles.
func designWorld(t *testing.T) *tools.World {
	t.Helper()
	table := effectstest.Table(t)
	profiles, err := tools.ParseProfiles(rego.Profiles())
	if err != nil {
		t.Fatal(err)
	}
	fs := fsfake.New("/etc/passwd", "/tmp/", "/dev/null", "/usr/bin/git", "/bin/ls", "/home/ana/.ssh/id_ed25519", "/home/ana/.bashrc", "/home/ana/bin/ls", "/home/ana/.config/permd/policy.d/")
	for _, file := range []string{
		".git/HEAD", ".git/config", "a.txt", "b.txt", ".env", "Makefile", "run.sh", "src/vat.ts", "docs/a.md", "bare/HEAD", "bare/config", "keys/a.md", "odd/-delete", "odd/a.md", "plus/+x", "plus/!",
	} {
		fs.File(designCwd+"/"+file, "x")
	}
	fs.File(designCwd+"/.git/config", "[core]\n\tbare = false\n")
	fs.Link(designCwd+"/out", "/etc").Link(designCwd+"/.envrc", "a.txt").Link(designCwd+"/loop", "loop").Link(designCwd+"/keys/k.md", "/home/ana/.ssh/id_ed25519").Deny(designCwd + "/locked")
	return &tools.World{FS: fs, Table: table, Profiles: profiles, Own: paths.OwnFiles("/home/ana/.config/permd")}
}

// designCall returns the call of a line of testdata/design.txt.
func designCall(text string) *effects.Call {
	c := &effects.Call{
		ID: "1", Protocol: "acp", Tool: effects.Tool{Name: "Bash"}, Agent: effects.Party{Name: "claude-code"}, Cwd: designCwd,
		User: effects.User{UID: 1000, Name: "ana", Home: "/home/ana", Env: map[string]string{"HOME": "/home/ana"}},
	}
	text = strings.NewReplacer("⏎", "\n", "CWD", designCwd).Replace(text)
	if rest, ok := strings.CutPrefix(text, "live "); ok {
		c.LiveShell, text = true, rest
	}
	if rest, ok := strings.CutPrefix(text, "tool "); ok {
		name, input, _ := strings.Cut(rest, " ")
		if agent, tool, ok := strings.Cut(name, ":"); ok {
			c.Agent.Name, name = agent, tool
		}
		c.Tool.Name, c.Input = name, strictjson.Value(input)
		return c
	}
	c.Input = strictjson.Value(fmt.Sprintf(`{"command":%s}`, quoted(text)))
	return c
}

func quoted(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

// rules are the rules of one line of testdata/design.txt.
type rules struct {
	lines []*pattern.Pattern
	state bool // a rule that allows all changes of the shell's state
}

// uncovered returns the effects of a call that the rules do not allow, by the
// engine's reading of a list: a line must match the whole effect, guarded effects
// must be named exactly, unknown ones are never allowed, and inherent ones are
// allowed with their run.
func (r *rules) uncovered(res *effects.Result) (left []*effects.Effect) {
	ctx := pattern.Context{Project: res.Project, Home: "/home/ana", Cwd: designCwd}
	allowed := make([]bool, len(res.Effects))
	for _, inherent := range []bool{false, true} {
		for i := range res.Effects {
			e := &res.Effects[i]
			if e.Inherent() != inherent {
				continue
			}
			allowed[i] = e.Kind == effects.KindState && r.state ||
				e.Kind == effects.KindRead && e.Tags.Has(effects.InProject) && e.Guarded() == 0 ||
				inherent && e.Kind != effects.KindUnknown && e.Guarded() == 0 && allowed[e.Via.Effect] ||
				e.Kind != effects.KindUnknown && slices.ContainsFunc(r.lines, func(p *pattern.Pattern) bool {
					return p.Match(e, res.Effects, ctx) && (e.Guarded() == 0 || p.Exact(e, res.Effects, ctx))
				})
			if !allowed[i] {
				left = append(left, e)
			}
		}
	}
	return left
}

// told returns an effect as the lines of testdata/design.txt name it.
func told(e *effects.Effect) string {
	words := []string{string(e.Kind)}
	switch {
	case e.Run != nil:
		words = append(words, e.Run.Program)
		words = append(words, e.Run.Args...)
		if e.Run.Stdin != effects.StdinNone {
			words = append(words, "stdin="+string(e.Run.Stdin))
		}
	case e.File != nil:
		words = append(words, e.File.Path)
	case e.Connect != nil:
		words = append(words, e.Connect.Method, e.Connect.Host)
	default:
		words = append(words, e.Why, e.Text)
	}
	tags := e.Guarded() | e.Tags&effects.TagsOf(effects.Outside)
	text := strings.Join(append(words, tags.Names()...), " ")
	return strings.ReplaceAll(text, designCwd+"/", "./")
}

// TestDesign gives each command of testdata/design.txt the rules under which a
// careless matcher would let it pass, and checks which one effect they do not
// allow.
func TestDesign(t *testing.T) {
	w := designWorld(t)
	data, err := os.ReadFile("../testdata/design.txt")
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(data), "\n# ")
	for _, section := range sections[1:] {
		sentence, body, _ := strings.Cut(section, "\n")
		t.Run(sentence, func(t *testing.T) {
			var r rules
			said := 0
			for line := range strings.Lines(body) {
				verb, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
				switch verb {
				case "":
				case "allow":
					r.add(t, rest)
				case "yes":
					said++
					res := w.Effects(designCall(rest))
					for _, e := range r.uncovered(&res) {
						t.Errorf("%s: %s is not allowed", rest, told(e))
					}
				case "no":
					said++
					command, part, ok := cutLast(rest, " :: ")
					if !ok {
						t.Fatalf("%s: why not?", rest)
					}
					res := w.Effects(designCall(command))
					left := r.uncovered(&res)
					if !slices.ContainsFunc(left, func(e *effects.Effect) bool { return strings.Contains(told(e), part) }) {
						t.Errorf("%s: no %q among what is not allowed", command, part)
						for i := range res.Effects {
							t.Log(told(&res.Effects[i]))
						}
					}
				default:
					t.Fatalf("%q is no line", line)
				}
			}
			if said == 0 {
				t.Error("a sentence without a proof")
			}
		})
	}
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func (r *rules) add(t *testing.T, rule string) {
	t.Helper()
	kind, line, _ := strings.Cut(rule, " ")
	if kind == "state" {
		r.state = true
		return
	}
	p, err := pattern.Parse(effects.Kind(kind), line)
	if err != nil {
		t.Fatal(err)
	}
	r.lines = append(r.lines, p)
}
