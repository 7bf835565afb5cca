package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/decisions/targets"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/remember/allowable"
)

// suggestion is a set of lines that would allow the whole call. It has been tried.
type suggestion struct {
	Label string          `json:"label"` // "exactly this", "more than this", or what is allowed
	Lines []suggestedLine `json:"lines"`
	Rules bool            `json:"rules"`              // works as allow entries of rules.yaml
	Cmds  [][]string      `json:"commands,omitempty"` // permd commands that remember the lines, as words, one for each line
	// Bound is set if the commands remember it only while what it runs stays as it is. The lines
	// of rules.yaml hold whatever it is.
	Bound bool `json:"bound,omitzero"`
}

// suggestedLine is a line of the list language.
type suggestedLine struct {
	Kind effects.Kind `json:"kind"`
	Line string       `json:"line"`
}

// obstacle says why no line can allow an effect.
type obstacle struct {
	Effect int    `json:"effect"` // index of the effect
	Text   string `json:"text"`
}

// Bounds of the search.
const (
	maxSuggestions  = 3
	maxTriedEffects = 64 // effects of a call that lines are searched for
)

// findSuggestions searches for lines that allow the call, narrowest first. It tries
// each of them in the precedence table, as a rule and as a choice.
func (x *Explanation) findSuggestions() {
	d := x.deliberation
	if d.Len() > maxTriedEffects {
		x.More = true
		return
	}
	for level := range maxSuggestions {
		rules, left := linesFor(d, level, decisions.AsRule)
		choices, stuck := linesFor(d, level, decisions.AsChoice)
		if level == 0 {
			for _, i := range left {
				if x.worthNaming(i, left) {
					x.Obstacles = append(x.Obstacles, obstacle{i, obstacleOf(d, i)})
				}
			}
		}
		if len(left) == 0 {
			x.addSuggestion(level, rules, true, nil)
		}
		if cmds, bound := x.commandsFor(choices); len(stuck) == 0 && cmds != nil {
			x.addSuggestion(level, choices, false, cmds)
			x.Suggestions[len(x.Suggestions)-1].Bound = bound
		}
	}
}

// worthNaming reports whether to show an effect that no line allows. Asks are not
// shown if another effect is denied, nor are inherent effects of a run that is not
// allowed itself.
func (x *Explanation) worthNaming(i int, left []int) bool {
	e := x.deliberation.Effect(i)
	if e.Inherent() && slices.Contains(left, e.Via.Effect) && x.Effects[i].Verdict != decisions.Deny {
		return false
	}
	return x.Effects[i].Verdict == x.Decision.Verdict
}

// addSuggestion adds a suggestion, or merges it with one of the same lines.
func (x *Explanation) addSuggestion(level int, lines []*pattern.Pattern, rules bool, cmds [][]string) {
	if len(lines) == 0 {
		return
	}
	w := suggestion{Label: "exactly this", Rules: rules, Cmds: cmds}
	for _, p := range lines {
		w.Lines = append(w.Lines, suggestedLine{p.Kind, p.String()})
	}
	if level > 0 {
		w.Label = "more than this"
	}
	for _, p := range lines {
		if p.Tool != nil && p.Tool.OpensKinds() {
			w.Label = fmt.Sprintf("every call of kind %s that names no tool, of any agent", strings.TrimPrefix(p.String(), effects.KindTool("")))
		}
	}
	for i := range x.Suggestions {
		if slices.Equal(x.Suggestions[i].Lines, w.Lines) {
			x.Suggestions[i].Rules = x.Suggestions[i].Rules || rules
			if x.Suggestions[i].Cmds == nil {
				x.Suggestions[i].Cmds = cmds
			}
			return
		}
	}
	x.Suggestions = append(x.Suggestions, w)
}

// linesFor returns lines, up to a level of width, that allow as many effects as lines
// can, and the indices of the effects that are left.
func linesFor(d *decisions.Deliberation, level int, as decisions.LineKind) (lines []*pattern.Pattern, left []int) {
	for _, inherent := range []bool{false, true} {
		for i := range d.Len() {
			if d.Effect(i).Inherent() != inherent || d.With(lines, as)[i].Verdict == decisions.Allow {
				continue
			}
			if p := lineFor(d, i, level, lines, as); p != nil {
				lines = append(lines, p)
			} else {
				left = append(left, i)
			}
		}
	}
	slices.Sort(left)
	return lines, left
}

// lineFor returns the widest line, up to a level, that allows an effect.
func lineFor(d *decisions.Deliberation, i, level int, lines []*pattern.Pattern, as decisions.LineKind) *pattern.Pattern {
	candidates := linesOf(d, i)
	for n := min(level, len(candidates)-1); n >= 0; n-- {
		p := candidates[n]
		if d.With(append(slices.Clip(lines), p), as)[i].Verdict == decisions.Allow {
			return p
		}
	}
	return nil
}

// linesOf returns the lines that match an effect, narrowest first. It leaves out
// lines that would hold a secret or could be misread.
func linesOf(d *decisions.Deliberation, i int) []*pattern.Pattern {
	e, ctx := d.Effect(i), d.Context()
	var list []*pattern.Pattern
	add := func(p *pattern.Pattern) {
		line := p.String()
		again, err := pattern.Parse(p.Kind, line)
		if err == nil && again.Match(e, d.Effects(), ctx) && display.Display(line) == line && display.ShowsWords(e, line) {
			list = append(list, again)
		}
	}
	if p := exactLine(e, ctx); p != nil {
		add(p)
	}
	for _, w := range pattern.Widen(e, d.Effects(), ctx) {
		add(w.Pattern)
	}
	return list
}

// exactLine returns the line that matches only this effect, nil if there is none.
func exactLine(e *effects.Effect, ctx pattern.Context) *pattern.Pattern {
	p := &pattern.Pattern{Kind: e.Kind}
	switch e.Detail() {
	case effects.DetailRun:
		p.Run = &pattern.Run{Program: e.Run.Program}
		if rel, ok := lexpath.RelBelow(ctx.Project, e.Run.Program); ok {
			p.Run.Program = "./" + rel
		}
		for _, arg := range e.Run.Args {
			if arg == effects.DynamicWord {
				return nil
			}
			p.Run.Words = append(p.Run.Words, pattern.Glob{arg})
		}
	case effects.DetailFile:
		p.Path = &pattern.Path{Base: pattern.Root}
		rel := strings.TrimPrefix(e.File.Path, "/")
		if in, ok := lexpath.RelBelow(ctx.Project, e.File.Path); ok {
			p.Path.Base, rel = pattern.Project, in
		}
		for part := range strings.SplitSeq(rel, "/") {
			if part != "" {
				p.Path.Parts = append(p.Path.Parts, pattern.Glob{part})
			}
		}
		if e.File.Recursive && e.Kind != effects.KindDelete {
			p.Path.Parts = append(p.Path.Parts, nil)
		}
		if len(p.Path.Parts) == 0 {
			return nil
		}
	case effects.DetailConnect:
		if e.Connect.Host == "" {
			return nil
		}
		p.Host = &pattern.Host{Name: e.Connect.Host, Port: e.Connect.Port}
	case effects.DetailUse:
		if strings.ContainsAny(e.Use.Tool+e.Use.Server+e.Use.Version, "*@:\"\\ ()") {
			return nil // a line would match others
		}
		name := e.Use.Tool
		if e.Use.Version != "" {
			name += "@" + e.Use.Version
		}
		p.Tool = &pattern.Tool{Name: pattern.Glob{name}}
		if e.Use.Server != "" {
			p.Tool.Server = pattern.Glob{e.Use.Server}
		}
	case effects.NoDetail:
		return nil
	}
	return p
}

// commandsFor are the commands that remember some lines, nil if permd would not
// remember one of them. bound is set if one remembers it with what it runs.
func (x *Explanation) commandsFor(lines []*pattern.Pattern) (cmds [][]string, bound bool) {
	d := x.deliberation
	project := d.Context().Project
	for _, p := range lines {
		if dir := x.boundIn(p); dir != "" {
			cmds, bound = append(cmds, []string{"permd", "remember", "add", string(p.Kind), p.String(), "--dir", dir}), true
			continue
		}
		if !rememberable(d, p) || project == "" && p.Run != nil && p.Run.Program == "git" {
			return nil, false
		}
		cmd := []string{"permd", "remember", "add", string(p.Kind), p.String()}
		if project != "" {
			cmd = append(cmd, "--dir", project)
		} else {
			cmd = append(cmd, "--scope", "user")
		}
		cmds = append(cmds, cmd)
	}
	return cmds, bound
}

// boundIn returns the folder in which a run is remembered with what it executes, "" if that is
// not offered for the call.
func (x *Explanation) boundIn(p *pattern.Pattern) string {
	d := x.deliberation
	if p.Run == nil || d.Context().Project == "" || len(x.Decision.Widths) == 0 ||
		!slices.Contains(strings.Split(x.Decision.Widths[0].Rule, "\n"), "run "+p.String()) {
		return ""
	}
	dir := ""
	for i := range d.Len() {
		e := d.Effect(i)
		if !p.Match(e, d.Effects(), d.Context()) {
			continue
		}
		if e.Run == nil || e.Run.Script == nil && !targets.BoundToFiles(e.Run) || len(e.Run.Variables) > 0 || e.Run.Stdin != "" && e.Run.Stdin != effects.StdinNone || dir != "" && dir != e.Run.Cwd {
			return ""
		}
		dir = e.Run.Cwd
	}
	return dir
}

// rememberable reports whether permd remember add accepts a line, and whether the
// choice would then answer the effects that the line matches.
func rememberable(d *decisions.Deliberation, p *pattern.Pattern) bool {
	if p.Run == nil {
		return true
	}
	run := effects.Run{Program: p.Run.Program}
	for _, w := range p.Run.Words {
		run.Args = append(run.Args, strings.Join(w, "*"))
	}
	q := decisions.MemoryQuery{Effect: &effects.Effect{Kind: effects.KindRun, Run: &run}}
	if strings.Contains(p.Run.Program, "/") || targets.Runs(p.Run.Program) ||
		allowable.Run(d.Snapshot.Table(), &q) != nil {
		return false
	}
	for i := range d.Len() {
		e := d.Effect(i)
		if !p.Match(e, d.Effects(), d.Context()) {
			continue
		}
		if r := e.Run; r != nil && (r.Script != nil || r.Stdin == effects.StdinText && !r.Readonly) {
			return false // only an answer can pin the script
		}
	}
	return true
}

// obstacleOf says why no line allows an effect.
func obstacleOf(d *decisions.Deliberation, i int) string {
	said, e := d.Result(i), d.Effect(i)
	if n := linesOf(d, i); len(n) > 0 {
		said = d.With(n[:1], decisions.AsRule)[i]
	}
	at := rulePlaces(said.Rules)
	switch said.Row {
	case decisions.RowFailure:
		return "something failed: " + said.Reason
	case decisions.RowDeny:
		return denyObstacle(d, i, said.Rules)
	case decisions.RowReject:
		return "you rejected it; to undo that: permd remember forget " + said.ChoiceID
	case decisions.RowPerson:
		if e.Kind == effects.KindUnknown {
			return `only a Rego rule with "covers": ["unknown"] allows what is not understood`
		}
		return said.Reason + ": a person decides this each time"
	case decisions.RowOrgAsk:
		return "the organisation asks at " + at + ", which only its own rules change"
	case decisions.RowGuarded:
		return said.Reason + ": a line must name the exact path, and none can here"
	case decisions.RowFirmAsk:
		return "the rule at " + at + " asks each time: change or remove it"
	case decisions.RowAsk:
		return "the rule at " + at + " asks, which beats an allow: change or remove it, or remember an answer"
	}
	switch {
	case d.OnlyOrg():
		return "the organisation lets only its own rules allow (only_org)"
	case e.Run != nil && slices.Contains(e.Run.Args, effects.DynamicWord):
		return "a word of the command is only known when it runs, so no line can name it"
	case e.Run != nil && e.Run.Stdin == effects.StdinNetwork:
		return "its input comes from the network, which no line can express; a Rego rule can"
	case e.Run != nil && e.Tags.Has(effects.Outside):
		return "it runs outside of the project, which no line can express; a Rego rule can"
	}
	return fmt.Sprintf("no line can express it; a Rego rule can: input.effect.kind == %q", e.Kind)
}

func denyObstacle(d *decisions.Deliberation, i int, rules []decisions.RuleRef) string {
	if d.Fence(i) != "" {
		return "permd protects its own files and its process, whatever rules say"
	}
	if len(rules) == 0 {
		return "it is denied"
	}
	switch at := rulePlaces(rules); rules[0].Layer {
	case decisions.Org:
		return "the organisation denies it at " + at + ", which only its own rules change"
	case decisions.Base:
		return "a shipped rule denies it (" + rules[0].ID + "), which the organisation alone can disable"
	case decisions.User, decisions.Project:
		return "the deny at " + at + " beats every allow: change or remove it"
	}
	return "it is denied"
}

func rulePlaces(rules []decisions.RuleRef) string {
	var at []string
	for _, r := range rules {
		if !slices.Contains(at, r.At) {
			at = append(at, r.At)
		}
	}
	return strings.Join(at, " and ")
}
