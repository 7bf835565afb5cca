package list

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// generator writes the Rego of a list. Each rule begins with tests that OPA
// indexes (equality and startswith on members of the effect), so that even a
// long list costs only the rules that may fire.
type generator struct {
	text   strings.Builder
	places []place // places of the rules, in order
	at     place
	head   string    // head of the rules of the current entry
	exact  string    // head that also covers the guarded tags of an exactly named effect
	max    int       // of the text, in bytes
	folded [3]string // the names of a used tool without regard to case
	where  body      // what all rules of the current entry test besides
}

// The names of a used tool, as rules see them and folded: by permd, or by the rules
// themselves. Only the first kind is indexed.
var (
	toolNames   = [3]string{"input.effect.server", "input.effect.tool", "input.effect.version"}
	foldedNames = [3]string{"input.effect.folded_server", "input.effect.folded_tool", "input.effect.folded_version"}
	foldsNames  = [3]string{folds("input.effect.server"), folds("input.effect.tool"), folds("input.effect.version")}
)

// folds returns the call that folds a name as pattern.FoldTool does.
func folds(name string) string {
	return "lower(upper(strings.replace_n(permd_list_folds, " + name + ")))"
}

// body is the body of a rule, one expression per line.
type body []string

func (b body) with(more ...string) body { return slices.Concat(b, more) }

// generate returns the Rego text of a list and the place of each of its rules.
func generate(layer, file string, entries []Entry, kind kindOfList, folded [3]string) (string, []place, error) {
	g := &generator{max: maxRegoBytes, folded: folded}
	if kind.project {
		g.max = maxProjectRegoBytes
	}
	fmt.Fprintf(&g.text, "package permd.%s\n\nimport rego.v2\n", layer)
	touches := func(e Entry) bool { return e.Set != decisions.SetAllow && e.Kind == effects.KindUse }
	if slices.ContainsFunc(entries, touches) {
		g.tools(slices.ContainsFunc(entries, func(e Entry) bool {
			return touches(e) && e.Pattern.Tool != nil && isVersioned(e.Pattern.Tool)
		}))
	}
	if kind.allows && slices.ContainsFunc(entries, func(e Entry) bool {
		return e.Set == decisions.SetAllow && e.Kind == effects.KindRun
	}) {
		g.defaults()
	}
	for _, e := range entries {
		if e.Set == decisions.SetAllow && (!kind.allows || kind.project && !e.ProjectMayAllow()) {
			continue
		}
		fmt.Fprintf(&g.text, "\n# %s:%d %s %s: %s\n", file, e.Line, e.Set, e.Kind, e.Pattern)
		g.entry(&e, kind.project)
		if g.full() {
			return "", nil, &Error{file: file, Line: e.Line, fix: "name folders above, or write a Rego rule over data",
				Err: fmt.Errorf("the entries up to here become more than %d MiB of rules", g.max>>20)}
		}
	}
	return g.text.String(), g.places, nil
}

// full reports whether the text is longer than it may be. What is added after that is left
// out, so that an entry of thousands of components does not fill memory.
func (g *generator) full() bool { return g.text.Len() > g.max }

// defaults writes what a run entry without conditions on standard input and
// folder may cover.
func (g *generator) defaults() {
	g.at = place{line: 1, column: 1}
	g.text.WriteString("\n# What a run entry covers without saying so: input that permd knows to be\n" +
		"# harmless, in the project or where the session began.\n")
	g.head = "permd_list_run"
	for _, stdin := range []body{
		{"input.effect.readonly == true"},
		{`input.effect.stdin in {"none", ""}`},
		{"input.effect.known == true", `input.effect.stdin != "network"`},
	} {
		g.rule(stdin.with("permd_list_here"))
	}
	g.head = "permd_list_here"
	g.rule(body{"tags := input.effect.tags", `not "outside" in tags`})
	g.rule(body{`input.effect.cwd != ""`, "input.effect.cwd == input.call.cwd"})
}

func (g *generator) entry(e *Entry, project bool) {
	g.at = place{e.Line, e.Column}
	if g.where = nil; e.Project != "" {
		g.where = body{is("input.project.root", e.Project)}
	}
	allow := e.Set == decisions.SetAllow
	if allow && e.Alone && e.Pattern.Tool != nil && !isVersioned(e.Pattern.Tool) {
		g.where = g.where.with(is("input.effect.version", ""))
	}
	reason, message := e.says(project)
	element := strconv.Quote(reason)
	members := `"reason": ` + element
	if message != "" {
		members += `, "message": ` + strconv.Quote(message)
		element = "{" + members + "}"
	}
	g.head = fmt.Sprintf("%s contains %s", e.Set, element)
	g.exact = g.head
	if allow && !project {
		g.exact = fmt.Sprintf("allow contains {%s, \"covers\": %s}", members, guardedNames())
	}
	switch p := e.Pattern; {
	case p.Run != nil && allow:
		g.allowRun(p.Run, e.Alone)
	case p.Run != nil:
		g.touchRun(p.Run)
	case p.Path != nil && allow:
		g.allowPath(e.Kind, p.Path)
	case p.Path != nil:
		g.touchPath(e.Kind, p.Path)
	case p.Host != nil:
		g.host(p.Host, allow)
	case p.Tool != nil:
		g.tool(p.Tool, allow)
	}
}

// guardedNames lists the tags that only an exact line covers, as a Rego array.
func guardedNames() string {
	var all, guarded effects.Tags
	for _, t := range effects.AllTags() {
		all = all.With(t)
	}
	for _, k := range effects.Kinds {
		guarded |= (&effects.Effect{Kind: k, Tags: all}).Guarded()
	}
	return `["` + strings.Join(guarded.Names(), `", "`) + `"]`
}

func (g *generator) rule(b body) { g.ruleAs(g.head, b) }

func (g *generator) ruleAs(head string, b body) {
	if g.full() {
		return
	}
	g.places = append(g.places, g.at)
	fmt.Fprintf(&g.text, "\n%s if {\n\t%s\n}\n", head, strings.Join(b.with(g.where...), "\n\t"))
}

func kindIs(k effects.Kind) string { return is("input.effect.kind", string(k)) }

func is(ref, text string) string { return ref + " == " + strconv.Quote(text) }

func begins(ref, prefix string) string {
	return fmt.Sprintf("startswith(%s, %s)", ref, strconv.Quote(prefix))
}

func matches(ref, re string) string {
	return fmt.Sprintf("regex.match(%s, %s)", strconv.Quote("(?s)^"+re+"$"), ref)
}

// allowRun writes the rules of an allowing run entry: for the run, and unless alone is set
// for the effects of the words that the entry spells out.
func (g *generator) allowRun(r *pattern.Run, alone bool) {
	run := body{kindIs(effects.KindRun)}
	for _, program := range programIs("input.effect", r, true) {
		b := run.with(program...).with(wordsAre("input.effect.args", "input.effect.harmful", r)...)
		if r.Rest {
			b = b.with(restTest(r)...)
			if r.ByPath() {
				b = b.with("input.effect.known == true")
			}
		}
		g.rule(b.with("permd_list_run"))
	}
	if alone {
		return
	}

	var absolute, relative []string
	for _, w := range r.Words {
		switch word, _ := w.Literal(); {
		case word == "" || slices.Contains(absolute, word) || slices.Contains(relative, word):
		case strings.HasPrefix(word, "/"):
			absolute = append(absolute, word)
		default:
			relative = append(relative, word)
		}
	}
	for _, program := range programIs("input.effect.by", r, false) {
		derived := func(kinds []string, arg string, more ...string) body {
			b := body{"input.effect.kind in " + setOf(kinds)}.with(program...).with(arg)
			b = b.with(wordsAre("input.effect.by.args", "", r)...)
			if !r.Literal() {
				// The same text in another position may mean something else.
				b = b.with("count([1 | some word in input.effect.by.args; word == input.effect.by.arg]) == 1")
			}
			return b.with(more...)
		}
		if relative != nil {
			g.rule(derived([]string{"run", "read", "write", "delete"}, "input.effect.by.arg in "+setOf(relative),
				"tags := input.effect.tags", `not "outside" in tags`))
		}
		if absolute != nil {
			g.rule(derived([]string{"run"}, "input.effect.by.arg in "+setOf(absolute)))
			g.ruleAs(g.exact, derived([]string{"read", "write", "delete"}, "input.effect.by.arg in "+setOf(absolute)))
		}
		for _, word := range slices.Concat(relative, absolute) {
			g.rule(derived([]string{"connect"}, is("input.effect.by.arg", word),
				`input.effect.host != ""`, fmt.Sprintf("contains(%s, input.effect.host)", strconv.Quote(word))))
		}
	}
}

// setOf returns a Rego set of texts.
func setOf(texts []string) string {
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = strconv.Quote(s)
	}
	return "{" + strings.Join(quoted, ", ") + "}"
}

// programIs returns the tests for a program being the entry's. run says that
// ref is a run effect, which has an executable and a folder.
func programIs(ref string, r *pattern.Run, run bool) []body {
	program := ref + ".program"
	concat := func(root, rest string) string {
		return fmt.Sprintf("%s == concat(\"/\", [%s, %s])", program, root, strconv.Quote(rest))
	}
	rest := r.Program
	switch {
	case !strings.Contains(r.Program, "/"):
		return []body{{is(program, r.Program)}}
	case strings.HasPrefix(r.Program, "/"):
		ways := []body{{is(program, r.Program)}}
		if run {
			ways = append(ways, body{is(ref+".executable", r.Program)})
		}
		return ways
	case strings.HasPrefix(r.Program, "~/"):
		rest = strings.TrimPrefix(rest, "~/")
		return []body{{`input.user.home != ""`, concat("input.user.home", rest)}}
	}
	rest = strings.TrimPrefix(rest, "./")
	return []body{{`input.project.root != ""`, concat("input.project.root", rest)}}
}

// wordsAre tests the words after the program, as required for an allow. harmful refers to the
// indexes of the words that are not known to be harmless; it is "" for the words of the run that
// an effect comes from, which is allowed by itself.
func wordsAre(args, harmful string, r *pattern.Run) body {
	exact := make([]string, len(r.Words))
	literal := true
	for i, w := range r.Words {
		lit, ok := w.Literal()
		exact[i] = strconv.Quote(lit)
		literal = literal && ok
	}
	if literal && !r.Rest {
		return body{args + " == [" + strings.Join(exact, ", ") + "]"}
	}
	var b body
	for i, w := range r.Words {
		word := fmt.Sprintf("%s[%d]", args, i)
		if _, ok := w.Literal(); ok {
			b = append(b, word+" == "+exact[i])
			continue
		}
		slippery := `[\x00-\x1f\x7f]|(?:^|/)\.\.(?:/|$)`
		if !strings.HasPrefix(w.Prefix(), "-") {
			slippery += "|^-"
		}
		b = append(b, globIs(word, w, "[^/]*")...)
		b = append(b, fmt.Sprintf("not regex.match(%s, %s)", strconv.Quote(slippery), word))
		if meant := w.MeantForShell(); harmful != "" && meant != "" {
			code := "[" + regexp.QuoteMeta(meant) + "]"
			b = append(b, fmt.Sprintf("count([1 | %d in %s; regex.match(%s, %s)]) == 0", i, harmful, strconv.Quote(code), word))
		}
	}
	return b.with(wordCount(args, r)...)
}

func wordCount(args string, r *pattern.Run) body {
	if r.Rest {
		return nil
	}
	return body{fmt.Sprintf("count(%s) == %d", args, len(r.Words))}
}

// globIs tests a text against a glob with a star.
func globIs(ref string, glob pattern.Glob, star string) body {
	var b body
	if glob.Prefix() != "" {
		b = append(b, begins(ref, glob.Prefix()))
	}
	return b.with(matches(ref, glob.Regexp(star)))
}

func (g *generator) host(h *pattern.Host, allow bool) {
	if h.Loopback() && !allow {
		g.hostAs(h, allow, `"loopback" in input.effect.tags`)
	}
	if h.Below {
		g.hostAs(h, allow, fmt.Sprintf("endswith(input.effect.host, %s)", strconv.Quote("."+h.Name)))
	} else {
		g.hostAs(h, allow, is("input.effect.host", h.Name))
	}
}

// hostAs writes the rules of a host entry with one test of the name.
func (g *generator) hostAs(h *pattern.Host, allow bool, name string) {
	b := body{kindIs(effects.KindConnect), name}
	head := g.exact
	if h.Below {
		head = g.head
	}
	if h.Port != 0 {
		b = b.with(fmt.Sprintf("input.effect.port == %d", h.Port))
	}
	switch {
	case h.Scheme != "" && allow:
		g.ruleAs(head, b.with(is("input.effect.scheme", h.Scheme)))
	case h.Scheme != "":
		g.ruleAs(head, b.with("input.effect.scheme in "+setOf([]string{h.Scheme, ""})))
	case h.Port == 0 && allow:
		g.ruleAs(head, b.with("input.effect.scheme in "+setOf(pattern.WebSchemes)))
		ports := make([]string, len(pattern.WebPorts))
		for i, port := range pattern.WebPorts {
			ports[i] = strconv.Itoa(port)
		}
		g.ruleAs(head, b.with(is("input.effect.scheme", ""), "input.effect.port in {"+strings.Join(ports, ", ")+"}"))
	default:
		g.ruleAs(head, b)
	}
}
