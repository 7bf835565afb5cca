package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/bench/shipped"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// draft collects the rules of a person: lines of a list, and Rego.
type draft struct {
	lines   map[decisions.Verdict]map[effects.Kind][]string
	rego    []string
	refused []string // lines that permd refuses
	paths   bool     // the rules say which files may be read or changed
}

// line adds a line to the list, unless it has it. A line that permd refuses is
// noted instead: permd tells its writer, so the mistake cannot be made.
func (d *draft) line(v decisions.Verdict, kind effects.Kind, line string) {
	if _, err := pattern.Parse(kind, line); err != nil {
		d.refused = append(d.refused, string(kind)+" "+line)
		return
	}
	if d.lines == nil {
		d.lines = map[decisions.Verdict]map[effects.Kind][]string{}
	}
	if d.lines[v] == nil {
		d.lines[v] = map[effects.Kind][]string{}
	}
	if !slices.Contains(d.lines[v][kind], line) {
		d.lines[v][kind] = append(d.lines[v][kind], line)
	}
}

func (d *draft) allow(kind effects.Kind, lines ...string) {
	for _, l := range lines {
		d.line(decisions.Allow, kind, l)
	}
}

func (d *draft) deny(kind effects.Kind, lines ...string) {
	for _, l := range lines {
		d.line(decisions.Deny, kind, l)
	}
}

// files adds a line to each of read, write and delete.
func (d *draft) files(v decisions.Verdict, lines ...string) {
	d.paths = d.paths || v == decisions.Allow
	for _, l := range lines {
		for _, kind := range []effects.Kind{effects.KindRead, effects.KindWrite, effects.KindDelete} {
			d.line(v, kind, l)
		}
	}
}

// rule adds a rule in Rego, unless it is there.
func (d *draft) rule(set, reason string, conditions ...string) {
	r := fmt.Sprintf("%s contains %q if {\n\t%s\n}\n", set, reason, strings.Join(conditions, "\n\t"))
	if !slices.Contains(d.rego, r) {
		d.rego = append(d.rego, r)
	}
}

// everything adds a broad allow: of all effects except guarded and unknown ones,
// which an allow must name.
func (d *draft) everything() {
	d.rule("allow", "everything is allowed", `input.effect.kind in {"run", "read", "write", "delete", "connect", "use", "state"}`)
}

// finish returns the texts of the list and of the policy.
func (d *draft) finish() shipped.User {
	r := shipped.User{Paths: d.paths}
	var list strings.Builder
	for _, v := range []decisions.Verdict{decisions.Allow, decisions.Ask, decisions.Deny} {
		if len(d.lines[v]) == 0 {
			continue
		}
		fmt.Fprintf(&list, "%s:\n", v)
		for _, kind := range pattern.Kinds {
			if lines := d.lines[v][kind]; len(lines) > 0 {
				fmt.Fprintf(&list, "  %s:\n", kind)
				for _, l := range lines {
					fmt.Fprintf(&list, "    - %s\n", text(l)) // JSON is YAML
				}
			}
		}
	}
	r.List = list.String()
	if len(d.rego) > 0 {
		r.Rego = "package permd.user\n\nimport rego.v2\n\n" + strings.Join(d.rego, "\n")
	}
	return r
}
