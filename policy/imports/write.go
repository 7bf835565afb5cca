package imports

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/decisions/pattern"
)

// entry is a line of rules.yaml with its origin.
type entry struct {
	set     decisions.Set
	kind    effects.Kind
	line    string
	from    string
	project string
}

// output collects the rules to write.
type output struct {
	entries []entry
	rego    strings.Builder
	rules   int // in rego
	id      string
	// projects are the projects that within refers to.
	projects []string
}

// write renders the rules to files.
func (t *translator) write() error {
	sum := sha256.New()
	for _, r := range t.rules {
		fmt.Fprintf(sum, "%s\x00%s\x00%s\x00", r.at, r.set, r.text)
	}
	out := &output{id: hex.EncodeToString(sum.Sum(nil))[:8]}
	for i := range t.rules {
		r := &t.rules[i]
		if r.set == decisions.SetAllow {
			t.allow(out, r)
		} else {
			t.restrict(out, r)
		}
	}
	t.im.rules = t.rules
	return t.files(out)
}

func (t *translator) outcome(r *rule, o Outcome, reason Reason, why, instead string) {
	if r.remark != "" {
		if why != "" {
			why += "; "
		}
		why += r.remark
	}
	t.note(Note{At: r.at, Text: r.text, Outcome: o, Reason: reason, Why: why, Instead: instead})
}

func (out *output) list(set decisions.Set, p *pattern.Pattern, r *rule) {
	p = relativeToSettings(p, r.project)
	e := entry{set, p.Kind, p.String(), fmt.Sprintf("%s: %s", r.at, r.text), r.project}
	if !slices.ContainsFunc(out.entries, func(o entry) bool {
		return o.set == set && o.kind == e.kind && o.line == e.line && (o.project == "" || o.project == e.project)
	}) {
		out.entries = append(out.entries, e)
	}
}

// relativeToSettings converts a path relative to the project's root to one relative to the
// settings' project, which may be inside the project that permd knows.
func relativeToSettings(p *pattern.Pattern, project string) *pattern.Pattern {
	if project == "" {
		return p
	}
	text := p.String()
	rest, ok := strings.CutPrefix(text, "./")
	if !ok || p.Path == nil && (p.Run == nil || strings.ContainsAny(project, " '\"\\*")) {
		return p
	}
	if p.Path != nil {
		project = escapePath.Replace(project)
	}
	if q, err := pattern.Parse(p.Kind, project+"/"+rest); err == nil {
		return q
	}
	return p
}

var escapePath = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`)

// allow writes an allow, as far as a list can express it.
func (t *translator) allow(out *output, r *rule) {
	m := &r.m
	lines, refused := m.lines, m.untranslatable
	if m.all {
		if lines, refused = allowAll(m.area); refused == nil {
			m.narrow = "it covers the project, without what is guarded"
		}
	}
	if r.condition != "" {
		refused = &untranslatable{Condition, "it holds only " + r.condition, "write a rule in Rego that tests for it"}
	}
	if refused != nil {
		t.outcome(r, LeftOut, refused.reason, refused.why, refused.instead)
		return
	}
	var kept []*pattern.Pattern
	var why *untranslatable
	for _, l := range lines {
		p, n := t.parseAllow(l)
		if n != nil {
			why = n
			continue
		}
		kept = append(kept, p)
	}
	if kept == nil {
		if why == nil {
			why = &untranslatable{NoPattern, "a list has nothing for it", ""}
		}
		t.outcome(r, LeftOut, why.reason, why.why, why.instead)
		return
	}
	for _, p := range kept {
		out.list(decisions.SetAllow, p, r)
	}
	little := t.noteNarrowStar(kept)
	switch {
	case why != nil:
		t.outcome(r, Narrower, why.reason, "a part of it: "+why.why, why.instead)
	case m.narrow != "":
		t.outcome(r, Narrower, Loose, m.narrow, "")
	case little != nil:
		t.outcome(r, Narrower, little.reason, little.why, little.instead)
	default:
		t.outcome(r, Kept, "", "", "")
	}
}

// noteNarrowStar notes where a final * of a list covers far less than the
// tool's.
func (t *translator) noteNarrowStar(kept []*pattern.Pattern) *untranslatable {
	for _, p := range kept {
		r := p.Run
		switch {
		case r == nil || !r.Rest:
		case len(r.Words) == 0 && t.o.Table.HasSubcommands(r.Program):
			return &untranslatable{NotKnown, "a last * covers operands and harmless options, and no sub-command of " + r.Program,
				fmt.Sprintf("name the sub-commands, such as %q", r.Program+" status *")}
		case !t.o.Table.Knows(r.Program):
			return &untranslatable{NotKnown, "permd does not know " + r.Program + ", so a last * covers no further words", "write out what it may be run with, an entry each"}
		}
	}
	return nil
}

// restrict writes a deny or an ask.
func (t *translator) restrict(out *output, r *rule) {
	m, set := r.m, r.set
	exceptions, whole := t.exceptions(r)
	result, reason, why := Kept, Reason(""), ""
	switch {
	case whole && set == decisions.SetAsk:
		t.outcome(r, LeftOut, Overruled, "a later or higher rule takes its place", "")
		return
	case whole:
		// A deny that another rule overrides was hardly meant as a deny.
		set, exceptions = decisions.SetAsk, nil
		result, reason, why = Asks, Overruled, "another rule of the settings allows all of it"
	case r.condition != "" && set == decisions.SetDeny:
		set, exceptions = decisions.SetAsk, nil
		result, reason, why = Asks, Condition, "it denies only "+r.condition+"; permd asks always"
	case r.condition != "":
		exceptions = nil
		result, reason, why = Wider, Condition, "it asks only "+r.condition+"; permd asks always"
	}
	if m.untranslatable != nil && result == Kept {
		if m.untranslatable.reason == Unreadable {
			exceptions, result = nil, Wider
			if set == decisions.SetDeny {
				set, result = decisions.SetAsk, Asks
			}
		}
		if m.untranslatable.reason == Broken {
			t.outcome(r, LeftOut, Broken, m.untranslatable.why, m.untranslatable.instead)
			return
		}
		if result == Kept {
			result = Wider
		}
		reason, why = m.untranslatable.reason, m.untranslatable.why
	}
	var parsed []*pattern.Pattern
	exact := m.exact && !m.all && exceptions == nil
	for _, l := range m.lines {
		p, err := pattern.Parse(l.kind, l.text)
		if err != nil || p.Run != nil && t.o.Table != nil && t.o.Table.Transparent(p.Run.Program) ||
			p.Tool != nil && p.Tool.Server == nil && t.o.Profiles != nil && ownTool(t.o.Profiles, p.Tool) {
			exact = false
			continue
		}
		if len(m.bodies) > 0 && p.Run != nil && (middleStar(l.text) || slices.ContainsFunc(p.Run.Words, func(w pattern.Glob) bool { return len(w) > 1 })) {
			// A * inside a word means something else in a list than to the
			// tool.
			exact = false
			continue
		}
		parsed = append(parsed, p)
	}
	m.bodies = append(slices.Clip(m.bodies), t.wrapperConditions(m.lines)...)
	if exceptions == nil {
		for _, p := range parsed {
			out.list(set, p, r)
		}
	}
	if !exact {
		bodies := m.bodies
		if m.all {
			bodies = allBodies(m.area, exceptions != nil)
		}
		if len(bodies) == 0 && (len(parsed) == 0 || exceptions != nil) {
			// Nothing expresses it: ask about everything the tool does.
			bodies = allBodies(m.area, false)
			set, result, reason, why = decisions.SetAsk, Asks, NoPattern, "permd has no way to say it, so it asks for all that this tool does"
		}
		out.rules += t.restriction(out, set, r, bodies, exceptions)
	}
	if result == Kept && m.narrow != "" && len(m.bodies) == 0 {
		result = Wider
	}
	t.outcome(r, result, reason, why, "")
}

// wrapperConditions returns the conditions for programs that only run another one: permd
// decides about that one, so they are searched for in the text of the whole
// line.
func (t *translator) wrapperConditions(lines []line) (bodies []string) {
	for _, l := range lines {
		p, err := pattern.Parse(l.kind, l.text)
		if err != nil || p.Run == nil || t.o.Table == nil || !t.o.Table.Transparent(p.Run.Program) {
			continue
		}
		words := regexp.QuoteMeta(strings.TrimSuffix(l.text, " *"))
		bodies = append(bodies, body("input.effect.shell == true", regoText(`(?s)(?:^|[\s;&|(/])`+strings.ReplaceAll(words, `\*`, ".*")+`(?:\s|$)`, lineName)))
	}
	return bodies
}

// middleStar reports whether a separate * precedes other words: there lists and
// tools differ.
func middleStar(text string) bool {
	words := strings.Fields(text)
	return len(words) > 1 && slices.Contains(words[:len(words)-1], "*")
}

func ownTool(p *tools.Profiles, tool *pattern.Tool) bool {
	name, ok := tool.Name.Literal()
	return ok && p.Own(name)
}

// exceptions are the milder rules that decide before this one where both match.
// whole says that one of them overrides all of it.
func (t *translator) exceptions(r *rule) (list []*rule, whole bool) {
	for i := range t.rules {
		o := &t.rules[i]
		if o.rank <= r.rank || o.condition != "" || strict(o.set) >= strict(r.set) || !overlap(&o.m, &r.m) ||
			o.m.untranslatable != nil && (o.m.untranslatable.reason == Broken || o.m.untranslatable.reason == Unreadable) || o.m.separateQuestion != r.m.separateQuestion {
			continue
		}
		if o.project != "" && r.project != "" && o.project != r.project {
			continue
		}
		if o.m.all && (o.m.area == anyArea || o.m.area == r.m.area) && (o.project == "" || o.project == r.project) {
			return nil, true
		}
		if len(o.m.bodies) == 0 && !o.m.all {
			continue // without its condition the deny is wider
		}
		list = append(list, o)
	}
	return list, false
}

func strict(s decisions.Set) int {
	return slices.Index([]decisions.Set{decisions.SetAllow, decisions.SetAsk, decisions.SetDeny}, s)
}

// overlap reports whether two rules may match the same thing.
func overlap(a, b *match) bool {
	if a.area != anyArea && b.area != anyArea && a.area != b.area {
		return a.area == editArea && b.area == deleteArea || a.area == deleteArea && b.area == editArea
	}
	if a.area == runArea && b.area == runArea && len(a.lines) > 0 && len(b.lines) > 0 {
		for _, x := range a.lines {
			for _, y := range b.lines {
				px, _, _ := strings.Cut(x.text, " ")
				py, _, _ := strings.Cut(y.text, " ")
				if px == py || strings.Contains(px+py, "*") {
					return true
				}
			}
		}
		return a.narrow != "" || b.narrow != ""
	}
	return true
}

// restriction writes rules in Rego and returns how many.
func (t *translator) restriction(out *output, set decisions.Set, r *rule, bodies []string, exceptions []*rule) int {
	if len(bodies) == 0 {
		return 0
	}
	name := func(s string) string {
		return strings.NewReplacer(textsName, textsName+"_"+out.id, lineName, lineName+"_"+out.id, writtenName, writtenName+"_"+out.id).Replace(s)
	}
	except := ""
	if exceptions != nil {
		out.rules++
		except = fmt.Sprintf("imported_except_%s_%d", out.id, out.rules)
		for _, e := range exceptions {
			list := e.m.bodies
			if e.m.all {
				list = allBodies(e.m.area, true)
			}
			for _, b := range list {
				b = strings.ReplaceAll(b, textsName, writtenName)
				// The whole line cannot be matched against one command, nor a
				// path as written against its target.
				if strings.Contains(b, lineName) || strings.Contains(b, "input.call.raw") || strings.Contains(b, "input.effect.given") {
					continue
				}
				if e.project != "" {
					b = body(inProject(b, e.project), projectTest(e.project))
				}
				fmt.Fprintf(&out.rego, "\n# but for %s: %s\n%s if {\n\t%s\n}\n", e.at, comment(e.text), except, name(b))
			}
		}
	}
	reason := fmt.Sprintf("%s: %s", r.at, r.text)
	head := quote(clip(display.Display(reason)))
	if r.message != "" {
		head = fmt.Sprintf("{\"reason\": %s, \"message\": %s}", head, quote(clip(display.Display(r.message))))
	}
	for _, b := range bodies {
		if r.project != "" {
			b = body(inProject(b, r.project), t.within(out, r.project))
		}
		if except != "" {
			if strings.Contains(b, lineName) {
				continue
			}
			b = body(b, "not "+except)
		}
		fmt.Fprintf(&out.rego, "\n# %s: %s\n%s contains %s if {\n\t%s\n}\n", r.at, comment(r.text), set, head, name(b))
	}
	return len(bodies)
}

func clip(s string) string {
	if len(s) > 1000 {
		return strings.ToValidUTF8(s[:1000], "") + "…"
	}
	return s
}

// comment returns text that stays on its line.
func comment(s string) string { return clip(display.Display(s)) }
