package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

func TestCompileRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		line       int // of the first error
		want       string
	}{
		{"other layer's package", "package permd.org\ndeny contains \"x\" if true", 1, "must be in package permd.user"},
		{"no package of ours", "package main\ndeny contains \"x\" if true", 1, "must be in package permd.user"},
		{"package of a longer name", "package permd.username\ndeny contains \"x\" if true", 1, "must be in package permd.user"},
		{"syntax", "deny contains \"x\" if {", 3, ""},
		{"v0 syntax", "deny[\"x\"] { true }", 3, ""},
		{"misspelt field", "deny contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.programm == \"rm\"\n}", 5, "programm"},
		{"misspelt part", `deny contains "x" if input.efect.kind == "run"`, 3, "efect"},
		{"misspelt by an import", "import input.effect as e\ndeny contains \"x\" if e.programm == \"rm\"", 4, "programm"},
		{"array taken for a string", `deny contains "x" if startswith(input.effect.args, "-")`, 3, ""},
		{"kind that does not exist", `deny contains "x" if input.effect.kind == "exec"`, 3, `never "exec"`},
		{"kind the other way round", `deny contains "x" if "exec" == input.effect.kind`, 3, `never "exec"`},
		{"kind in a set", `deny contains "x" if input.effect.kind in {"run", "exec"}`, 3, `never "exec"`},
		{"kind by an import", "import input.effect as e\ndeny contains \"x\" if e.kind == \"exec\"", 4, `never "exec"`},
		{"kind negated", `allow contains "x" if input.effect.kind != "exec"`, 3, `never "exec"`},
		{"tag that does not exist", `deny contains "x" if "secrets" in input.effect.tags`, 3, `never "secrets"`},
		{"tag by index", `deny contains "x" if input.effect.tags[_] == "secrets"`, 3, `never "secrets"`},
		{"tag of the call", `deny contains "x" if "secrets" in input.call.tags`, 3, `never "secrets"`},
		{"method that does not exist", `deny contains "x" if input.effect.method == "POST"`, 3, `never "POST"`},
		{"field of another kind", "deny contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.path == \"/x\"\n}", 5, "kind run has no field path"},
		{"field of other kinds", "deny contains \"x\" if {\n\tinput.effect.kind in {\"read\", \"write\"}\n\tinput.effect.program == \"x\"\n}", 5, "kind read or write has no field program"},
		{"deny if", `deny if input.effect.kind == "run"`, 3, "needs contains"},
		{"deny with a value", `deny := "x" if input.effect.kind == "run"`, 3, "needs contains"},
		{"default", `default allow := true`, 3, "no default"},
		{"function", `deny(x) := x if x == 1`, 3, "not a function"},
		{"object by reference", `deny["id"] := "x" if input.effect.kind == "run"`, 3, "not an object"},
		{"object of sets", `deny.id contains "x" if input.effect.kind == "run"`, 3, "not an object"},
		{"reserved name", `permd__fired contains 1 if input.effect.kind == "run"`, 3, "permd's own"},
		{"delimiters", `deny contains "x" if glob.match("a-*", ["-"], input.effect.program)`, 3, "delimiters"},
		{"delimiters null", `deny contains "x" if glob.match("a*", null, input.effect.program)`, 3, "delimiters"},
		{"delimiters more", `deny contains "x" if glob.match("a*", ["/", "."], input.effect.program)`, 3, "delimiters"},
		{"glob from the input", `deny contains "x" if glob.match(input.effect.given, ["/"], input.effect.path)`, 3, "come from the input"},
		{"regex from the input by a variable", "deny contains \"x\" if {\n\tp := concat(\"\", [\"^\", input.effect.program])\n\tregex.match(p, \"x\")\n}", 5, "come from the input"},
		{"regex from the input by a rule", "p := input.effect.program\ndeny contains \"x\" if regex.match(p, \"x\")", 4, "come from the input"},
		{"regex from the input by a function", "f(p) if regex.match(p, \"x\")\ndeny contains \"x\" if f(input.effect.program)", 4, "come from the input"},
		{"data that nothing defines", `deny contains "x" if input.effect.program in data.blocked`, 3, "data.blocked is defined nowhere"},
		{"rule that nothing defines", `deny contains "x" if input.effect.program in data.permd.user.blocked`, 3, "blocked is defined nowhere"},
		{"rule of another layer", `allow contains "x" if not "y" in data.permd.org.deny`, 3, "permd.org is defined nowhere"},
		{"unused variable", "deny contains \"x\" if {\n\ty := input.effect.kind\n}", 4, "unused"},
		{"no reason", `deny contains "" if input.effect.kind == "run"`, 3, "without giving a reason"},
		{"number", `deny contains 1 if input.effect.kind == "run"`, 3, "neither a string nor an object"},
		{"unknown member", `deny contains {"reason": "x", "why": "y"} if input.effect.kind == "run"`, 3, `no member "why"`},
		{"unknown member beside a call", `deny contains {"reason": sprintf("%s", [input.effect.program]), "why": "y"} if input.effect.kind == "run"`, 3, `no member "why"`},
		{"deny that covers", `deny contains {"reason": "x", "covers": ["secret"]} if input.effect.kind == "run"`, 3, "only allow rules"},
		{"allow that is remembered", `allow contains {"reason": "x", "remember": true} if input.effect.kind == "run"`, 3, "only ask rules"},
		{"covers no guarded tag", `allow contains {"reason": "x", "covers": ["home"]} if input.effect.kind == "run"`, 3, "neither a guarded tag"},
		{"covers what is named alone, of all agents", "allow contains {\"reason\": \"x\", \"covers\": [\"incomplete\"]} if {\n\tinput.effect.kind == \"unknown\"\n\tinput.call.kind == \"read\"\n}", 3, "one agent and one kind"},
		{"of all kinds", "allow contains {\"reason\": \"x\", \"covers\": [\"incomplete\"]} if {\n\tinput.session.agent.name == \"a\"\n\tnot input.call.kind == \"think\"\n}", 3, "one agent and one kind"},
		{"covers no list", `allow contains {"reason": "x", "covers": "secret"} if input.effect.kind == "run"`, 3, "list of tags"},
		{"remember no boolean", `ask contains {"reason": "x", "remember": "no"} if input.effect.kind == "run"`, 3, "true or false"},
		{"id of two words", "# METADATA\n# custom:\n#   id: two words\ndeny contains \"x\" if input.effect.kind == \"run\"", 3, "one word"},
		{"one id in two sets", "# METADATA\n# custom:\n#   id: a\ndeny contains \"x\" if input.effect.kind == \"run\"\n\n" +
			"# METADATA\n# custom:\n#   id: a\nask contains \"x\" if input.effect.kind == \"run\"", 11, "used for rules of"},
		{"helper that takes a set's name", "package permd.user.deny\nimport rego.v2\nx := 1", 0, ""},
	}
	schema := testSchema(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, ps := Compile(unitOf(decisions.User, map[string]string{"a.rego": tt.text}), schema)
			errs := ps.Errors()
			if len(errs) == 0 || c != nil {
				t.Fatalf("compiled; problems %v", ps)
			}
			first := errs[0]
			for _, p := range errs {
				if tt.want != "" && strings.Contains(p.Text, tt.want) {
					first = p
					break
				}
			}
			if !strings.Contains(first.Text, tt.want) {
				t.Errorf("problems %v, want one with %q", errs, tt.want)
			}
			if tt.line > 0 && (first.Line != tt.line || first.File != "/p/a.rego") {
				t.Errorf("at %s:%d, want /p/a.rego:%d: %v", first.File, first.Line, tt.line, first)
			}
		})
	}
}

// Builtins that reach the world, differ from call to call, or cannot be stopped
// are refused wherever they are.
func TestCapabilities(t *testing.T) {
	calls := map[string]string{
		"http.send": `http.send({"method": "get", "url": "http://127.0.0.1"})`, "opa.runtime": `opa.runtime()`,
		"rand.intn": `rand.intn("x", 2)`, "uuid.rfc4122": `uuid.rfc4122("x")`, "time.now_ns": `time.now_ns()`,
		"net.lookup_ip_addr": `net.lookup_ip_addr("localhost")`, "bits.lsh": `bits.lsh(1, 100)`, "trace": `trace("x")`,
		"json.match_schema": `json.match_schema({}, {})`, "rego.parse_module": `rego.parse_module("a", "b")`,
		"regex.globs_match": `regex.globs_match("a", "b")`, "graphql.parse": `graphql.parse("a", "b")`,
		"crypto.x509.parse_certificates": `crypto.x509.parse_certificates("a")`, "io.jwt.decode": `io.jwt.decode("x")`,
		"numbers.range": `numbers.range(1, 1000000)`, "net.cidr_expand": `net.cidr_expand("10.0.0.0/8")`,
	}
	forms := map[string]string{
		"body":          `deny contains "x" if { input.effect.kind == "run"; %s }`,
		"head":          `deny contains sprintf("%%v", [%s]) if input.effect.kind == "run"`,
		"every":         `deny contains "x" if { every a in input.effect.args { a != ""; %s } }`,
		"comprehension": `deny contains "x" if { count([1 | input.effect.kind == "run"; %s]) > 0 }`,
		"negated":       `deny contains "x" if { input.effect.kind == "run"; not %s }`,
		"helper":        `h if %s` + "\n" + `deny contains "x" if h`,
	}
	schema := testSchema(t)
	for name, call := range calls {
		for form, text := range forms {
			u := unitOf(decisions.Org, map[string]string{"a.rego": fmt.Sprintf(text, call)})
			if _, ps := Compile(u, schema); !ps.Failed() {
				t.Errorf("%s in a %s compiled", name, form)
			}
		}
	}
	t.Run("as a replacement", func(t *testing.T) {
		u := unitOf(decisions.Org, map[string]string{"a.rego": `deny contains "x" if { h("a") with lower as opa.runtime }
h(x) if lower(x) == "a"`})
		if _, ps := Compile(u, schema); !ps.Failed() {
			t.Error("compiled")
		}
	})
}

func TestCompileAccepts(t *testing.T) {
	tests := []struct{ name, text string }{
		{"empty", ``},
		{"helpers only", `x := 1`},
		{"alias", "deny contains \"x\" if {\n\te := input.effect\n\te.kind == \"run\"\n\te.program == \"x\"\n}"},
		{"empty word", `deny contains "x" if input.effect.subcommand == ""`},
		{"glob of the policy", "p := [\"/a/*\", \"/b/*\"]\ndeny contains \"x\" if {\n\tsome q in p\n\tglob.match(q, [\"/\"], input.effect.path)\n}"},
		{"regex in a function", "f(p) if regex.match(p, input.effect.program)\ndeny contains \"x\" if f(\"^a\")"},
		{"v1 and its import", "package permd.user\nimport rego.v1\ndeny contains \"x\" if input.effect.kind == \"run\""},
		{"helper package", "package permd.user.lib\nimport rego.v2\nx := 1"},
		{"raw input", `deny contains "x" if input.call.raw.command == "x"`},
		{"one id for two rules of a set", "# METADATA\n# custom:\n#   id: a\ndeny contains \"x\" if input.effect.program == \"a\"\n\n" +
			"# METADATA\n# custom:\n#   id: a\ndeny contains \"x\" if input.effect.program == \"b\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, ps := Compile(unitOf(decisions.User, map[string]string{"a.rego": tt.text}), testSchema(t))
			if ps.Failed() || len(ps.Warnings()) > 0 {
				t.Error(ps)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	var slow, quick strings.Builder
	for i := range maxResidual + 1 {
		fmt.Fprintf(&slow, "deny contains \"r%d\" if {\n\tinput.effect.kind == \"run\"\n\tlower(input.effect.program) == \"p%d\"\n}\n", i, i)
		fmt.Fprintf(&quick, "deny contains \"r%d\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"p%d\"\n}\n", i, i)
	}
	tests := []struct{ name, text, want string }{
		{"many rules that nothing excludes", slow.String(), "17 rules have to be tried for each effect of kind run"},
		{"many rules that the index knows", quick.String(), ""},
		{"negation in v1", "package permd.user\nimport rego.v1\ndeny contains \"x\" if not input.effect.known", "not fails instead of holding"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := mustCompile(t, decisions.User, tt.text)
			switch {
			case tt.want == "" && len(c.Warnings) > 0:
				t.Errorf("warnings %v", c.Warnings)
			case tt.want != "" && (len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Text, tt.want)):
				t.Errorf("warnings %v, want one with %q", c.Warnings, tt.want)
			}
		})
	}
}

// A layer is evaluated only for kinds that one of its rules may fire for.
func TestSpeaks(t *testing.T) {
	c := mustCompile(t, decisions.User, `
deny contains "a" if input.effect.kind == "connect"
deny contains "b" if input.effect.program == "x"
deny contains "c" if input.effect.kind in {"mode", "question"}`)
	want := map[string]bool{"connect": true, "run": true, "mode": true, "question": true}
	for i, kind := range kindsForTest() {
		if c.mayFire[i] != want[kind] {
			t.Errorf("%s: %v", kind, c.mayFire[i])
		}
	}
}

func TestDisable(t *testing.T) {
	text := `
# METADATA
# custom:
#   id: a
deny contains "a" if input.effect.kind == "run"

# METADATA
# custom:
#   id: b
ask contains "b" if input.effect.kind == "run"
`
	u := unitOf(decisions.Base, map[string]string{"a.rego": text})
	u.Disable = []string{"a", "none"}
	c, ps := Compile(u, testSchema(t))
	if ps.Failed() || len(c.rules) != 1 || c.rules[0].ref.ID != "b" {
		t.Errorf("compiled %v %v", c, ps)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Text, `"none"`) {
		t.Errorf("warnings %v", c.Warnings)
	}
	u.Disable = []string{"a", "b"}
	if c, ps = Compile(u, testSchema(t)); ps.Failed() || len(c.rules) != 0 {
		t.Errorf("rules are left: %v %v", c, ps)
	}
}
