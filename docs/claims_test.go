package docs

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// TestClaims decides calls with the rules that policy.md shows for what agents say of a call.
func TestClaims(t *testing.T) {
	text := ""
	for _, b := range read(t, "policy.md").blocks {
		if b.info == "rego" && strings.Contains(b.text, "claimed_paths") {
			text += b.text
		}
	}
	with := newWorld(t, rules{user: folder(t, map[string]string{"claims.rego": text})})
	without := newWorld(t, rules{})
	diff := func(path, old string) []effects.Diff {
		return []effects.Diff{{Path: path, OldPath: old, Operation: "move", From: "content[0]"}}
	}
	at := func(path string) []effects.Location {
		return []effects.Location{{Path: path, From: "locations[0].path"}}
	}
	for _, tt := range []struct {
		name          string
		claims        effects.Claims
		want, another decisions.Verdict // with the rules, and without
	}{
		{"nothing said", effects.Claims{}, decisions.Allow, decisions.Allow},
		{"a diff of a migration", effects.Claims{Diffs: diff("migrations/0002.sql", "")}, decisions.Deny, decisions.Ask},
		{"a migration that is moved away", effects.Claims{Diffs: diff("src/a", "migrations/0001.sql")}, decisions.Deny, decisions.Ask},
		{"the location of a migration", effects.Claims{Locations: at("migrations/0001.sql")}, decisions.Allow, decisions.Allow},
		{"the location of a secret", effects.Claims{Locations: at(home + "/.ssh/id_ed25519")}, decisions.Ask, decisions.Ask},
		{"pending", effects.Claims{Status: "pending"}, decisions.Allow, decisions.Allow},
		{"in progress", effects.Claims{Status: "in_progress"}, decisions.Ask, decisions.Allow},
		{"no way to refuse", effects.Claims{Options: []string{"allow_once", "allow_always"}}, decisions.Deny, decisions.Allow},
		{"a way to refuse", effects.Claims{Options: []string{"allow_once", "reject_once"}}, decisions.Allow, decisions.Allow},
		{"a whole folder", effects.Claims{Meta: []byte(`{"codex":{"params":{"grantRoot":"/srv"}}}`)}, decisions.Ask, decisions.Allow},
		{"no folder", effects.Claims{Meta: []byte(`{"codex":{"params":{"grantRoot":null}}}`)}, decisions.Allow, decisions.Allow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := with.call(t, "git status")
			c.Protocol, c.Claims = "acp", tt.claims
			for _, w := range []struct {
				*world
				want decisions.Verdict
			}{{with, tt.want}, {without, tt.another}} {
				if d := w.decide(t, c); d.Verdict != w.want {
					t.Errorf("%s (%s), want %s", d.Verdict, d.Reason, w.want)
				}
			}
		})
	}
}
