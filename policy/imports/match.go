package imports

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// area is the kind of thing a rule of a tool is about.
type area uint8

const (
	anyArea area = iota // every tool
	runArea             // commands
	readArea
	editArea
	deleteArea
	fetchArea
	toolArea // named tools, of servers or of the agent
)

// match is what a rule of a tool matches, in three forms: lines of a list,
// conditions in Rego, and a function used for comparing.
type match struct {
	area area
	all  bool // everything of the area
	// lines are the list lines for it.
	lines []line
	// exact is set if the lines cover at least everything the tool matches, so
	// that they suffice for a deny.
	exact bool
	// narrow describes how the lines cover less than the tool does, "" if they
	// do not.
	narrow string
	// bodies are Rego conditions that match what the tool matches, or more; any
	// one of them suffices. textsName and lineName are placeholders for the
	// helpers.
	bodies []string
	// untranslatable is the reason why there are no lines.
	untranslatable *untranslatable
	// separateQuestion names a separate question that the tool asks in addition: only
	// rules about the same one are exceptions.
	separateQuestion string
	decides          func(*Item) bool
}

type line struct {
	kind effects.Kind
	text string
}

// untranslatable is the reason why something cannot be expressed.
type untranslatable struct {
	reason       Reason
	why, instead string
}

// Item is one thing that a tool decides about: a command of a command line, a
// file, an address, a tool.
type Item struct {
	area area
	// text is the single command, Line the whole line.
	text, line string
	path       string // absolute
	project    string // root of the project
	home       string
	url, host  string
	server     string
	tool       string
}

// Names of the Rego helpers in bodies, replaced when they are written.
const (
	textsName = "imported_texts"
	lineName  = "imported_line"
	// writtenName replaces textsName in exceptions: an exception does not cover
	// a copy of a program in another folder.
	writtenName = "imported_written"
)

func kindIs(k effects.Kind) string { return `input.effect.kind == "` + string(k) + `"` }

func body(conditions ...string) string { return strings.Join(conditions, "\n\t") }

func regoText(re, ref string) string {
	return fmt.Sprintf("regex.match(%s, %s)", quote(re), ref)
}

// quote returns a string literal that Rego, YAML and JSON read alike.
func quote(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // not UTF-8: it matches nothing
		b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return string(b)
}

// unreadable is a pattern that permd cannot read but the tool perhaps can: an allow
// of it is left out, and a deny asks about everything of the area.
func unreadable(a area, err error) match {
	return match{area: a, bodies: allBodies(a, false), decides: func(*Item) bool { return false },
		untranslatable: &untranslatable{Unreadable, "permd cannot read the expression: " + err.Error(), "write an entry for each thing that you mean"}}
}

// wholeArea returns the match of a whole area.
func wholeArea(a area) match {
	return match{area: a, all: true, decides: func(i *Item) bool { return a == anyArea || i.area == a }}
}

// allBodies returns the conditions for everything of an area. With exceptions
// only what a tool itself does counts: the tool decides about the files and
// hosts of a command by the command's rule.
func allBodies(a area, excepted bool) []string {
	const plain = "input.effect.shell == false"
	switch a {
	case runArea:
		if excepted {
			return []string{kindIs(effects.KindRun)}
		}
		return []string{kindIs(effects.KindRun), "input.effect.shell == true"}
	case readArea:
		return []string{body(kindIs(effects.KindRead), plain)}
	case editArea:
		return []string{body(`input.effect.kind in {"write", "delete"}`, plain)}
	case deleteArea:
		return []string{body(kindIs(effects.KindDelete), plain)}
	case fetchArea:
		return []string{body(kindIs(effects.KindConnect), plain)}
	case toolArea:
		return []string{body(kindIs(effects.KindUse), `input.effect.server != ""`)}
	case anyArea:
	}
	if !excepted {
		return []string{`input.effect.kind != ""`}
	}
	return []string{kindIs(effects.KindRun), kindIs(effects.KindUse),
		body(`input.effect.kind in {"read", "write", "delete", "connect"}`, plain)}
}

// runs returns the match of commands by a regular expression over their text,
// with the equivalent list lines. wide is set if the expression also covers the
// operators between commands.
func runs(re string, wide bool, lines []string, exact bool) match {
	m := match{area: runArea, exact: exact}
	for _, l := range lines {
		m.lines = append(m.lines, line{effects.KindRun, l})
	}
	if re == "" {
		return m
	}
	compiled, err := regexp.Compile(re)
	if err != nil {
		return unreadable(runArea, err)
	}
	m.bodies = []string{body(kindIs(effects.KindRun), "some text in "+textsName, regoText(re, "text"))}
	if wide {
		m.bodies = append(m.bodies, body("input.effect.shell == true", regoText(re, lineName)))
	}
	m.decides = func(i *Item) bool {
		return i.area == runArea && (compiled.MatchString(i.text) || wide && compiled.MatchString(i.line))
	}
	return m
}

// operators separate commands: a pattern with one of them never matches a
// single command.
const operators = "|&;<>$`\n"

// runGlob is a command pattern in which * matches any text. A final " *" also
// matches the empty text.
func runGlob(glob string) match {
	re := "(?s)^" + globRegexp(glob) + "$"
	if head, ok := strings.CutSuffix(glob, " *"); ok {
		re = "(?s)^" + globRegexp(head) + `(\s.*)?$`
	}
	wide := strings.ContainsAny(glob, operators)
	if strings.Contains(glob, "?") {
		m := runs(re, wide, nil, false)
		m.untranslatable = &untranslatable{NoPattern, "a list has no ?", "write the words out"}
		return m
	}
	if strings.Trim(glob, "* ") == "" {
		return wholeArea(runArea)
	}
	head, open := strings.CutSuffix(glob, "*")
	bounded := strings.HasSuffix(head, " ")
	switch {
	case !strings.Contains(glob, "*"):
		return runs(re, wide, []string{glob}, true)
	case open && bounded && !strings.Contains(head, "*"):
		return runs(re, wide, []string{glob}, true)
	case open && !bounded && !strings.Contains(head, "*"):
		// The last word may continue, or more words may follow it.
		m := runs(re, wide, []string{head + " *"}, false)
		m.narrow = fmt.Sprintf("the pattern ends within a word: %q and what goes on like it are not covered, only the word itself", head+"…")
		return m
	}
	m := runs(re, wide, []string{glob}, false)
	if strings.Contains(strings.TrimSuffix(glob, " *"), "*") {
		m.narrow = "a * in the middle stands for a part of one word, and for no option"
	}
	return m
}

// globRegexp returns a regular expression for text in which * matches any
// characters and ? one.
func globRegexp(glob string) string {
	var b strings.Builder
	for _, c := range glob {
		switch c {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return b.String()
}

// runPrefix is a command that begins with these words.
func runPrefix(words string) match {
	return runs("(?s)^"+regexp.QuoteMeta(words)+`(\s|$)`, strings.ContainsAny(words, operators), []string{words + " *"}, true)
}

// hosts returns the match of addresses by host.
func hosts(lines []string, exact bool, re string) match {
	m := match{area: fetchArea, exact: exact}
	for _, l := range lines {
		m.lines = append(m.lines, line{effects.KindConnect, l})
	}
	compiled, err := regexp.Compile(re)
	if err != nil {
		m.untranslatable = &untranslatable{Broken, "the pattern is no regular expression: " + err.Error(), ""}
		m.decides = func(*Item) bool { return false }
		return m
	}
	m.decides = func(i *Item) bool {
		return i.area == fetchArea && (compiled.MatchString(i.host) || compiled.MatchString(i.url))
	}
	m.bodies = []string{
		body(kindIs(effects.KindConnect), regoText(re, "input.effect.url")),
		body(kindIs(effects.KindConnect), regoText(re, "input.effect.host")),
	}
	return m
}

// tool returns the match of a named tool; an empty server means the agent's
// own.
func tool(server, name string) match {
	m := match{area: toolArea, exact: true}
	text := name
	if server != "" {
		text = server + ":" + name
	}
	m.lines = []line{{effects.KindUse, text}}
	conditions := []string{kindIs(effects.KindUse)}
	test := func(ref, glob string) {
		if strings.Contains(glob, "*") {
			conditions = append(conditions, regoText("(?s)^"+globRegexp(glob)+"$", ref))
		} else {
			conditions = append(conditions, ref+" == "+quote(glob))
		}
	}
	test("input.effect.server", server)
	if server == "*" {
		conditions = append(conditions, `input.effect.server != ""`)
	}
	test("input.effect.tool", name)
	m.bodies = []string{body(conditions...)}
	m.decides = func(i *Item) bool {
		ok := func(glob, s string) bool { return pattern.Glob(strings.Split(glob, "*")).Match(s) }
		return i.area == toolArea && (server == "") == (i.server == "") && ok(server, i.server) && ok(name, i.tool)
	}
	return m
}

// inexpressible returns a match that no list can express, with the bodies of a wider
// one.
func inexpressible(wider match, reason Reason, instead, format string, args ...any) match {
	wider.lines, wider.exact = nil, false
	wider.untranslatable = &untranslatable{reason, fmt.Sprintf(format, args...), instead}
	return wider
}

// joinPattern joins a folder of a settings file with a pattern, in the form of a path
// line.
func joinPattern(folder, rest string) string { return strings.TrimPrefix(path.Join(folder, rest), "/") }

func anyOf(a, b func(*Item) bool) func(*Item) bool {
	return func(i *Item) bool { return a(i) || b(i) }
}

// matchNames are the names that a pattern of names matches, when it is one.
func matchNames(glob string, names ...string) (found []string) {
	if !strings.Contains(glob, "*") {
		return nil
	}
	for _, n := range names {
		if pattern.Glob(strings.Split(glob, "*")).Match(n) {
			found = append(found, n)
		}
	}
	return found
}
