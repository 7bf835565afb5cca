package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestReloadStatus: without a request for a reload, the service manager, permd
// status and the log show the rules in use, what is wrong with new ones, where and
// since when, and when it is fixed.
func TestReloadStatus(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it goes through the states of a reload; TestScripts is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, nil)
	m := newManager(t, d)
	d.policy(t, "a.rego", `deny contains "no git" if input.effect.program == "git"`)
	d.start(t)
	w := d.session(t, project)
	file := filepath.Join(d.home, ".config", "permd", "policy.d", "a.rego")

	told := func(pattern string) string {
		t.Helper()
		want := regexp.MustCompile(pattern)
		for range 10 {
			if got := m.next(t, "STATUS")["STATUS"]; want.MatchString(got) {
				return got
			} else {
				t.Logf("the service manager is told %q", got)
			}
		}
		t.Fatalf("the service manager is not told %q", pattern)
		return ""
	}
	shows := func(patterns ...string) {
		t.Helper()
		out, err := d.command("status").CombinedOutput()
		if err != nil {
			t.Fatalf("permd status: %v\n%s", err, out)
		}
		for _, p := range patterns {
			if !regexp.MustCompile(`(?m)` + p).Match(out) {
				t.Errorf("permd status does not show %q:\n%s", p, out)
			}
		}
	}
	const when = `20\d\d-\d\d-\d\d \d\d:\d\d:\d\d`
	place := regexp.QuoteMeta(file) + `:3: undefined ref: input\.effect\.progam`

	told(`^serving \d+ rules: 1 of user, \d+ of base$`)
	begun := time.Now()
	d.policy(t, "a.rego", `deny contains "no git" if input.effect.progam == "git"`)
	line := told(`^degraded since ` + when + `: loading user rules: ` + place + `; serving \d+ rules: 1 of user, \d+ of base, the last that were good$`)
	shows(`^degraded: permd `, `^  user     1 rule \(0 allow, 0 ask, 1 deny\) in .*, the last that were good, since `+when+`:$`, `^ +loading user rules: `+place+`$`)
	if len(line) > 600 || strings.Contains(line, "want (one of)") {
		t.Errorf("the status is %q", line)
	}
	for _, l := range d.status(t).Policy.Layers {
		if l.Layer == "user" && (l.Since.Before(begun) || len(l.Problems) != 1 || l.Problems[0].File != file || l.Problems[0].Line != 3 ||
			!strings.HasPrefix(l.Problems[0].Hint, "did you mean input.effect.program?")) {
			t.Errorf("the status of the layer: %+v", l)
		}
	}
	d.waitOutput(t, "rules could not be read, the last good ones stay in force")
	wantProbe(t, w, "deny", "policy", "no git")

	d.policy(t, "a.rego", `ask contains "git again" if input.effect.program == "git"`)
	told(`^serving \d+ rules: 1 of user, \d+ of base$`)
	shows(`^running: permd `, `^  user     1 rule \(0 allow, 1 ask, 0 deny\) in `)
	wantProbe(t, w, "ask", "policy", "git again")

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	told(`^degraded since ` + when + `: loading user rules: ` + regexp.QuoteMeta(file) + `: was removed; its denies and asks are kept until \d\d:\d\d:\d\d, its allows are not; serving `)
	wantProbe(t, w, "ask", "policy", "git again")
	d.waitOutput(t, `level=WARN msg="rules were removed, their denies and asks are kept for a moment"`)
	d.reload(t) // which confirms it
	if st := d.status(t); st.Policy.Degraded() {
		t.Errorf("after a reload the removal is still doubted: %s", st.Policy.Summary())
	}
}
