//go:build cgo

package remember_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/remember"
)

// TestRejectIndex compares the index with a search of every line by
// pattern.Touches.
func TestRejectIndex(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it compares each line with hundreds of calls")
	}
	t.Parallel()
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	understand := func(p *pattern.Pattern) *pattern.Pattern { return p.Resolved(table) }
	o := options(path(t))
	o.Understand = understand
	s := open(t, o)
	a := newAsked(t)
	lines := []string{
		"delete ./a/**", "delete ./a/x", "delete /etc/hosts", "read /etc/**", "read ./**/.env", "write ./b/*.go", "write /tmp/z", "read ./a", "delete ./b", "read /home/ada/**",
		"run git push --force *", "run git push -f origin main", "run rm -r a", "run rm -rf a", "run ls", "run ls *", "run go test ./a", "run ./a/x", "run /p/a/x", "run git commit -m x",
		"run mytool a b", "run mytool *", "run mytool", "run git push origin main", "run git commit -m y", "run git commit", "run npm test", "run docker container rm a", "run sort -o a b", "run python3 -c x",
		"connect *.example.com", "connect api.example.com:443", "connect evil.example.com", "connect 127.0.0.1",
		"use github:*", "use github:get_*", "use *:merge", "use Sms:Send@1", "use Sms:*@1.*", "use Bash",
		"use GitHub:Close_PR", "use sms:*@1.0.0-RC",
	}
	denied, passed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var held []*pattern.Pattern
		var ids []string
		for _, l := range rapid.SliceOfNDistinct(rapid.SampledFrom(lines), 1, 12, func(l string) string { return l }).Draw(t, "lines") {
			kind, line, _ := strings.Cut(l, " ")
			c, err := s.Add(t.Context(), remember.Line{
				UID: ada, Verdict: decisions.Deny, Kind: effects.Kind(kind), Line: line, Project: "/p",
				Scope: rapid.SampledFrom([]remember.ScopeKind{remember.ForUser, remember.ForProject}).Draw(t, "scope"),
			})
			if err != nil {
				t.Fatal(err)
			}
			p, err := pattern.Parse(effects.Kind(kind), line)
			if err != nil {
				t.Fatal(err)
			}
			held, ids = append(held, understand(p)), append(ids, c.ID)
		}
		defer func() {
			if _, err := s.Forget(t.Context(), ids...); err != nil {
				t.Fatal(err)
			}
		}()
		var all []effects.Effect
		for range 4 {
			all = append(all, a.effects(t, drawCommand(t))...)
		}
		version := effects.Use{Server: "Sms", Tool: "Send", Version: "1.0.0"}
		all = append(all, use("github", "get_pr", "{}"), use("github", "merge", "{}"), use("", "Bash", "{}"), effects.Effect{Kind: effects.KindUse, Use: &version})
		for _, v := range []string{"v1", "1.0+b", "x", "1.0.0-rc", "2"} {
			for _, u := range []effects.Use{{Server: "Sms", Tool: "Send"}, {Tool: "sms_send"}, {Server: effects.UnknownServer, Tool: "Send"}} {
				u.Version = v
				all = append(all, effects.Effect{Kind: effects.KindUse, Use: &u})
			}
		}
		for _, name := range []string{"merge", "github_merge", "github:get_pr", "gitlab/merge", "Sms.Send", "xgithub_get_x", "github__get_x", "_merge", "MERGE", "GitHub_close_pr", "close_PR"} {
			claimed := use("", name, "{}")
			claimed.Claimed = true
			all = append(all, claimed, use("GITHUB", name, "{}"))
			all = append(all, use(effects.UnknownServer, name, "{}"), use("", name, "{}"), use("", "mcp_"+name, "{}"))
		}
		for i := range all {
			q := ask(all[i])
			reject, _, err := s.Match(q)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.ContainsFunc(held, func(p *pattern.Pattern) bool { return p.Touches(&all[i], pattern.Context{Project: "/p"}) })
			if (reject != nil) != want {
				t.Fatalf("%s: rejected by %v, want %v", all[i].Text, reject, want)
			}
			if want {
				denied++
			} else {
				passed++
			}
		}
	})
	if denied == 0 || passed == 0 {
		t.Errorf("nothing was tested: %d denied, %d passed", denied, passed)
	}
}
