package decisions

import (
	"cmp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// The rows of the precedence table, in order. Explanations show the numbers.
// RowFailure marks a decision that no row made.
const (
	RowFailure    = 0
	RowDeny       = 1  // deny of any layer, and the fences
	RowReject     = 2  // a remembered reject
	RowPerson     = 3  // a person is required, whatever rules and memory say
	RowOrgAsk     = 4  // org asks
	RowGuarded    = 5  // a guarded tag that nothing names exactly
	RowFirmAsk    = 6  // user or project asks, and memory may not answer
	RowRemembered = 7  // a remembered allow
	RowAsk        = 8  // user or project asks
	RowAllow      = 9  // org, user or a trusted project allows
	RowBase       = 10 // base asks or allows
	RowDefault    = 11
)

// memoryAnswers reports whether a remembered allow may answer what asks at a row.
func memoryAnswers(row int) bool {
	return row == RowGuarded || row == RowAsk || row == RowBase || row == RowDefault
}

// effectInputs are the inputs of the precedence table for one effect.
type effectInputs struct {
	fence   string // why permd itself forbids the effect, "" if it does not
	person  string // why the whole call needs a person, "" if it does not
	trusted string // root of the project whose allows count, "" if they do not
	// elsewhere is set if the effect is not certainly in that project.
	elsewhere bool
	// understood is set if a pause covers what is not understood.
	understood bool
	findings   Findings
	reject     *Choice
	allow      *Choice
	// run is the result of the run that an inherent effect belongs to, nil for other
	// effects.
	run *effectResult
}

// effectResult is the result of the precedence table for one effect.
type effectResult struct {
	verdict Verdict
	row     int
	by      DecidedBy
	needed  Needed
	reason  string
	// note is added to the reason of a decision, but not of its effect: whether a
	// person's answer still fits does not depend on it.
	note string
	// outdated is a choice that would have answered, but for changed content; nil for none.
	outdated *Outdated
	message  string
	rules    []Finding
	choice   *Choice
}

// precede applies the precedence table (docs/policy.md, Who wins) to one effect. No
// other place defines the precedence of policy and memory. Tests compare it with a
// second version in Rego, in policy/testdata, for every combination.
func precede(e *effects.Effect, v *effectInputs) effectResult {
	f := v.findings.Fired
	if v.fence != "" {
		return effectResult{verdict: Deny, row: RowDeny, by: ByPolicy, needed: NotNeeded, reason: v.fence}
	}
	if r := pick(f, SetDeny, anyLayer); r != nil {
		return byRules(e, Deny, RowDeny, r)
	}
	if v.reject != nil && !v.reject.Unsure {
		return byChoice(Deny, RowReject, v.reject)
	}
	if why := v.personRequired(e); why != "" && (!e.Hint || e.File != nil && e.File.HoldsRules) {
		return effectResult{verdict: Ask, row: RowPerson, by: ByPolicy, needed: NeededByRule, reason: why}
	}
	if r := pick(f, SetAsk, inOrg); r != nil && (v.allow == nil || !all(r, memoryMayAnswer)) {
		return byRules(e, Ask, RowOrgAsk, r)
	}
	if tags := v.unansweredGuard(e); tags != 0 {
		return effectResult{
			verdict: Ask, row: RowGuarded, by: ByPolicy, needed: NeededByRule,
			reason: guardedReason(e, tags),
			rules:  pick(f, SetAsk, anyLayer),
		}
	}
	asks := pick(f, SetAsk, inUserOrProject)
	if r := filter(asks, memoryMayNotAnswer); r != nil {
		return byRules(e, Ask, RowFirmAsk, r)
	}
	if v.allow != nil {
		return byChoice(Allow, RowRemembered, v.allow)
	}
	if asks != nil {
		return byRules(e, Ask, RowAsk, asks)
	}
	if e.Hint {
		// This is only a claim, and the other effects cover what the call does.
		return effectResult{verdict: Allow, row: RowDefault, by: ByDefault, needed: NotNeeded, reason: "only what the agent says"}
	}
	within := v.projectMayAllow(e)
	if r := pick(f, SetAllow, func(r Finding) bool { return v.mayAllow(&r, within) }); r != nil {
		return byRules(e, Allow, RowAllow, r)
	}
	// What a project alone lets run does nothing besides that the project may not allow.
	allowed := v.run != nil && v.run.verdict == Allow && (within || !v.run.byProjectAlone())
	if allowed && v.run.row < RowBase {
		return inherited(RowAllow, v.run)
	}
	if r := pick(f, SetAsk, inBase); r != nil {
		o := byRules(e, Ask, RowBase, r)
		if filter(r, memoryMayNotAnswer) == nil {
			// The shipped asks are defaults with better explanations: they need not
			// overrule a harness that has a permission dialog of its own.
			o.needed = NeededByDefault
		}
		return o
	}
	if allowed {
		return inherited(RowBase, v.run)
	}
	if r := pick(f, SetAllow, inBase); r != nil && !e.Claimed {
		return byRules(e, Allow, RowBase, r)
	}
	o := effectResult{
		verdict: Ask, row: RowDefault, by: ByDefault, needed: NeededByDefault,
		reason: "no rule speaks of this",
	}
	if e.Claimed {
		o.reason = "only the agent says that it does this, and no rule of yours allows it"
	}
	return o
}

// maxGuardedText bounds the text of an effect in the reason that it is guarded, in bytes.
const maxGuardedText = 160

// guardedReason says that an effect has guarded tags, and which one it is.
func guardedReason(e *effects.Effect, tags effects.Tags) string {
	reason := "guarded: " + strings.Join(tags.Names(), ", ")
	if e.File == nil || len(e.Text) > maxGuardedText {
		return reason
	}
	return reason + ": " + e.Text
}

// personRequired returns why a person must answer, whatever rules and memory say; "" if
// none must.
func (v *effectInputs) personRequired(e *effects.Effect) string {
	switch {
	case v.person != "":
		return v.person
	case v.reject != nil:
		return "this may have been rejected before: " + v.reject.Label + "; see permd remember list --changed"
	case e.NeedsPerson() != "":
		return e.NeedsPerson()
	}
	switch e.Kind {
	case effects.KindQuestion:
		return "the agent asks the person something"
	case effects.KindMode:
		return "the agent's own permissions would be widened"
	case effects.KindUnknown:
		// No rule can cover an unknown effect with another cause.
		switch {
		case e.Cause == effects.CauseOnlyNamed && v.coversOnlyNamed():
		case e.Cause == effects.CauseOnlyNamed:
			return notFullyKnown + e.Why
		case e.Cause == "" && (v.understood || v.coversUnknown()):
		case e.Why == "":
			return "not understood"
		default:
			return "not understood: " + e.Why
		}
	case effects.KindRun, effects.KindRead, effects.KindWrite, effects.KindDelete, effects.KindConnect, effects.KindUse, effects.KindState:
	}
	return ""
}

// coversUnknown reports whether an allow of org or user covers what could not be
// understood.
func (v *effectInputs) coversUnknown() bool {
	return v.covers(func(r *Finding) bool { return r.CoversUnknown })
}

// coversOnlyNamed reports whether an allow of org or user covers calls of which no more is
// known than their kind.
func (v *effectInputs) coversOnlyNamed() bool {
	return v.covers(func(r *Finding) bool { return r.CoversOnlyNamed })
}

// covers reports whether there is such an allow of org or user.
func (v *effectInputs) covers(is func(*Finding) bool) bool {
	for i := range v.findings.Fired {
		if r := &v.findings.Fired[i]; r.Set == SetAllow && is(r) && (inOrg(*r) || inUser(*r) && !v.findings.OnlyOrg) {
			return true
		}
	}
	return false
}

// unansweredGuard returns the guarded tags that no allow of org or user and no exact choice
// covers.
func (v *effectInputs) unansweredGuard(e *effects.Effect) effects.Tags {
	tags := e.Guarded()
	if tags == 0 || v.allow != nil && v.allow.Exact {
		return 0
	}
	for i := range v.findings.Fired {
		if r := &v.findings.Fired[i]; r.Set == SetAllow && v.mayAllow(r, false) {
			tags &^= r.Covers
		}
	}
	return tags
}

// mayAllow reports whether an allow of that layer counts at row 9. within says whether one
// of the project would.
func (v *effectInputs) mayAllow(r *Finding, within bool) bool {
	switch r.Rule.Layer {
	case Org:
		return true
	case User:
		return !v.findings.OnlyOrg
	case Project:
		return !v.findings.OnlyOrg && within
	case Base:
	}
	return false
}

// projectMayAllow reports whether an effect is one that a trusted project may allow: a run in the
// project that no shipped rule asks about for a reason of its own (to become another user, to
// overwrite other people's commits), a file in the project, or a host. Whoever wrote the
// repository says nothing about what lies elsewhere, and nothing that needs a person's own word:
// what is guarded, what only the agent says or its client declares of a tool, tools, modes and
// what is not understood.
func (v *effectInputs) projectMayAllow(e *effects.Effect) bool {
	if v.trusted == "" || v.elsewhere || e.Guarded() != 0 || e.Claimed || e.Declared || e.Hint || e.StandsFor > 0 || e.Tags.Has(effects.Outside) {
		return false
	}
	switch e.Kind {
	case effects.KindRun:
		return e.Run != nil && v.staysInProject(e.Run) &&
			!slices.ContainsFunc(v.findings.Fired, func(r Finding) bool { return r.Set == SetAsk && inBase(r) && !r.General })
	case effects.KindRead, effects.KindWrite, effects.KindDelete:
		return e.File != nil
	case effects.KindConnect:
		return true
	case effects.KindUse, effects.KindState, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
	}
	return false
}

// staysInProject reports whether a run's program and words are in the trusted project by their
// letters: what a program does with a word is not always known, and then no effect of its own says
// where it leads.
func (v *effectInputs) staysInProject(run *effects.Run) bool {
	if strings.Contains(run.Program, "/") && !lexpath.In(v.trusted, lexpath.Abs(run.Folder, run.Program)) {
		return false
	}
	for i, word := range run.Args {
		// What the table says of a word that is not harmful is all that it does.
		if (!run.Known || slices.Contains(run.Harmful, i)) && !lexpath.StaysWithin(word) {
			return false
		}
	}
	return !slices.ContainsFunc(run.Variables, func(word string) bool { return !lexpath.StaysWithin(word) })
}

// byProjectAlone reports whether nothing but rules of the project allowed.
func (o *effectResult) byProjectAlone() bool {
	return o.row == RowAllow && len(o.rules) > 0 && all(o.rules, func(r Finding) bool { return r.Rule.Layer == Project })
}

func anyLayer(Finding) bool          { return true }
func inOrg(r Finding) bool           { return r.Rule.Layer == Org }
func inUser(r Finding) bool          { return r.Rule.Layer == User }
func inBase(r Finding) bool          { return r.Rule.Layer == Base }
func inUserOrProject(r Finding) bool { return r.Rule.Layer == User || r.Rule.Layer == Project }

// memoryMayAnswer reports whether an ask of org lets memory answer. By default it
// does not.
func memoryMayAnswer(r Finding) bool { return r.Remember != nil && *r.Remember }

// memoryMayNotAnswer reports whether an ask of another layer forbids memory to
// answer. By default it does not.
func memoryMayNotAnswer(r Finding) bool { return r.Remember != nil && !*r.Remember }

func pick(fired []Finding, set Set, of func(Finding) bool) []Finding {
	return filter(fired, func(r Finding) bool { return r.Set == set && of(r) })
}

// filter returns the findings to keep, nil if there are none. The result may be a part of
// the list and must not be changed.
func filter(fired []Finding, keep func(Finding) bool) []Finding {
	first, end := 0, 0 // of those that are kept without a gap
	for i, r := range fired {
		switch {
		case !keep(r):
		case end == 0:
			first, end = i, i+1
		case end == i:
			end = i + 1
		default:
			kept := append(slices.Clip(fired[first:end]), r)
			for _, r := range fired[i+1:] {
				if keep(r) {
					kept = append(kept, r)
				}
			}
			return kept
		}
	}
	if end == 0 {
		return nil
	}
	return fired[first:end:end]
}

func all(fired []Finding, is func(Finding) bool) bool {
	return !slices.ContainsFunc(fired, func(r Finding) bool { return !is(r) })
}

func byRules(e *effects.Effect, v Verdict, row int, rules []Finding) effectResult {
	o := effectResult{verdict: v, row: row, by: ByPolicy, needed: NotNeeded, reason: reasonFor(e, &rules[0]), rules: rules}
	if v == Ask {
		o.needed = NeededByRule
	}
	for _, r := range rules {
		if r.Message != "" {
			o.message = r.Message
			break
		}
	}
	return o
}

// reasonFor returns the reason of a rule for an effect: that of a general rule is what the
// program table says of the run, if it does. Org does not see what a person says of
// programs, so its rules do not repeat it.
func reasonFor(e *effects.Effect, r *Finding) string {
	run := e.Run
	if !r.General || run == nil {
		return r.Reason
	}
	if run.WithoutOverlay != nil && inOrg(*r) {
		run = run.WithoutOverlay
	}
	return cmp.Or(run.Does, r.Reason)
}

// inherited returns the allow that an inherent effect takes from its run.
func inherited(row int, run *effectResult) effectResult {
	o := *run
	o.row, o.message = row, ""
	return o
}

func byChoice(v Verdict, row int, c *Choice) effectResult {
	return effectResult{verdict: v, row: row, by: ByMemory, needed: NotNeeded, reason: "remembered: " + c.Label, choice: c}
}
