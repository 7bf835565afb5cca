package tools

import (
	"fmt"
	"slices"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestClaimedPathsReachDenies names a path in nothing but a location, or a diff, of calls of
// every tool of every agent, with inputs of several shapes: effects or hints are about it,
// which denies see. What rules see as claimed has it in any case.
func TestClaimedPathsReachDenies(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it makes 157,344 calls; TestHints is the quick one")
	}
	const path = effectstest.Cwd + "/migrations/1.sql"
	w := toolWorld(t)
	agents := []*profile{nil}
	agents = append(agents, w.Profiles.agents...)
	tried := 0
	for _, p := range agents {
		id, names := "nobody", []string{"", "mcp__srv__touch", "odd", "Bash", "Edit", "read_file"}
		if p != nil {
			id = p.id
			for name := range p.tools {
				names = append(names, name)
			}
		}
		for _, name := range names {
			for _, input := range []string{"", `{}`, `{"command":"ls"}`, `{"file_path":"` + effectstest.Cwd + `/a"}`, `{"x":[{"y":1}]}`, `"text"`} {
				for _, kind := range []string{"", "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"} {
					for _, claims := range []effects.Claims{
						{Locations: []effects.Location{{Path: path, From: "locations[0].path"}}},
						{Diffs: []effects.Diff{{Path: path, From: "content[0]"}}},
						{Diffs: []effects.Diff{{Path: path, Operation: "delete", From: "content[0]"}}},
						{Diffs: []effects.Diff{{Path: effectstest.Cwd + "/b", OldPath: path, Operation: "move", From: "content[0]"}}},
					} {
						claims.Kind = kind
						c := &effects.Call{Protocol: "acp", Tool: effects.Tool{Name: name}, Agent: effects.Party{Name: id}, Cwd: effectstest.Cwd, Claims: claims}
						if input != "" {
							c.Input = []byte(input)
						}
						r := w.Effects(c)
						is := fmt.Sprintf("%s: %q with %s, kind %q, %+v", id, name, input, kind, claims)
						if !slices.ContainsFunc(r.Claimed, func(c effects.ClaimedPath) bool { return c.Path == path && c.Tags.Has(effects.InProject) }) {
							t.Fatalf("%s: claimed are %+v", is, r.Claimed)
						}
						tried++
						about := func(e effects.Effect) bool { return e.File != nil && e.File.Path == path }
						if slices.ContainsFunc(r.Effects, about) || slices.ContainsFunc(r.Hints, about) || slices.ContainsFunc(r.Rest, about) {
							continue
						}
						t.Fatalf("%s: no deny sees it: %q", is, lines(r))
					}
				}
			}
		}
	}
	if tried < 10_000 {
		t.Errorf("tried only %d calls", tried)
	}
}

// TestClaimedPaths has what rules see of claimed paths.
func TestClaimedPaths(t *testing.T) {
	w := toolWorld(t)
	at := func(list ...string) (out []effects.Location) {
		for _, p := range list {
			out = append(out, effects.Location{Path: p, From: "locations"})
		}
		return out
	}
	cwd := effectstest.Cwd
	many := make([]string, maxHints+1)
	for i := range many {
		many[i] = fmt.Sprintf("%s/%d", cwd, i)
	}
	for _, tt := range []struct {
		name   string
		claims effects.Claims
		cwd    string
		want   []string // source, operation, path, whether it is in the project
	}{
		{"nothing", effects.Claims{}, cwd, nil},
		{"a location", effects.Claims{Locations: at("src/../.env")}, cwd, []string{"location  " + cwd + "/.env true secret"}},
		{"outside", effects.Claims{Locations: at("/etc/shadow")}, cwd, []string{"location  /etc/shadow false secret"}},
		{"no folder", effects.Claims{Locations: at("a")}, "", []string{"location   false"}},
		{"a diff that moves", effects.Claims{Diffs: []effects.Diff{{Path: "a", OldPath: "b", Operation: "move"}}}, cwd,
			[]string{"diff move " + cwd + "/a true", "old_path move " + cwd + "/b true"}},
	} {
		r := w.Effects(&effects.Call{Protocol: "acp", Agent: effects.Party{Name: "nobody"}, Cwd: tt.cwd, Claims: tt.claims})
		var got []string
		for _, c := range r.Claimed {
			line := fmt.Sprintf("%s %s %s %t", c.Source, c.Operation, c.Path, c.Tags.Has(effects.InProject))
			if c.Tags.Has(effects.Secret) {
				line += " secret"
			}
			if c.Tags.Has(effects.Outside) == c.Tags.Has(effects.InProject) {
				line += " of no place"
			}
			got = append(got, line)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	r := w.Effects(&effects.Call{Protocol: "acp", Agent: effects.Party{Name: "claude-code"}, Tool: effects.Tool{Name: "Bash"},
		Input: []byte(`{"command":"ls"}`), Cwd: cwd, Claims: effects.Claims{Kind: "execute", Locations: at(many...)}})
	if len(r.Claimed) != maxHints || r.Missing == "" {
		t.Errorf("%d of %d paths, and missing is %q", len(r.Claimed), len(many), r.Missing)
	}
}
