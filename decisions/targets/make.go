package targets

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/wordset"
)

// What make runs is known only of a makefile that is plain: assignments, rules, conditionals
// and includes by name, whose text is all that make reads. A function that reads (shell, file,
// wildcard), builds more makefile (eval, call), or a file from which make would make a
// makefile or a target anew by its built-in rules means that other files decide, too. What
// follows is from the manual of GNU make 4.4 and its order of reading a line.

// makefile is a makefile with what it includes, as it is read.
type makefile struct {
	rd *reading
	// names are the makefiles as they are named, in the order of reading.
	names []string
	// values are the variables that have one literal value; assigned are all that have any,
	// given those of the call, which win.
	values          map[string]string
	assigned, given map[string]bool
	// rules are the targets that have a rule, prerequisites what they are made of.
	rules         map[string]*makeRule
	prerequisites []string
	patterns      []string // targets with a %
	phonies       []string
	goals         []string // of runs of make in recipes
	goal          string   // that is taken if none is named
	oneShell      bool

	// recipe are the rules that a line with a tab belongs to, valid if inRule.
	recipe []*makeRule
	inRule bool
	conds  []makeCond
}

type makeRule struct{ hasRecipe bool }

// makeCond is a conditional that is open: whether a recipe may follow depends on it if not
// all of its branches end as it began.
type makeCond struct{ inRule, unsure bool }

var (
	makeAssignment = lazy.Regexp(`^((?:export|override)[ \t]+)*([A-Za-z_.][A-Za-z0-9_.-]*)[ \t]*(=|::?:?=|\?=|\+=)[ \t]*(.*)$`)
	makeName       = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_./+@-]*$|^\.{1,2}/[A-Za-z0-9_./+@-]+$`)
	makePattern    = lazy.Regexp(`^[A-Za-z0-9_/-]*%\.[A-Za-z0-9_]+$`)
	// makeAgain matches what may start make, or change what such a make reads.
	makeAgain   = lazy.Regexp(`(?:^|[^A-Za-z0-9_.-])g?make(?:[^A-Za-z0-9_-]|$)|[({$]MAKE\b|MAKEFILES|MAKEFLAGS|MFLAGS`)
	makeSame    = lazy.Regexp(`^[-@+ \t]*(?:\$\(MAKE\)|\$\{MAKE\})((?:[ \t]+(?:--no-print-directory|-s))*)((?:[ \t]+[A-Za-z0-9_][A-Za-z0-9_.-]*)+)[ \t]*$`)
	makeEchoes  = lazy.Regexp("^[-@+ \t]*(?:echo|printf)[ \t][^`$;|&<>]*$")
	changesCwd  = lazy.Regexp(`(?:^|[^A-Za-z0-9_.-])(?:cd|pushd|popd|chdir|env|export|eval)(?:[^A-Za-z0-9_.-]|$)|[({` + "`" + `]`)
	makeFlag    = lazy.Regexp(`^(?:--no-print-directory|--no-builtin-rules|--no-builtin-variables|--warn-undefined-variables|--silent|-[rRsk]+|-j\d*)$`)
	makeShells  = lazy.Regexp(`^(?:/usr/bin/env |/usr/bin/|/bin/|/usr/local/bin/)?(?:ba|da|z|k)?sh$`)
	shellFlags  = lazy.Regexp(`^(?:-[a-zA-Z]+|pipefail)$`)
	makeSpecial = wordset.Fields(`.PHONY .SILENT .ONESHELL .NOTPARALLEL .DELETE_ON_ERROR .SECONDARY .PRECIOUS .INTERMEDIATE .EXPORT_ALL_VARIABLES .IGNORE .POSIX`)
)

// notPlainMake begins why a makefile is not understood.
const notPlainMake = "the makefile is not plain: "

// bindMake binds a run of make to its makefile and what that includes.
func bindMake(rd *reading, file string) *effects.Script {
	m := &makefile{
		rd: rd, names: []string{path.Base(file)}, values: map[string]string{}, assigned: map[string]bool{}, given: map[string]bool{},
		rules: map[string]*makeRule{},
	}
	goals := m.words()
	var own, all []byte
	for i := 0; i < len(m.names) && rd.goesOn(); i++ {
		text, there := rd.read(InFolder(rd.cwd(), m.names[i]))
		switch {
		case i == 0 && !there:
			rd.fail("there is no makefile")
		case i == 0:
			own, all = text, slices.Clip(text)
		default:
			all = appendFile(all, m.names[i], text, there)
		}
		if len(m.names) > maxIncluded || len(all) > maxTargets {
			rd.fail("the makefile includes too much")
			break
		}
		m.read(string(text))
		if len(m.conds) > 0 {
			m.notPlain("a conditional has no end")
		}
		m.inRule = false
	}
	m.check(goals)
	if rd.why != "" {
		return nil
	}
	s := sum(file, all)
	s.What, s.Text = recipePiece(rd.run, string(own))
	return s
}

func (m *makefile) notPlain(what string) { m.rd.fail(notPlainMake + what) }

// words reads the words of the run: its goals, and variables, which win over those of the
// makefile.
func (m *makefile) words() (goals []string) {
	operands := m.rd.run.Operands
	for _, w := range m.rd.run.Args {
		name, value, ok := strings.Cut(w, "=")
		switch {
		case strings.HasPrefix(w, "-"):
		case !ok:
			if operands == nil && strings.Trim(w, "0123456789") != "" {
				goals = append(goals, w)
			}
		case strings.HasSuffix(name, "!") || strings.Contains(value, "$") || makeAgain().MatchString(value) || specialVariable(strings.TrimRight(name, ":+?")):
			m.rd.fail("a variable in its words may change what it reads")
		default:
			name = strings.TrimRight(name, ":+?")
			m.values[name], m.given[name] = value, true
		}
	}
	for _, w := range operands {
		if !strings.Contains(w, "=") && strings.Trim(w, "0123456789") != "" {
			goals = append(goals, w)
		}
	}
	return goals
}

// specialVariable reports whether a variable says what make reads, or how it runs recipes.
func specialVariable(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "MAKE") || strings.HasPrefix(name, "GNUMAKE") ||
		slices.Contains([]string{"SHELL", "VPATH", "GPATH", "MFLAGS", "SUFFIXES", "CURDIR"}, name)
}

// read reads the text of a makefile.
func (m *makefile) read(text string) {
	if strings.ContainsAny(text, "\r\x00") {
		m.notPlain("an odd character")
		return
	}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines) && m.rd.goesOn(); i++ {
		line := lines[i]
		for strings.HasSuffix(line, "\\") {
			if strings.HasSuffix(line, `\\`) || i+1 == len(lines) {
				m.notPlain("backslashes at the end of a line")
				return
			}
			i++
			line = line[:len(line)-1] + " " + lines[i]
		}
		if strings.HasPrefix(line, "\t") {
			m.readRecipe(line[1:])
			continue
		}
		if before, _, found := strings.Cut(line, "#"); found {
			if line = before; strings.HasSuffix(before, `\`) {
				m.notPlain("an escaped comment")
				return
			}
		}
		if line = strings.Trim(line, " \t"); line != "" {
			m.readLine(line)
		}
	}
}

// readLine reads a line that is no recipe.
func (m *makefile) readLine(line string) {
	if a := makeAssignment().FindStringSubmatch(line); a != nil {
		m.inRule = false
		m.assign(a[2], a[3], a[4])
		return
	}
	word, rest, _ := strings.Cut(strings.Replace(line, "\t", " ", 1), " ")
	switch rest = strings.Trim(rest, " \t"); word {
	case "define", "endef", "undefine", "override", "private", "vpath", "load", "-load":
		m.notPlain("not understood: " + clipped(line))
	case "ifeq", "ifneq", "ifdef", "ifndef":
		m.checkText(rest)
		m.conds = append(m.conds, makeCond{inRule: m.inRule})
	case "else", "endif":
		m.branch(word, rest)
	case "include", "-include", "sinclude":
		m.inRule = false
		for name := range strings.FieldsSeq(rest) {
			if !makeName().MatchString(name) && !path.IsAbs(name) || strings.ContainsAny(name, "$*?[~\\%") {
				m.notPlain("it includes files by names that only make knows")
			}
			if !slices.Contains(m.names, name) {
				m.names = append(m.names, name)
			}
		}
	case "export", "unexport":
		m.inRule = false
		for name := range strings.FieldsSeq(rest) {
			if !plainWord().MatchString(name) || specialVariable(name) {
				m.notPlain("it exports " + name)
			}
		}
	default:
		m.readRule(line)
	}
}

var plainWord = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// branch reads else and endif.
func (m *makefile) branch(word, rest string) {
	if len(m.conds) == 0 {
		m.notPlain(word + " without a conditional")
		return
	}
	m.checkText(rest)
	c := &m.conds[len(m.conds)-1]
	c.unsure = c.unsure || m.inRule != c.inRule
	if m.inRule = c.inRule; word == "endif" {
		m.inRule = m.inRule && !c.unsure
		m.conds = m.conds[:len(m.conds)-1]
	}
}

// assign reads an assignment.
func (m *makefile) assign(name, operator, value string) {
	m.checkText(value)
	switch {
	case name == "SHELL":
		if !makeShells().MatchString(value) {
			m.notPlain("it sets SHELL")
		}
	case name == ".SHELLFLAGS", name == "MAKEFLAGS":
		for flag := range strings.FieldsSeq(value) {
			if name == "MAKEFLAGS" && !makeFlag().MatchString(flag) || name != "MAKEFLAGS" && !shellFlags().MatchString(flag) {
				m.notPlain("it sets " + name)
			}
		}
	case name == ".DEFAULT_GOAL":
		m.goal = value
	case specialVariable(name):
		m.notPlain("it sets " + name)
	case makeAgain().MatchString(strings.ReplaceAll(value, "$(MAKEFILE_LIST)", "")):
		m.notPlain("a variable runs make")
	}
	if m.given[name] {
		return
	}
	literal, ok := m.literal(value)
	if delete(m.values, name); ok && !m.assigned[name] && operator != "+=" && len(m.conds) == 0 {
		m.values[name] = literal
	}
	m.assigned[name] = true
}

// readRule reads a rule, or a variable of a target.
func (m *makefile) readRule(line string) {
	left, rest, found := strings.Cut(line, ":")
	if !found || strings.HasPrefix(rest, ":") {
		m.notPlain("not understood: " + clipped(line))
		return
	}
	names, ok := m.literal(left)
	if !ok {
		m.notPlain("a target that only make knows: " + clipped(left))
		return
	}
	targets := strings.Fields(names)
	rest = strings.Trim(rest, " \t")
	if a := makeAssignment().FindStringSubmatch(strings.TrimPrefix(rest, "private ")); a != nil {
		m.inRule = false
		m.assign(a[2], a[3], a[4])
		delete(m.values, a[2])
		return
	}
	prerequisites, command, hasCommand := strings.Cut(rest, ";")
	m.inRule, m.recipe = true, nil
	list, ok := m.literal(prerequisites)
	if !ok {
		m.notPlain("prerequisites that only make knows: " + clipped(prerequisites))
		return
	}
	special := ""
	for _, name := range targets {
		if strings.HasPrefix(name, ".") && !strings.Contains(name, "/") {
			if special = name; !makeSpecial.Has(name) && (name != ".SUFFIXES" || strings.TrimSpace(list) != "") {
				m.notPlain("the special target " + clipped(name))
			}
			m.oneShell = m.oneShell || name == ".ONESHELL"
			continue
		}
		m.addTarget(name)
	}
	for name := range strings.FieldsSeq(list) {
		switch {
		case name == "|":
		case special == ".PHONY":
			m.phony(name)
		case strings.Contains(name, "%") && len(m.recipe) == 0:
		case !makeName().MatchString(name) && !path.IsAbs(name) || strings.ContainsAny(name, "*?[~"):
			m.notPlain("the prerequisite " + clipped(name))
		case special == "":
			m.prerequisites = append(m.prerequisites, name)
		}
	}
	if hasCommand {
		m.readRecipe(command)
	}
}

// addTarget adds a target of a rule.
func (m *makefile) addTarget(name string) {
	switch {
	case makePattern().MatchString(name):
		m.patterns = append(m.patterns, name)
		return
	case !makeName().MatchString(name):
		m.notPlain("the target " + clipped(name))
	case m.goal == "":
		m.goal = name
	}
	m.recipe = append(m.recipe, m.rule(name))
}

// phony notes that a target is no file, which adds no rule for it.
func (m *makefile) phony(name string) {
	if len(m.conds) == 0 {
		m.phonies = append(m.phonies, name)
	}
}

func (m *makefile) rule(name string) *makeRule {
	r := m.rules[name]
	if r == nil {
		r = &makeRule{}
		m.rules[name] = r
	}
	return r
}
