package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMCPHideDenied: with --hide-denied, tools that a list denies are not listed, and denied all
// the same. One that a rule in Rego denies for some calls is listed. Listing records nothing.
func TestMCPHideDenied(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, rules, rego, want string
		project                 bool
	}{
		{"a list", "deny:\n  use: [\"test:wipe\"]\n", "", "echo", false},
		{"a pattern", "deny:\n  use: [\"*:*e\"]\n", "", "echo", false},
		{"one version of it", "deny:\n  use: [\"test:wipe@1\"]\n", "", "echo wipe", false},
		{"a rule in Rego", "", `deny contains "x" if { input.effect.tool == "wipe"; not input.effect.arguments.text == "x" }`, "echo wipe", false},
		{"an ask", "ask:\n  use: [\"test:wipe\"]\n", "", "echo wipe", false},
		{"a list of the project", "deny:\n  use: [\"test:wipe\"]\n", "", "echo wipe", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && tt.name != "a list" {
				t.Skip("long: a daemon for each kind of rule; a list is the quick one")
			}
			t.Parallel()
			d := newTestDaemon(t)
			folder := filepath.Join(d.home, ".config", "permd", "policy.d")
			if tt.project {
				folder = filepath.Join(d.home, "project", ".permd")
			}
			if tt.rules != "" {
				writeFile(t, filepath.Join(folder, "rules.yaml"), tt.rules)
			}
			if tt.rego != "" {
				d.policy(t, "wipe.rego", tt.rego)
			}
			d.start(t)
			c := d.startMCP(t, "says it", "", "--hide-denied")
			if got := c.tools(t); got != tt.want {
				t.Errorf("the client is told of %s, want %s", got, tt.want)
			}
			if out, err := d.command("log").CombinedOutput(); err != nil || strings.Contains(string(out), "wipe") {
				t.Errorf("the log has %s, %v", out, err)
			}
			if tt.want == "echo" {
				wantHas(t, "a hidden tool", c.call(t, "wipe", "a"), "permd denied this call")
				d.kill()
				if got := c.tools(t); got != "echo wipe" {
					t.Errorf("without a daemon the client is told of %s", got)
				}
			}
			c.wantCalls(t, "")
		})
	}
}

// tools returns the names of the tools that the client gets from tools/list.
func (c *mcpClient) tools(t *testing.T) string {
	t.Helper()
	list, err := c.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
