package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
)

// TestRememberSelect: the daemon selects the choices that a filter describes, as going through
// the whole list does, in parts of any length, from either end, with their number.
func TestRememberSelect(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it goes through the list for each filter; TestChoiceMarks is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, "root", "etc", "permd", "policy.d", "rules.yaml"), "deny:\n  connect: [\"*.evil.example\"]\n")
	d.start(t, "--root", filepath.Join(d.home, "root"))
	project := d.project(t, map[string]string{"a.txt": "a"})
	w := d.waitsFor(t, project, "s1", "curl -X POST https://api.example.com/one")
	d.permd(t, "allow", w.id, "--width", "w1", "--for", "2h")
	w = d.waitsFor(t, project, "s2", "rm a.txt")
	d.permd(t, "deny", w.id, "--width", "r1", "--scope", "user")
	for i := range 6 {
		d.permd(t, "remember", "add", "run", fmt.Sprintf("frob build %d", i), "--dir", project)
	}
	d.permd(t, "remember", "add", "run", "frob build *", "--dir", project, "--for", "3d")
	d.permd(t, "remember", "add", "run", "frob build *", "--scope", "user")
	d.permd(t, "remember", "add", "connect", "x.evil.example", "--scope", "user")
	d.permd(t, "remember", "add", "--reject", "write", "./docs/**", "--dir", project, "--for", "30d")
	all := d.choices(t)
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	var shown admin.Choices
	if err := d.manage(t, admin.MethodChoicesShow, map[string]any{"choiceIds": ids}, &shown); err != nil || len(shown.Choices) != len(all) {
		t.Fatalf("%d of %d: %v", len(shown.Choices), len(all), err)
	}
	all = shown.Choices
	has := func(c *admin.Choice, kind, text string) bool {
		parts := c.Parts
		if len(parts) == 0 {
			parts = []admin.ChoicePart{{Kind: c.Kind, Rule: c.Rule}}
		}
		return slices.ContainsFunc(parts, func(p admin.ChoicePart) bool { return (kind == "" || p.Kind == kind) && strings.Contains(p.Rule, text) })
	}
	now := time.Now()
	none, selected := 0, map[string]int{}
	for name, tt := range map[string]struct {
		f    admin.ChoiceFilter
		fits func(c *admin.Choice) bool
	}{
		"all":         {admin.ChoiceFilter{}, func(*admin.Choice) bool { return true }},
		"kind":        {admin.ChoiceFilter{Kind: "run"}, func(c *admin.Choice) bool { return has(c, "run", "") }},
		"verdict":     {admin.ChoiceFilter{Verdict: decisions.Deny}, func(c *admin.Choice) bool { return c.Verdict == "deny" }},
		"scope":       {admin.ChoiceFilter{Scope: "user"}, func(c *admin.Choice) bool { return c.Scope == "user" }},
		"project":     {admin.ChoiceFilter{Project: project}, func(c *admin.Choice) bool { return c.Of == project }},
		"text":        {admin.ChoiceFilter{Text: "build"}, func(c *admin.Choice) bool { return has(c, "", "build") }},
		"kind, text":  {admin.ChoiceFilter{Kind: "connect", Text: "evil"}, func(c *admin.Choice) bool { return has(c, "connect", "evil") }},
		"covered":     {admin.ChoiceFilter{Covered: true}, func(c *admin.Choice) bool { return c.CoveredBy != "" }},
		"useless":     {admin.ChoiceFilter{Useless: true}, func(c *admin.Choice) bool { return c.DeniedBy != "" }},
		"expiring":    {admin.ChoiceFilter{ExpiringIn: 7 * 24 * 3600}, func(c *admin.Choice) bool { return !c.Expires.IsZero() && c.Expires.Before(now.AddDate(0, 0, 7)) }},
		"agent":       {admin.ChoiceFilter{Agent: "claude-code"}, func(c *admin.Choice) bool { return c.From != nil && c.From.Agent == "claude-code" }},
		"tool":        {admin.ChoiceFilter{Tool: "Bash"}, func(c *admin.Choice) bool { return c.From != nil && c.From.Tool == "Bash" }},
		"several":     {admin.ChoiceFilter{Covered: true, Verdict: decisions.Allow, Text: "build"}, func(c *admin.Choice) bool { return c.CoveredBy != "" && has(c, "", "build") }},
		"id":          {admin.ChoiceFilter{ID: ids[2][:4]}, func(c *admin.Choice) bool { return strings.HasPrefix(c.ID, ids[2][:4]) }},
		"another":     {admin.ChoiceFilter{Agent: "nobody"}, func(*admin.Choice) bool { return false }},
		"unconfirmed": {admin.ChoiceFilter{Unconfirmed: true}, func(c *admin.Choice) bool { return c.Unconfirmed }},
		"dormant":     {admin.ChoiceFilter{Dormant: true}, func(c *admin.Choice) bool { return c.Dormant }},
	} {
		var want []string
		for i := range all {
			if tt.fits(&all[i]) {
				want = append(want, all[i].ID)
			}
		}
		if selected[name] = len(want); len(want) == 0 {
			none++
		}
		for _, newest := range []bool{false, true} {
			want := slices.Clone(want)
			if newest {
				slices.Reverse(want)
			}
			for limit := range 4 {
				var got []string
				q := admin.ChoiceQuery{Limit: limit, Newest: newest, ChoiceFilter: tt.f}
				for more := true; more; more = q.After != "" {
					var page admin.Choices
					if err := d.manage(t, admin.MethodChoicesList, q, &page); err != nil {
						t.Fatal(err)
					}
					if page.Total != len(want) || page.All != len(all) || len(page.Choices) > cmp.Or(limit, admin.MaxList) {
						t.Errorf("%s: %d of %d, and %d in a part of %d; want %d of %d", name, page.Total, page.All, len(page.Choices), limit, len(want), len(all))
					}
					for i := range page.Choices {
						got = append(got, page.Choices[i].ID)
					}
					q.After = page.Next
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, in parts of %d, newest first %v: %v, want %v", name, limit, newest, got, want)
				}
			}
		}
	}
	if none > 3 { // nothing is dormant or unconfirmed yet, and nobody is no agent
		t.Errorf("%d filters select nothing", none)
	}
	for _, bad := range []map[string]any{{"limit": -1}, {"limit": 1001}, {"expiringIn": -1}, {"verdict": "ask"}, {"text": strings.Repeat("x", 5000)}} {
		if err := d.manage(t, admin.MethodChoicesList, bad, &admin.Choices{}); err == nil {
			t.Errorf("%v is no error", bad)
		}
	}
	for args, name := range map[string]string{
		"--useless": "useless", "--tool Bash": "tool", "--text build": "text", "--expiring 7d": "expiring", "--agent claude-code": "agent", "--covered": "covered", "--kind connect --text evil": "kind, text",
	} {
		if list := objects[admin.Choice](t, d, append([]string{"remember", "list"}, strings.Fields(args)...)...); len(list) != selected[name] {
			t.Errorf("permd remember list %s: %d choices, want %d", args, len(list), selected[name])
		}
	}
}

// TestExportByID: an export names choices by their ids, or by a filter.
func TestExportByID(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	var ids []string
	for _, line := range []string{"frob a", "frob b", "frob c"} {
		ids = append(ids, strings.Fields(d.permd(t, "remember", "add", "run", line, "--dir", project))[0])
	}
	out := d.permd(t, "remember", "export", ids[0], ids[2][:8])
	if !strings.Contains(out, "'frob a'") || strings.Contains(out, "'frob b'") || !strings.Contains(out, "'frob c'") {
		t.Errorf("two of three are exported as\n%s", out)
	}
	for want, args := range map[string][]string{"exclude each other": {ids[0], "--kind", "run"}, "no choice": {"aaaaaaaaaaaa"}} {
		if out, errs, code := printed(d.command(append([]string{"remember", "export"}, args...)...)); code == 0 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("permd remember export %q: %d %s%s", args, code, out, errs)
		}
	}
}
