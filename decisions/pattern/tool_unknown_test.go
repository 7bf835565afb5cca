package pattern

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestToolOfUnknownServer: a tool that is called through another one, which does not say
// on which server, may be that of a deny. It is never that of an allow of a server.
func TestToolOfUnknownServer(t *testing.T) {
	for _, test := range []struct {
		line, tool string
		touches    bool
	}{
		{"github:merge", "merge", true},
		{"github:merge", "github_merge", true},
		{"github:merge", "github__merge", true},
		{"github:merge", "github/merge", true},
		{"github:merge", "github:merge", true},
		{"github:merge", "gitlab:merge", false},
		{"github:merge", "emerge", false},
		{"github:merge", "githubmerge", false},
		{"github:merge", "merge_github", false},
		{"github:merge", "merge_all", false},
		{"git*:get_*", "github.get_pr", true},
		{"git*:get_*", "get_pr", true},
		{"git*:get_*", "svn.get_pr", false},
		{"merge", "merge", false}, // the agent's own tool
	} {
		p, err := Parse(effects.KindUse, test.line)
		if err != nil {
			t.Fatal(err)
		}
		e := effects.Effect{Kind: effects.KindUse, Use: &effects.Use{Server: effects.UnknownServer, Tool: test.tool}}
		if got := p.Touches(&e, Context{}); got != test.touches {
			t.Errorf("%s touches %s: %v", test.line, test.tool, got)
		}
		if p.Match(&e, nil, Context{}) {
			t.Errorf("%s allows %s of a server that is not known", test.line, test.tool)
		}
	}
}

// TestToolWithJoinedName: some agents write the names of a server and its tool as one
// (github_merge, mcp_github_merge), and name no server apart. A deny of the server's tool
// means that, too; an allow does not.
func TestToolWithJoinedName(t *testing.T) {
	for _, test := range []struct {
		line, tool, source string
		touches            bool
	}{
		{"github:merge", "github_merge", "", true},
		{"github:merge", "mcp_github_merge", "", true},
		{"github:merge", "mcp__github_merge", "", true},
		{"github:merge", "github-merge", "", true},
		{"a__b:c", "mcp__a__b__c", "", true},
		{"a:b__c", "mcp__a__b__c", "", true},
		{"*:delete_*", "github_delete_repo", "", true},
		{"github:merge", "merge", "", false}, // a tool without a server may have the same name
		{"github:merge", "mcp_merge", "", false},
		{"github:merge", "mygithub_merge", "", false},
		{"github:merge", "github_merge_all", "", false},
		{"web:search", "web_search", effects.AgentSource, false},
		{"merge", "github_merge", "", false},
	} {
		p, err := Parse(effects.KindUse, test.line)
		if err != nil {
			t.Fatal(err)
		}
		e := effects.Effect{Kind: effects.KindUse, Use: &effects.Use{Tool: test.tool, Source: test.source}}
		if got := p.Touches(&e, Context{}); got != test.touches {
			t.Errorf("%s touches %s: %v", test.line, test.tool, got)
		}
		if p.Match(&e, nil, Context{}) {
			t.Errorf("%s allows %s, which names no server", test.line, test.tool)
		}
	}
}

// TestToolClaimed: if nothing but a claim says whose tool it is, a deny of a server's tool
// means every tool of that name.
func TestToolClaimed(t *testing.T) {
	for _, test := range []struct {
		line, server, tool, source string
		touches                    bool
	}{
		{"github:merge", "", "merge", "", true},
		{"git*:*erge", "", "merge", "", true},
		{"github:merge@1", "", "merge", "", true},
		{"github:merge", "", "github_merge", "", true},
		{"github:merge", "", "gitlab_merge", "", false},
		{"github:merge", "", "emerge", "", false},
		{"github:merge", "gitlab", "merge", "", false},
		{"github:merge", "", "merge", effects.AgentSource, false},
	} {
		p, err := Parse(effects.KindUse, test.line)
		if err != nil {
			t.Fatal(err)
		}
		e := effects.Effect{Kind: effects.KindUse, Claimed: true, Use: &effects.Use{Server: test.server, Tool: test.tool, Version: "1.0.0", Source: test.source}}
		if got := p.Touches(&e, Context{}); got != test.touches {
			t.Errorf("%s touches %s: %v", test.line, test.tool, got)
		}
		if p.Match(&e, nil, Context{}) {
			t.Errorf("%s allows %s, which names no server", test.line, test.tool)
		}
	}
}

// TestToolCase: a deny, an ask or a reject holds for a tool's and a server's name in any
// case, an allow only as it is written.
func TestToolCase(t *testing.T) {
	spell := []func(string) string{
		strings.ToUpper, strings.ToLower, strings.ToTitle,
		func(s string) string { return strings.NewReplacer("k", "\u212a", "s", "\u017f").Replace(s) },
	}
	for _, line := range []string{"Sms:DeleteAll", "Sms:Delete*", "S*:*eAll", "Sms:DeleteAll@1.0.0-Rc", "Sms:DeleteAll@*Rc", "Kiosk:Task"} {
		p, err := Parse(effects.KindUse, line)
		if err != nil {
			t.Fatal(err)
		}
		for i, as := range spell {
			for _, server := range []string{"Sms", "Kiosk", effects.UnknownServer} {
				tool := map[string]string{"Sms": "DeleteAll", "Kiosk": "Task", effects.UnknownServer: "Sms.DeleteAll"}[server]
				exact := effects.Effect{Kind: effects.KindUse, Use: &effects.Use{Server: server, Tool: tool, Version: "1.0.0-Rc"}}
				e := exact
				e.Use = &effects.Use{Server: as(server), Tool: as(tool), Version: as("1.0.0-Rc")}
				if got, want := p.Touches(&e, Context{}), p.Touches(&exact, Context{}); got != want {
					t.Errorf("%s, spelling %d: touches %s:%s: %v", line, i, e.Use.Server, e.Use.Tool, got)
				}
				if !strings.Contains(line, "*") && p.Match(&e, nil, Context{}) {
					t.Errorf("%s allows %s:%s", line, e.Use.Server, e.Use.Tool)
				}
			}
		}
	}
}
