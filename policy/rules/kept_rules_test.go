package rules

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

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
