package decisions

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// The rows of the precedence table, in the order in which they speak. The
// numbers are those of the design and part of the explanation that people see;
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

// effectInputs are what rules and memory say of one effect.
type effectInputs struct {
	fence    string // why permd itself forbids the effect, "" if it does not
	person   string // why the whole call needs a person, "" if it does not
	trusted  bool   // the project's allows count
	findings Findings
	reject   *Choice
	allow    *Choice
	// run is the outcome of the run that an inherent effect belongs to, nil for
	// every other effect.
	run *effectResult
}

// effectResult is what the table says of one effect.
type effectResult struct {
	verdict Verdict
	row     int
	by      Decider
	needed  Needed
	reason  string
	message string
	rules   []Finding
	choice  *Choice
}

// precede applies the precedence table (docs/policy.md, Who wins) to one effect. It is the
// one place where the order of policy and memory is written down; the oracle
// in policy/testdata says the same in Rego and is compared case by case.
func precede(e *effects.Effect, v *effectInputs) effectResult {
	f := v.findings.Fired
	if v.fence != "" {
		return effectResult{verdict: Deny, row: RowDeny, by: ByPolicy, needed: NotNeeded, reason: v.fence}
	}
	if r := pick(f, SetDeny, anyLayer); r != nil {
		return byRules(Deny, RowDeny, r)
	}
	if v.reject != nil && !v.reject.Unsure {
		return byChoice(Deny, RowReject, v.reject)
	}
	if why := v.personRequired(e); why != "" && !e.Hint {
		return effectResult{verdict: Ask, row: RowPerson, by: ByPolicy, needed: NeededByRule, reason: why}
	}
	if r := pick(f, SetAsk, inOrg); r != nil && (v.allow == nil || !all(r, memoryMayAnswer)) {
		return byRules(Ask, RowOrgAsk, r)
	}
	if tags := v.unansweredGuard(e); tags != 0 {
		return effectResult{
			verdict: Ask, row: RowGuarded, by: ByPolicy, needed: NeededByRule,
			reason: "guarded: " + strings.Join(tags.Names(), ", "),
			rules:  pick(f, SetAsk, anyLayer),
		}
	}
	asks := pick(f, SetAsk, inUserOrProject)
	if r := filter(asks, memoryMayNotAnswer); r != nil {
		return byRules(Ask, RowFirmAsk, r)
	}
	if v.allow != nil {
		return byChoice(Allow, RowRemembered, v.allow)
	}
	if asks != nil {
		return byRules(Ask, RowAsk, asks)
	}
	if e.Hint {
		// Only the agent says so, and what the call does is in other effects.
		return effectResult{verdict: Allow, row: RowDefault, by: ByDefault, needed: NotNeeded, reason: "only what the agent says"}
	}
	if r := pick(f, SetAllow, v.mayAllow); r != nil {
		return byRules(Allow, RowAllow, r)
	}
	if v.run != nil && v.run.verdict == Allow && v.run.row < RowBase {
		return inherited(RowAllow, v.run)
	}
	if r := pick(f, SetAsk, inBase); r != nil {
		o := byRules(Ask, RowBase, r)
		if filter(r, memoryMayNotAnswer) == nil {
			// The shipped asks are defaults with better words: a harness with a
			// dialog of its own need not be overruled by them.
			o.needed = NeededByDefault
		}
		return o
	}
	if v.run != nil && v.run.verdict == Allow {
		return inherited(RowBase, v.run)
	}
	if r := pick(f, SetAllow, inBase); r != nil && !e.Claimed {
		return byRules(Allow, RowBase, r)
	}
	return effectResult{
		verdict: Ask, row: RowDefault, by: ByDefault, needed: NeededByDefault,
		reason: "no rule speaks of this",
	}
}

// personRequired says why a person must answer, whatever rules and memory say.
func (v *effectInputs) personRequired(e *effects.Effect) string {
	switch {
	case v.person != "":
		return v.person
	case v.reject != nil:
		return "this may have been rejected before: " + v.reject.Label + "; see permd remember list --changed"
	case e.File != nil && e.File.OtherName:
		// An exact path, of a rule or a choice, names another file.
		return "another name of a guarded file: " + strings.Join(e.Guarded().Names(), ", ")
	case e.Kind == effects.KindQuestion:
		return "the agent asks the person something"
	case e.Kind == effects.KindMode:
		return "the agent's own permissions would be widened"
	case e.Kind == effects.KindUnknown && (e.Cause != "" || !v.coversUnknown()):
		// What has a cause of its own no rule can cover.
		if e.Why == "" {
			return "not understood"
		}
		return "not understood: " + e.Why
	}
	return ""
}

// coversUnknown reports whether an allow of org or user speaks of what could
// not be understood.
func (v *effectInputs) coversUnknown() bool {
	for _, r := range v.findings.Fired {
		if r.Set == SetAllow && r.CoversUnknown && (inOrg(r) || inUser(r) && !v.findings.OnlyOrg) {
			return true
		}
	}
	return false
}

// unansweredGuard returns the guarded tags that neither an allow covers nor an
// exact choice answers.
func (v *effectInputs) unansweredGuard(e *effects.Effect) effects.Tags {
	tags := e.Guarded()
	if tags == 0 || v.allow != nil && v.allow.Exact {
		return 0
	}
	for _, r := range v.findings.Fired {
		if r.Set == SetAllow && v.mayAllow(r) {
			tags &^= r.Covers
		}
	}
	return tags
}

// mayAllow reports whether an allow of that layer counts at row 9.
func (v *effectInputs) mayAllow(r Finding) bool {
	switch r.Rule.Layer {
	case Org:
		return true
	case User:
		return !v.findings.OnlyOrg
	case Project:
		return !v.findings.OnlyOrg && v.trusted
	}
	return false
}

func anyLayer(Finding) bool          { return true }
func inOrg(r Finding) bool           { return r.Rule.Layer == Org }
func inUser(r Finding) bool          { return r.Rule.Layer == User }
func inBase(r Finding) bool          { return r.Rule.Layer == Base }
func inUserOrProject(r Finding) bool { return r.Rule.Layer == User || r.Rule.Layer == Project }

// memoryMayAnswer: an org ask is answered by memory only where it says so.
func memoryMayAnswer(r Finding) bool { return r.Remember != nil && *r.Remember }

// memoryMayNotAnswer: every other ask is, unless it says not.
func memoryMayNotAnswer(r Finding) bool { return r.Remember != nil && !*r.Remember }

func pick(fired []Finding, set Set, of func(Finding) bool) []Finding {
	return filter(fired, func(r Finding) bool { return r.Set == set && of(r) })
}

func filter(fired []Finding, keep func(Finding) bool) []Finding {
	var kept []Finding
	for _, r := range fired {
		if keep(r) {
			kept = append(kept, r)
		}
	}
	return kept
}

func all(fired []Finding, is func(Finding) bool) bool {
	return len(filter(fired, is)) == len(fired)
}

func byRules(v Verdict, row int, rules []Finding) effectResult {
	o := effectResult{verdict: v, row: row, by: ByPolicy, needed: NotNeeded, reason: rules[0].Reason, rules: rules}
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

// inherited is the allow that an inherent effect takes from its run.
func inherited(row int, run *effectResult) effectResult {
	o := *run
	o.row, o.message = row, ""
	return o
}

func byChoice(v Verdict, row int, c *Choice) effectResult {
	return effectResult{verdict: v, row: row, by: ByMemory, needed: NotNeeded, reason: "remembered: " + c.Label, choice: c}
}
