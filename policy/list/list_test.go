package list

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

const sampleList = `# what we do all day
allow:
  run:
    - go test *
    - "make lint"
  write: ["./docs/**"]
  connect: ["*.python.org", "docs.example.com:443"]
  use: ["github:get_*"]
ask: {}
deny:
  run:
    - git push --force *
  delete: ["~/keys/*.pem"]
`

// A rule's place is that of its entry.
func TestCompilePlaces(t *testing.T) {
	m, err := Compile("user", "policy.d/rules.yaml", []byte(sampleList), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Package.Path.String(); got != "data.permd.user" {
		t.Errorf("package is %s", got)
	}
	lines := strings.Split(sampleList, "\n")
	want := map[string]int{
		"listed under allow run: go test *":                4,
		"listed under allow run: make lint":                5,
		"listed under allow write: ./docs/**":              6,
		"listed under allow connect: *.python.org":         7,
		"listed under allow connect: docs.example.com:443": 7,
		"listed under allow use: github:get_*":             8,
		"listed under deny run: git push --force *":        12,
		"listed under deny delete: ~/keys/*.pem":           13,
	}
	got := map[string]int{}
	for _, r := range m.Rules {
		ast.WalkNodes(r, func(n ast.Node) bool {
			if loc := n.Loc(); loc != nil && (loc.File != "policy.d/rules.yaml" || loc.Row != r.Location.Row) {
				t.Errorf("%v is at %s, its rule at %s", n, loc, r.Location)
			}
			return false
		})
		if r.Head.Key == nil {
			if r.Location.Row != 1 {
				t.Errorf("the helper %s is at %s", r.Head.Name, r.Location)
			}
			continue
		}
		reason := reasonOf(r)
		if _, entry, _ := strings.Cut(reason, ": "); !strings.Contains(lines[r.Location.Row-1], entry) {
			t.Errorf("%q is not in line %d", entry, r.Location.Row)
		}
		got[reason] = r.Location.Row
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

func reasonOf(r *ast.Rule) string {
	switch v := r.Head.Key.Value.(type) {
	case ast.String:
		return string(v)
	case ast.Object:
		return string(v.Get(ast.StringTerm("reason")).Value.(ast.String))
	}
	return ""
}

// The list of a project is used for its asks and denies only.
func TestCompileRestricted(t *testing.T) {
	m, err := Compile("project", "rules.yaml", []byte(sampleList), true, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range m.Rules {
		if name := r.Head.Name; name != "deny" {
			t.Errorf("a rule %s is there: %s", name, r)
		}
		if reason := reasonOf(r); !strings.HasSuffix(reason, " by the project") || strings.Contains(reason, "keys") {
			t.Errorf("the reason is %q", reason)
		}
	}
	if len(m.Rules) == 0 {
		t.Error("the denies are gone")
	}
	if _, err := Compile("project", "rules.yaml", []byte("allow: {run: ['*']}"), true, nil); err == nil {
		t.Error("a malformed allow is accepted when restricted")
	}
}

// An entry may say why, and what to do instead.
func TestCompileReasons(t *testing.T) {
	const text = `
allow: {run: [{match: ls, reason: harmless}]}
ask: {run: [{match: "git push *", reason: 'release "week"', message: leave it to me}, {match: make, message: later}]}
deny: {run: [{match: "x *", reason: "token ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", message: "say “yes”"}]}
`
	says := func(project bool) map[string]string {
		t.Helper()
		m, err := Compile("user", "rules.yaml", []byte(text), project, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, r := range m.Rules {
			if r.Head.Key == nil {
				continue
			}
			message := ""
			if o, ok := r.Head.Key.Value.(ast.Object); ok {
				if v := o.Get(ast.StringTerm("message")); v != nil {
					message = string(v.Value.(ast.String))
				}
			}
			got[reasonOf(r)] = message
		}
		return got
	}
	if diff := cmp.Diff(map[string]string{
		"harmless": "", `release "week"`: "leave it to me", "listed under ask run: make": "later", "token ***": "say “yes”",
	}, says(false)); diff != "" {
		t.Errorf("of a user (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{
		`listed under ask run by the project, which says: “release "week"”`: "the project's rules say: “leave it to me”",
		"listed under ask run by the project":                               "the project's rules say: “later”",
		"listed under deny run by the project, which says: “token ***”":     "the project's rules say: “say 'yes'”",
	}, says(true)); diff != "" {
		t.Errorf("of a project (-want +got):\n%s", diff)
	}
}

func TestCompileEmpty(t *testing.T) {
	for _, text := range []string{"", "# nothing yet\n", "{}", "allow:\n", "allow: {run: }", "deny: {run: []}"} {
		m, err := Compile("user", "rules.yaml", []byte(text), false, nil)
		if err != nil || len(m.Rules) != 0 {
			t.Errorf("%q: module %v, error %v", text, m, err)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		line       int
		says, hint string
	}{
		{"unknown set", "alow: {run: [ls]}", 1, `"alow" is not known`, "allow, ask and deny"},
		{"tests among the rules", "allow: {run: [ls]}\ntests: {allow: [ls]}", 2, `"tests" is not known`, "rules_test.yaml"},
		{"unknown kind", "allow:\n  exec: [ls]", 2, `the kind "exec" is not known`, "run, read, write"},
		{"kind without lines", "allow:\n  unknown: [x]", 2, `the kind "unknown" is not known`, "run, read"},
		{"case", "Allow: {run: [ls]}", 1, "not known", "allow"},
		{"list instead of map", "- ls", 1, "the list is no map", "allow"},
		{"list under a set", "allow: [ls]", 1, "allow is no map", "kinds"},
		{"text instead of list", "allow:\n  run: ls", 2, "allow run is no list", "run: ["},
		{"number", "allow:\n  run:\n    - 12", 3, "is no text", "quotes"},
		{"yes", "allow:\n  run: [true]", 2, "is no text", "quotes"},
		{"null entry", "allow:\n  run:\n    -", 3, "is no text", "quotes"},
		{"map entry", "allow:\n  run:\n    - ls: x", 3, "the key \"ls\" of an entry is not known", "match"},
		{"an entry without a line", "ask:\n  run:\n    - {reason: x}", 3, "without match", "match"},
		{"a list for a line", "ask:\n  run:\n    - {match: [ls]}", 3, "is no text", "quotes"},
		{"a reason that is no text", "ask:\n  run:\n    - {match: ls, reason: 3}", 3, "the reason of an entry is no text", "quotes"},
		{"an empty message", "ask:\n  run:\n    - {match: ls, message: ''}", 3, "the message of an entry is no text", "quotes"},
		{"a reason of two lines", "ask:\n  run:\n    - {match: ls, reason: \"a\\nb\"}", 3, "not shown as it is", "one line"},
		{"a reason that hides text", "ask:\n  run:\n    - {match: ls, reason: \"a\\u200bb\"}", 3, "not shown as it is", "one line"},
		{"a long reason", "ask:\n  run:\n    - {match: ls, reason: " + strings.Repeat("a", 201) + "}", 3, "more than 200 bytes", "less"},
		{"key twice", "allow: {run: [ls]}\nallow: {run: [rm x]}", 2, "twice, first in line 1", "one"},
		{"kind twice", "allow:\n  run: [ls]\n  run: [rm]", 3, "twice", "one"},
		{"anchor", "allow:\n  run: &x [ls]", 2, "anchors", "quotes"},
		{"alias", "allow:\n  run: [&x ls, *x]", 2, "", ""},
		{"merge key", "x: &x {run: [ls]}\nallow:\n  <<: *x", 1, "not known", ""},
		{"merge key alone", "allow:\n  <<: {run: [ls]}", 2, "no text", ""},
		{"tag", "allow:\n  run: !!set {ls: }", 2, "tags", "quotes"},
		{"tagged text", "allow:\n  run: [!!str 12]", 2, "tags", "quotes"},
		{"unquoted star", "allow:\n  connect:\n    - *.python.org", 3, "alphabetic", "quotes"},
		{"two documents", "allow: {run: [ls]}\n---\ndeny: {run: [rm]}", 0, "more than one document", "one list"},
		{"bad line", "deny:\n  run:\n    - ls\n    - a | b", 4, "means something to a shell", "one program"},
		{"bad YAML", "allow:\n\trun: [ls]", 2, "reading YAML", ""},
		{"not UTF-8", "allow: {run: [\"\xff\"]}", 0, "reading YAML", ""},
		{"long", strings.Repeat("#", maxBytes+1), 0, "longer", ""},
		{"folded text", "allow:\n  run:\n    - |\n      ls\n      rm", 3, "U+000A", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Compile("user", "rules.yaml", []byte(tt.text), false, nil)
			if err == nil {
				t.Fatalf("accepted as %s", m)
			}
			le, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("error is a %T: %v", err, err)
			}
			want := "rules.yaml"
			if tt.line > 0 {
				want = fmt.Sprintf("rules.yaml:%d: ", tt.line)
			}
			if le.Line != tt.line || !strings.HasPrefix(le.Error(), want) || !strings.Contains(le.Error(), tt.says) {
				t.Errorf("error %q, want %q and %q", le, want, tt.says)
			}
			if !strings.Contains(le.Hint(), tt.hint) {
				t.Errorf("hint %q, want %q", le.Hint(), tt.hint)
			}
		})
	}
}

// All problems are reported at once.
func TestCompileTellsAll(t *testing.T) {
	_, err := Compile("user", "rules.yaml", []byte("allow:\n  run: ['*']\n  exec: [x]\ndeny:\n  connect: ['*.com']\n"), false, nil)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 3 {
		t.Errorf("error %v, want three", err)
	}
}

// TestExportAlone: an entry for a remembered choice covers the run or the use alone.
func TestExportAlone(t *testing.T) {
	entries, err := Parse("rules.yaml", []byte("allow:\n  run: [rm 7.txt]\n  use: ['hub:merge', 'hub:merge@2']\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		entries[i].Alone = true
	}
	text, err := ExportEntries("user", "remembered", entries, nil)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "effect.by") || strings.Count(text, `input.effect.version == ""`) != 1 {
		t.Errorf("more is covered:\n%s", text)
	}
}

// An exported list runs on stock OPA and means the same.
func TestExport(t *testing.T) {
	text, err := Export("user", "/somewhere/rules.yaml", []byte(sampleList), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "# rules.yaml:12 deny run: git push --force *\n") || strings.Contains(text, "/somewhere") {
		t.Errorf("the entries' places are missing or show folders:\n%s", text)
	}
	const tools = "deny:\n  use: ['Hub:Merge@2', '*:drop_*', 'own']\n"
	for _, list := range []string{sampleList, tools} {
		text, err := Export("user", "rules.yaml", []byte(list), nil)
		if err != nil {
			t.Fatal(err)
		}
		exported, err := ast.ParseModuleWithOpts("exported.rego", text, ast.ParserOptions{RegoVersion: ast.RegoV1})
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := Compile("user", "rules.yaml", []byte(list), false, nil)
		if err != nil {
			t.Fatal(err)
		}
		exported.Comments = nil
		if exported.Equal(compiled) != (list == sampleList) || !exported.Equal(WithoutFolded(compiled)) || strings.Contains(text, "folded") {
			t.Errorf("the exported module differs from the compiled one:\n%s", text)
		}
	}
	_, err = rego.New(rego.Query("data.permd.user"), rego.Module("exported.rego", text), rego.Strict(true)).Eval(t.Context())
	if err != nil {
		t.Errorf("stock OPA: %v", err)
	}
	if _, err := Export("user", "rules.yaml", []byte("x"), nil); err == nil {
		t.Error("a malformed list is exported")
	}
}

// Only the entries that may fire are evaluated: the cost of a list does not grow
// with its length.
func TestIsIndexed(t *testing.T) {
	var list strings.Builder
	list.WriteString("deny:\n")
	for kind, line := range map[string]string{
		"run": "prog%d sub *", "write": "./dir%d/**", "connect": "*.host%d.example.com", "use": "Server%[1]d:Drop%[1]d",
	} {
		fmt.Fprintf(&list, "  %s:\n", kind)
		for i := range 100 {
			fmt.Fprintf(&list, "    - '"+line+"'\n", i)
		}
	}
	m, err := Compile("user", "rules.yaml", []byte(list.String()), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := ast.NewCompiler()
	c.Compile(map[string]*ast.Module{"rules.yaml": m})
	if c.Failed() {
		t.Fatal(c.Errors)
	}
	index := c.RuleIndex(ast.MustParseRef("data.permd.user.deny"))
	for _, input := range []string{
		`{"effect": {"kind": "run", "program": "prog7", "args": ["sub"], "subcommand": "", "flags": []}}`,
		`{"effect": {"kind": "write", "path": "/h/p/dir7/a", "project_path": "dir7/a", "recursive": false}}`,
		`{"effect": {"kind": "connect", "host": "a.host7.example.com", "port": 0}}`,
		`{"effect": {"kind": "use", "server": "SERVER7", "tool": "drop7", "folded_server": "server7", "folded_tool": "drop7"}}`,
		`{"effect": {"kind": "use", "server": "", "tool": "drop7", "folded_server": "", "folded_tool": "drop7", "claimed": true}}`,
		`{"effect": {"kind": "use", "server": "?", "tool": "Server7_Drop7", "folded_server": "?", "folded_tool": "server7_drop7"}}`,
		`{"effect": {"kind": "use", "server": "", "source": "", "tool": "server7_drop7", "folded_server": "", "folded_tool": "server7_drop7"}}`,
	} {
		found, err := index.Lookup(resolver{ast.MustParseTerm(input)})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(found.Rules); n == 0 || n > 4 {
			t.Errorf("%d of %d rules are tried for %s", n, len(m.Rules), input)
		}
	}
}

// resolver gives the index the values of an input.
type resolver struct{ input *ast.Term }

func (r resolver) Resolve(ref ast.Ref) (ast.Value, error) {
	v, err := r.input.Value.Find(ref[1:])
	if err != nil {
		return nil, nil // undefined
	}
	return v, nil
}

// TestProjectMayAllow checks which allow entries count in the list of a trusted project. permd
// trust --show lists the others separately.
func TestProjectMayAllow(t *testing.T) {
	for line, may := range map[string]bool{
		"run: make check":         true,
		"run: go test ./...":      true,
		"run: ./tools/gen *":      true,
		"run: ed ../other/x":      false,
		"run: cat /etc/hosts":     false,
		"run: cat x/../../.netrc": false,
		"run: cp .env *":          false,
		"run: /opt/x/tool *":      false,
		"run: make -f../x":        false,
		"read: ./docs/**":         true,
		"read: ~/docs/**":         false,
		"connect: example.com":    true,
	} {
		kind, match, _ := strings.Cut(line, ": ")
		p, err := pattern.Parse(effects.Kind(kind), match)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		e := Entry{Kind: effects.Kind(kind), Pattern: p}
		if got := e.ProjectMayAllow(); got != may {
			t.Errorf("%s: %v, want %v", line, got, may)
		}
	}
}
