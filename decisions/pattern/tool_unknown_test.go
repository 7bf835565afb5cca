package pattern

import (
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
