package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy/diag"
)

// rule is one rule that adds to allow, deny or ask.
type rule struct {
	ref decisions.RuleRef
	set decisions.Set
	ast *ast.Rule
	// notes are the METADATA blocks directly above the rule.
	notes []*ast.Annotations
	// rank orders the rules of a layer that fire together, see rankRules.
	rank int
	// general is set if the reasons of other rules of the layer say more.
	general bool
	// namesCaller is set if the rule compares the agent's name and the call's kind.
	namesCaller bool
	// inList is set if the rule is that of a list entry.
	inList bool
	// fixed is the element that the rule adds, if it is a literal; else nil.
	fixed *element
}

// element is what a rule adds to its set.
type element struct {
	reason          string
	message         string
	remember        *bool
	covers          effects.Tags
	coversUnknown   bool
	coversOnlyNamed bool
}

// Bounds of the texts of a rule, which appear in dialogs and in the journal.
const (
	maxReason  = 1024 // bytes; longer ones are truncated
	maxMessage = 4096
	maxID      = 128
)

// collect returns the rules that add to the three sets, and drops disabled
// ones from their modules.
func collect(u Unit, mods *moduleSet, ps *diag.List) []*rule {
	var rules []*rule
	setOf := map[string]decisions.Set{} // custom ids
	notes, errs := ast.BuildAnnotationSet(slices.Collect(maps.Values(mods.policy)))
	if len(errs) > 0 {
		addOPA(ps, errs)
		return nil
	}
	for _, name := range sortedNames(mods.policy) {
		m := mods.policy[name]
		top := m.Package.Path.Equal(layerRef(u.Layer))
		kept := m.Rules[:0]
		for _, r := range m.Rules {
			if reserved(r.Head) {
				ps.Errorf(locationPlace(r.Location), "choose another name", "names that begin with %s are permd's own", reservedPrefix)
			}
			set, ok := setNamed(r.Head)
			if !top || !ok {
				kept = append(kept, r)
				continue
			}
			if !checkShape(r, set, ps) {
				continue
			}
			ru := &rule{set: set, ast: r, notes: notes.GetRuleScope(r), namesCaller: namesCaller(r)}
			ru.ref = decisions.RuleRef{
				Layer: u.Layer,
				At:    fmt.Sprintf("%s:%d", name, r.Location.Row),
				ID:    fmt.Sprintf("%s/%s:%d", u.Layer, mods.rel[name], r.Location.Row),
			}
			id := annotate(ru, ps)
			if id != "" {
				if other, ok := setOf[id]; ok && other != set {
					ps.Errorf(locationPlace(r.Location), "", "the id %q is used for rules of %s and of %s", id, other, set)
				}
				setOf[id] = set
				if slices.Contains(u.Disable, id) {
					continue
				}
			}
			if u.ListsOnly && set == decisions.SetAllow && !u.trusts(name) {
				continue
			}
			kept = append(kept, r)
			fixed, err := literalElement(r.Head.Key, set)
			if err != nil {
				ps.Errorf(locationPlace(r.Location), elementHint, "%v", err)
				continue
			}
			if fixed != nil && fixed.coversOnlyNamed && !ru.namesCaller {
				ps.Errorf(locationPlace(r.Location), `add input.session.agent.name == "…" and input.call.kind == "…"`,
					"covers %q is for one agent and one kind of call", incomplete)
				continue
			}
			ru.fixed = fixed
			rules = append(rules, ru)
		}
		m.Rules = kept
	}
	for _, id := range u.Disable {
		if setOf[id] == "" {
			ps.Add(diag.Place{}, diag.SeverityWarning, "permd policy list shows the ids", "disable names %q, which is no rule of the %s layer", id, u.Layer)
		}
	}
	return rules
}

// setNamed returns the set that a rule's head names.
func setNamed(h *ast.Head) (decisions.Set, bool) {
	name, ok := h.Ref()[0].Value.(ast.Var)
	if !ok {
		return "", false
	}
	switch set := decisions.Set(name); set {
	case decisions.SetAllow, decisions.SetDeny, decisions.SetAsk:
		return set, true
	}
	return "", false
}

// checkShape refuses rules that look as if they added to a set and do not: they
// compile, but would never fire.
func checkShape(r *ast.Rule, set decisions.Set, ps *diag.List) bool {
	hint := fmt.Sprintf("write: %s contains \"the reason\" if { … }", set)
	switch {
	case r.Default:
		ps.Errorf(locationPlace(r.Location), "leave it out: without a rule the set is empty", "%s is a set and has no default", set)
	case len(r.Head.Args) > 0:
		ps.Errorf(locationPlace(r.Location), hint, "%s is a set of reasons, not a function", set)
	case len(r.Head.Ref()) > 1:
		ps.Errorf(locationPlace(r.Location), hint, "%s is a set of reasons, not an object", set)
	case r.Head.Key == nil || r.Head.RuleKind() != ast.MultiValue:
		ps.Errorf(locationPlace(r.Location), hint, "%s is a set of reasons: a rule needs contains, or it only makes %s true and never fires", set, set)
	default:
		return true
	}
	return false
}

// annotate takes title and id from the rule's METADATA and returns the id.
func annotate(ru *rule, ps *diag.List) string {
	id := ""
	for _, a := range ru.notes {
		ru.ref.Title = clean(a.Title, maxReason)
		if v, ok := a.Custom["general"]; ok {
			if ru.general, ok = v.(bool); !ok {
				ps.Errorf(locationPlace(a.Location), "for example: custom: {general: true}", "custom.general must be true or false")
			}
		}
		v, ok := a.Custom["id"]
		if !ok {
			continue
		}
		s, ok := v.(string)
		if !ok || s == "" || len(s) > maxID || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }) {
			ps.Errorf(locationPlace(a.Location), "for example: custom: {id: no-force-push}", "custom.id must be one word of at most %d bytes", maxID)
			continue
		}
		id = s
		ru.ref.ID = s
	}
	return id
}

const elementHint = `a rule adds a reason, or {"reason": …, "message": …, "remember": …, "covers": [...]}`

// literalElement reads the element that a rule adds if it is a literal, nil if
// it is only known when the rule fires. It checks what can be checked now.
func literalElement(t *ast.Term, set decisions.Set) (*element, error) {
	if isLiteral(t) {
		return readElement(t.Value, set)
	}
	if obj, ok := t.Value.(ast.Object); ok {
		for _, k := range obj.Keys() {
			if s, ok := k.Value.(ast.String); ok {
				if err := checkMember(string(s), set); err != nil {
					return nil, err
				}
			}
		}
	}
	return nil, nil
}

// isLiteral reports whether a term has no variables and no calls.
func isLiteral(t *ast.Term) bool {
	literal := true
	ast.WalkTerms(t, func(t *ast.Term) bool {
		switch t.Value.(type) {
		case ast.Var, ast.Ref, ast.Call, *ast.ArrayComprehension, *ast.ObjectComprehension, *ast.SetComprehension, *ast.TemplateString:
			literal = false
		}
		return !literal
	})
	return literal
}

// incomplete is what covers calls of which an agent has said their kind alone.
const incomplete = "incomplete"

// callerFields are what a rule that covers such calls must compare.
var callerFields = [...]string{"input.session.agent.name", "input.call.kind"}

// namesCaller reports whether the body of a rule compares each of the callerFields with
// something: what holds for calls of one agent and kind must not hold for all.
func namesCaller(r *ast.Rule) bool {
	var found [len(callerFields)]bool
	for _, e := range r.Body {
		if !e.IsCall() || e.Negated || len(e.Operands()) != 2 {
			continue
		}
		operands := e.Operands()
		switch e.Operator().String() {
		case "equal", "eq":
		case "internal.member_2":
			operands = operands[:1]
		default:
			continue
		}
		for _, o := range operands {
			if i := slices.Index(callerFields[:], o.String()); i >= 0 {
				found[i] = true
			}
		}
	}
	return !slices.Contains(found[:], false)
}

func checkMember(name string, set decisions.Set) error {
	switch name {
	case "reason", "message":
		return nil
	case "remember":
		if set == decisions.SetAsk {
			return nil
		}
		return fmt.Errorf("only ask rules have a member remember, this one is a rule of %s", set)
	case "covers":
		if set == decisions.SetAllow {
			return nil
		}
		return fmt.Errorf("only allow rules have a member covers, this one is a rule of %s", set)
	}
	return fmt.Errorf("no member %q is known", name)
}

// readElement reads what a rule added to its set.
func readElement(v ast.Value, set decisions.Set) (*element, error) {
	var e element
	switch v := v.(type) {
	case ast.String:
		e.reason = string(v)
	case ast.Object:
		if err := v.Iter(func(k, t *ast.Term) error { return e.member(k, t, set) }); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("adds a value that is neither a string nor an object to %s", set)
	}
	e.reason, e.message = clean(e.reason, maxReason), clean(e.message, maxMessage)
	if strings.TrimSpace(e.reason) == "" {
		return nil, fmt.Errorf("adds to %s without giving a reason", set)
	}
	return &e, nil
}

func (e *element) member(k, t *ast.Term, set decisions.Set) error {
	name, ok := k.Value.(ast.String)
	if !ok {
		return fmt.Errorf("adds an object to %s with a member that is no string", set)
	}
	if err := checkMember(string(name), set); err != nil {
		return err
	}
	text, isText := t.Value.(ast.String)
	switch name {
	case "reason", "message":
		if !isText {
			return fmt.Errorf("the member %s must be a string", string(name))
		}
		if name == "reason" {
			e.reason = string(text)
		} else {
			e.message = string(text)
		}
		return nil
	case "remember":
		b, ok := t.Value.(ast.Boolean)
		if !ok {
			return fmt.Errorf("the member remember must be true or false")
		}
		remember := bool(b)
		e.remember = &remember
		return nil
	}
	return e.readCovers(t.Value)
}

func (e *element) readCovers(v ast.Value) error {
	each := func(t *ast.Term) error {
		name, ok := t.Value.(ast.String)
		if !ok {
			return fmt.Errorf("the member covers must hold strings")
		}
		switch name {
		case "unknown":
			e.coversUnknown = true
			return nil
		case incomplete:
			e.coversOnlyNamed = true
			return nil
		}
		tag, ok := effects.ParseTag(string(name))
		if !ok || !guardedTags.Has(tag) {
			return fmt.Errorf("covers names %q, which is neither a guarded tag (%s), unknown nor %s",
				string(name), strings.Join(guardedTags.Names(), ", "), incomplete)
		}
		e.covers = e.covers.With(tag)
		return nil
	}
	switch v := v.(type) {
	case *ast.Array:
		return v.Iter(each)
	case ast.Set:
		return v.Iter(each)
	}
	return fmt.Errorf("the member covers must be a list of tags")
}

// guardedTags are the tags that are guarded for some kind of effect.
var guardedTags = func() effects.Tags {
	var tags effects.Tags
	for _, kind := range effects.Kinds {
		e := effects.Effect{Kind: kind, Tags: ^effects.Tags(0)}
		tags |= e.Guarded()
	}
	return tags
}()

// clean makes a rule's text fit for a terminal and a dialog: one line without
// control or bidirectional characters, truncated to a limit. A reason may have
// been built from words of the call.
func clean(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return utf8.RuneError
		}
		return r
	}, s)
	if len(s) <= limit {
		return s
	}
	cut := limit
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
