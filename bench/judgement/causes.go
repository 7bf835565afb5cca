package main

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// cause is a reason why calls are asked, or something unknown in them.
type cause struct {
	kind   string // kind of the effect
	what   string // the program and sub-command, the tool, or the host
	reason string
	rule   string
	calls  int
	// weight is its share of all calls, weighted by repository. alone is the share
	// of calls that are asked for this cause only, which would not be asked without
	// it.
	weight, alone float64
}

// causes sums up equal causes.
type causes map[string]*cause

func (c causes) add(x cause, alone bool, weight float64) {
	key := strings.Join([]string{x.kind, x.what, x.reason, x.rule}, "\x00")
	have := c[key]
	if have == nil {
		have = &x
		c[key] = have
	}
	have.calls++
	have.weight += weight
	if alone {
		have.alone += weight
	}
}

// sorted returns the causes, those with the greatest weight first.
func (c causes) sorted() []cause {
	var list []cause
	for _, x := range c {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b cause) int {
		return cmp.Or(
			cmp.Compare(b.weight, a.weight), cmp.Compare(b.calls, a.calls),
			strings.Compare(a.kind, b.kind), strings.Compare(a.what, b.what), strings.Compare(a.reason, b.reason), strings.Compare(a.rule, b.rule),
		)
	})
	return list
}

// asks returns the distinct causes of a question.
func (o *result) asks() []cause {
	if len(o.Effects) == 0 {
		return []cause{{kind: "-", reason: o.Reason}}
	}
	var list []cause
	for i := range o.Effects {
		d := &o.Effects[i]
		if d.Verdict == decisions.Allow {
			continue
		}
		x := cause{kind: string(d.Kind), reason: d.Reason, what: o.subject(i)}
		if d.Kind == effects.KindUnknown {
			x.reason, _, _ = strings.Cut(strings.TrimPrefix(d.Reason, "not understood: "), ": ")
		}
		if len(d.Rules) > 0 {
			x.rule = d.Rules[0].ID
		}
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list
}

// subject returns a short name of what an effect is about.
func (o *result) subject(i int) string {
	if i >= len(o.effects) {
		return ""
	}
	e := &o.effects[i]
	switch {
	case e.Run != nil:
		return programOf(e.Run)
	case e.Use != nil:
		return strings.Trim(e.Use.Server+":"+e.Use.Tool, ":")
	case e.Via != nil && e.Via.Effect >= 0 && e.Via.Effect < len(o.effects) && o.effects[e.Via.Effect].Run != nil:
		return "of " + programOf(o.effects[e.Via.Effect].Run)
	}
	return ""
}

func programOf(r *effects.Run) string {
	name := r.Program
	switch {
	case name == effects.DynamicWord:
		name = "(only known when it runs)"
	case strings.Contains(name, "/"):
		name = "(path) " + path.Base(name)
	}
	if r.Subcommand != "" {
		name += " " + r.Subcommand
	}
	return name
}

// unknown reports whether a call runs an unknown program, and whether it has an
// unknown effect.
func (o *result) unknown() (program, effect bool) {
	for i := range o.effects {
		e := &o.effects[i]
		program = program || e.Run != nil && !e.Run.Known
		effect = effect || e.Kind == effects.KindUnknown
	}
	return program, effect
}

// notPlain returns the distinct constructs for which a call's shell text is not
// plain.
func (o *result) notPlain() []string {
	var list []string
	for i := range o.effects {
		if e := &o.effects[i]; e.Cause == effects.CauseNotPlain && !slices.Contains(list, string(e.Construct)) {
			list = append(list, string(e.Construct))
		}
	}
	return list
}

// programs returns the distinct unknown programs of a call.
func (o *result) programs() []cause {
	var list []cause
	for i := range o.effects {
		if e := &o.effects[i]; e.Run != nil && !e.Run.Known {
			if x := (cause{kind: "run", what: programOf(e.Run)}); !slices.Contains(list, x) {
				list = append(list, x)
			}
		}
	}
	return list
}

// mysteries returns the reasons of the distinct unknown effects of a call.
func (o *result) mysteries() []cause {
	var list []cause
	for i := range o.effects {
		if e := &o.effects[i]; e.Kind == effects.KindUnknown {
			why, _, _ := strings.Cut(e.Why, ": ") // the part before words of the call
			if x := (cause{kind: "unknown", what: o.subject(i), reason: why}); !slices.Contains(list, x) {
				list = append(list, x)
			}
		}
	}
	return list
}
