package main

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/socket/admin"
)

// TestChoiceMarks: a choice shows from which request it came, and which marks it has: of no use,
// covered, dormant. The filters select by them.
func TestChoiceMarks(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n", "a/a.go": "package a\n"})
	root := t.TempDir()
	writeFile(t, filepath.Join(root, "etc", "permd", "policy.d", "rules.yaml"), "deny:\n  run: [\"gh pr *\"]\n")
	d.start(t, "--root", root)
	p := d.asks(t, project)
	q := p.bash("go build ./a")
	exact := p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")[0].ID
	add := func(args ...string) string {
		return strings.Fields(d.permd(t, append(append([]string{"remember", "add"}, args...), "--dir", project)...))[0]
	}
	wide, narrow := add("write", "./docs/**"), add("write", "./docs/a/**")
	pushed := add("run", "gh pr create *")
	shown := func(ids ...string) []admin.Choice {
		t.Helper()
		var got admin.Choices
		if err := d.manage(t, admin.MethodChoicesShow, map[string]any{"choiceIds": ids}, &got); err != nil {
			t.Fatal(err)
		}
		return got.Choices
	}
	all := shown(exact, wide, narrow, pushed)
	if f := all[0].From; f == nil || f.Project != project || f.Agent == "" || f.Time.IsZero() || len(f.Effects) == 0 || !strings.Contains(f.Effects[0], "go build ./a") {
		t.Errorf("it came from %+v", f)
	}
	if c := all[1]; len(c.Covers) != 1 || c.Covers[0] != narrow || c.CoveredBy != "" || c.From != nil {
		t.Errorf("the wide one: %+v", c)
	}
	if c := all[2]; c.CoveredBy != wide || len(c.Covers) > 0 {
		t.Errorf("the narrow one: %+v", c)
	}
	if c := all[3]; !strings.Contains(c.DeniedBy, "gh pr *") || c.Dormant {
		t.Errorf("the denied one: %+v", c)
	}
	for id, words := range map[string][]string{
		exact: {"asked", project, "go build ./a"}, wide: {"covers", narrow}, narrow: {"covered by", wide}, pushed: {"no use", "org denies it", "gh pr *"},
	} {
		out := d.permd(t, "remember", "show", id)
		for _, w := range words {
			if !strings.Contains(out, w) {
				t.Errorf("%s does not say %q:\n%s", id, w, out)
			}
		}
	}
	listed := func(flags ...string) string {
		var ids []string
		for line := range strings.Lines(d.permd(t, append([]string{"remember", "list"}, flags...)...)) {
			ids = append(ids, strings.Fields(line)[0]) // "no choice matches"
		}
		return strings.Join(ids, " ")
	}
	if have := listed("--covered"); have != narrow {
		t.Errorf("--covered lists %s", have)
	}
	if have := listed("--dormant"); have != "no" {
		t.Errorf("--dormant lists %s", have)
	}

	// As they are after a long time, when the log has no such decision any more.
	p.Close()
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", d.data("remember.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE choices SET created = created - ?, decision = 'd' WHERE id = ?; UPDATE choices SET seal = NULL; DELETE FROM meta WHERE name = 'sealed'", int64(91*24*time.Hour), exact); err != nil {
		t.Fatal(err)
	}
	d.start(t, "--root", root)
	if c := shown(exact)[0]; !c.Dormant || !c.FromRemoved || c.From != nil {
		t.Errorf("after a long time: %+v", c)
	}
	if have := listed("--dormant"); have != exact {
		t.Errorf("--dormant lists %s", have)
	}
	if out := d.permd(t, "remember", "show", exact); !strings.Contains(out, "removed from the log") || !strings.Contains(out, "not used for 90 days") {
		t.Errorf("after a long time:\n%s", out)
	}
	d.permd(t, "remember", "forget", "--covered")
	if have := listed("--covered"); have != "no" {
		t.Errorf("after forget, --covered lists %s", have)
	}
}
