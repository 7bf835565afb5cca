package policy

import (
	"testing"

	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/rego"
)

// TestProfilesSchema checks that the schema accepts the shipped profiles, and of the files
// of layers those whose form the reader accepts.
func TestProfilesSchema(t *testing.T) {
	t.Parallel()
	if ok, why := fits(t, rego.Profiles(), rego.ProfilesSchema()); !ok {
		t.Errorf("the shipped profiles do not fit the schema: %.400s", why)
	}
	shipped, err := tools.ParseProfiles(rego.Profiles())
	if err != nil {
		t.Fatal(err)
	}
	const agent = "version: 1\nagents: [{id: teambot, names: [teambot], "
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"an agent":              {agent + "tools: {read: [open]}}]", true},
		"a shape":               {"version: 1\nshapes: {ours: {command: [script], harmless: [why], needs: [command]}}\nagents: [{id: a, names: [a], beside: [], tools: {ours: [run]}}]", true},
		"a use":                 {"version: 1\nshapes: {ours: {use: plain}}", true},
		"all of an agent":       {agent + "versions: \">=1.2 <2\", identity: [meta], claimedName: true, kind: hint, title: command, argv: true, freshShell: true, shells: [bash], interactive: true, claimed: [diffs], metaName: [a, b], byKind: {read: open}, beside: [why], tools: {read: [open]}}]", true},
		"a title":               {agent + "titles: [{prefix: \"Open \", shape: read}]}]", true},
		"nothing":               {"", true},
		"no version":            {"agents: []", false},
		"another version":       {"version: 2", false},
		"a list":                {"- x", false},
		"an unknown key":        {"version: 1\nagent: []", false},
		"an unknown one":        {agent + "tolls: {}}]", false},
		"an unknown role":       {"version: 1\nshapes: {ours: {execute: [script]}}", false},
		"no names":              {"version: 1\nagents: [{id: a}]", false},
		"no id":                 {"version: 1\nagents: [{names: [a]}]", false},
		"an empty name":         {"version: 1\nagents: [{id: a, names: [\"\"]}]", false},
		"an empty member":       {"version: 1\nshapes: {ours: {read: [\"\"], needs: [read]}}", false},
		"a flag in quotes":      {agent + "liveShell: \"true\"}]", false},
		"a word for a list":     {"version: 1\nagents: [{id: a, names: a}]", false},
		"tools as a list":       {agent + "tools: [open]}]", false},
		"a need":                {"version: 1\nshapes: {ours: {read: [path], needs: [path]}}", false},
		"a use of another kind": {"version: 1\nshapes: {ours: {use: people}}", false},
		"a shell":               {agent + "shells: [fish]}]", false},
		"a kind of ACP":         {agent + "byKind: {run: open}, tools: {read: [open]}}]", false},
		"an identity":           {agent + "identity: [name]}]", false},
		"a claim":               {agent + "claimed: [text]}]", false},
		"versions":              {agent + "versions: \"1.2\"}]", false},
		"a title without text":  {agent + "titles: [{shape: read}]}]", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ok, why := fits(t, []byte(c.text), rego.ProfilesSchema())
			if ok != c.ok {
				t.Errorf("it fits the schema: %t (%s)", ok, why)
			}
			if _, errs := shipped.ParseLayer(map[string][]byte{"profiles.yaml": []byte(c.text)}, false); (errs == nil) != c.ok {
				t.Errorf("the reader says: %v", errs)
			}
		})
	}
}
