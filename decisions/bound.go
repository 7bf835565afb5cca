package decisions

import (
	"slices"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects"
)

// Bounds of what a record stores, in bytes of JSON. A call of some megabytes has as
// many effects, and the log would be full of what nobody reads.
const (
	maxStoredText    = 4 << 10  // of one text
	maxStoredEffects = 64 << 10 // of all effects with their details
	maxStoredList    = 16 << 10 // of all widths, and of all defects
)

// bound cuts the record to what is stored. It changes nothing that others hold.
func (r *Record) bound() {
	d := &r.Decision
	for _, s := range []*string{
		&d.CallID, &d.Reason, &d.Message, &d.NotRemembered, &r.Agent.Name, &r.Agent.Version, &r.Client.Name, &r.Client.Version,
		&r.Session.ID, &r.Session.Mode, &r.Protocol, &r.Tool, &r.Declared, &r.ClaimedUser, &r.ClaimedTrace, &r.ClaimedKind, &r.ClaimedTitle, &r.ClaimedStatus, &r.Cwd, &r.Project, &r.Reconsiders,
	} {
		*s = clipStored(*s)
	}
	r.Session.Ancestors = boundTexts(r.Session.Ancestors)
	paths := len(r.ClaimedPaths)
	r.ClaimedPaths = boundTexts(r.ClaimedPaths)
	r.MorePaths += paths - len(r.ClaimedPaths)
	r.ClaimedOptions, r.ClaimedMeta = boundTexts(r.ClaimedOptions), boundTexts(r.ClaimedMeta)
	d.Defects = boundList(d.Defects, func(f *effects.Defect) int {
		f.At, f.Text = clipStored(f.At), clipStored(f.Text)
		return cost(f.Code, f.At, f.Text)
	})
	d.Effects = withoutTexts(d.Effects)
	d.Widths = boundList(d.Widths, func(w *Width) int { return cost(w.ID, w.Label, w.Rule, w.Scope) })
	r.boundEffects()
}

// boundEffects leaves out effects if they are too many, the mildest and latest
// first, and says how many.
func (r *Record) boundEffects() {
	all := r.Decision.Effects
	detailed := len(r.Details) == len(all)
	size := func(i int) int {
		n := effectCost(&all[i])
		if detailed {
			n += detailCost(&r.Details[i])
		}
		return n
	}
	total := 0
	for i := range all {
		total += size(i)
	}
	if total <= maxStoredEffects {
		return
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return all[b].Verdict.strictness() - all[a].Verdict.strictness() })
	left := maxStoredEffects
	kept := order[:0]
	for _, i := range order {
		if n := size(i); n <= left {
			left -= n
			kept = append(kept, i)
		}
	}
	slices.Sort(kept)
	effs, details := make([]EffectDecision, len(kept)), make([]EffectDetail, 0, len(kept))
	for n, i := range kept {
		effs[n] = all[i]
		if detailed {
			details = append(details, r.Details[i])
		}
	}
	r.LeftOut = len(all) - len(kept)
	r.Decision.Effects, r.Details = effs, details
}

func effectCost(e *EffectDecision) int {
	n := cost(string(e.Kind), e.Text, e.From, string(e.Verdict), e.Reason, e.ChoiceID) + cost(e.Tags...)
	if o := e.Outdated; o != nil {
		n += cost(o.ChoiceID, o.What, string(o.How), o.Was, o.Now) + 64
	}
	for i := range e.Rules {
		n += cost(e.Rules[i].ID, e.Rules[i].Title, e.Rules[i].At, string(e.Rules[i].Layer))
	}
	return n
}

func detailCost(d *EffectDetail) int {
	return cost(d.Path, d.Host, d.Method, d.Server, d.Tool, d.Version) + cost(d.Words...)
}

// boundList returns a copy of the elements of a list that fit, each as change makes
// it, which returns its size.
func boundList[T any](list []T, change func(*T) int) []T {
	if list == nil {
		return nil
	}
	kept, left := make([]T, 0, len(list)), maxStoredList
	for _, x := range list {
		if left -= change(&x); left < 0 {
			break
		}
		kept = append(kept, x)
	}
	return kept
}

// boundTexts is boundList for texts, and returns the list itself if all of it fits as it is.
func boundTexts(list []string) []string {
	left := maxStoredList
	for _, s := range list {
		if left -= cost(s); left < 0 || len(s) > maxStoredText {
			return boundList(list, func(s *string) int { *s = clipStored(*s); return cost(*s) })
		}
	}
	return list
}

// cost is at least the size of strings in JSON, with their names.
func cost(texts ...string) int {
	n := 0
	for _, s := range texts {
		n += 16 + len(s)
		for i := range len(s) {
			switch c := s[i]; {
			case c < ' ':
				n += 5 // \u0000
			case c == '"' || c == '\\':
				n++
			case c >= utf8.RuneSelf:
				n += 2 // U+FFFD for a byte that is not UTF-8
			}
		}
	}
	return n
}

// clipStored cuts a text.
func clipStored(s string) string {
	if len(s) <= maxStoredText {
		return s
	}
	n := maxStoredText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
