package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/permd/permd/cmd/permd/internal/rulecost"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/client"
)

// slowRule is a rule that goes through ten thousand combinations, in slow.rego.
const slowRule = `# METADATA
# title: Slow on purpose
deny contains "slow" if {
	input.effect.kind == "run"
	count([1 | some a in hundred; some b in hundred; a + b < 0]) == 1
}
hundred := [n | some a in d; some b in d; n := (10 * a) + b]
d := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
`

// profiled returns what permd policy profile prints as JSON.
func (d *testDaemon) profiled(t *testing.T, args ...string) *rulecost.Report {
	t.Helper()
	out := d.permd(t, append([]string{"policy", "profile", "--json"}, args...)...)
	r := new(rulecost.Report)
	if err := json.Unmarshal([]byte(out), r); err != nil {
		t.Fatal(err, out)
	}
	return r
}

// TestProfile: of real calls, a rule that was made slow comes first with nearly all of the time;
// rules of all layers and forms are named with a place, and those that decided a call match it.
func TestProfile(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	list := filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml")
	writeFile(t, list, "allow:\n  run:\n    - \"ls *\"\n    - \"never-run *\"\n")
	root := filepath.Join(d.home, "root")
	writeFile(t, filepath.Join(root, "etc", "permd", "policy.d", "org.rego"), "package permd.org\nimport rego.v2\ndeny contains \"No tool of the shop\" if input.effect.server == \"shop\"\n")
	d.start(t, "--root", root)
	project := d.project(t, map[string]string{"a/a.go": "package a\n", ".permd/rules.yaml": "deny:\n  run: [\"npm *\"]\n"})
	want := map[string]int{} // calls by the place of a rule that decided some of them
	var ids []string
	for _, dec := range d.replayed(t, project, replayCalls(rand.New(rand.NewPCG(1, 2)), 24)) {
		ids = append(ids, dec.ID)
		seen := map[string]bool{}
		for i := range dec.Effects {
			for _, rule := range dec.Effects[i].Rules {
				if !seen[rule.At] {
					want[rule.At]++
				}
				seen[rule.At] = true
			}
		}
	}
	d.waitKept(t, ids...)
	d.policy(t, "slow.rego", slowRule) // the daemon may already use it, and nothing is decided any more
	r := d.profiled(t, "--root", root, "--limit", "100000")
	slow := r.Rules[0]
	if slow.Name() != "Slow on purpose" || slow.Share < 0.5 || slow.Matched != 0 || slow.Evaluations == 0 || slow.P50NS == 0 || slow.P99NS < slow.P50NS || !strings.HasSuffix(slow.At, "slow.rego:5") {
		t.Errorf("the slowest rule is %+v", slow)
	}
	if r.Calls != len(ids) || r.Effects <= r.Calls || len(r.Undecided) > 0 || r.WithoutProject > 0 || r.Ended != "" || r.All != len(r.Rules) {
		t.Errorf("%d calls: %+v", len(ids), r)
	}
	all, matched, share := map[string]*rulecost.Rule{}, map[decisions.Layer]bool{}, 0.0
	for _, one := range r.Rules {
		all[one.At] = one
		share += one.Share
		matched[one.Layer] = matched[one.Layer] || one.Matched > 0
		if one.Matched > one.Evaluations || (one.Evaluations == 0) != (one.P99NS == 0) {
			t.Errorf("%+v", one)
		}
	}
	if len(matched) != 4 || !matched["org"] || !matched["user"] || !matched["project"] || !matched["base"] || share < 0.999 || share > 1.001 {
		t.Errorf("layers with rules that matched: %v; all shares are %v: %v", matched, share, want)
	}
	for at, n := range want {
		if one := all[at]; one == nil || one.Matched < n {
			t.Errorf("%s decided %d calls and is %+v", at, n, one)
		}
	}
	if one := all[list+":4"]; one == nil || one.Matched != 0 || one.Set != decisions.SetAllow {
		t.Errorf("the line that matches nothing is %+v", one)
	}
	empty := filepath.Join(d.home, "other-rules")
	writeFile(t, filepath.Join(empty, "a.rego"), "package permd.user\nimport rego.v2\nask contains \"tried\" if input.effect.kind == \"run\"\n")
	if !testing.Short() { // as above
		r = d.profiled(t, "--root", root, "--limit", "100000", empty)
		if slices.ContainsFunc(r.Rules, func(one *rulecost.Rule) bool {
			return one.Layer == decisions.User && (one.Reason != "tried" || one.Matched == 0)
		}) {
			t.Errorf("with other rules: %+v", r)
		}
		never := d.profiled(t, "--root", root, "--unmatched", "--limit", "100000", empty)
		if len(never.Rules) != r.Unmatched || slices.ContainsFunc(never.Rules, func(one *rulecost.Rule) bool { return one.Matched > 0 }) {
			t.Errorf("%d rules without a match, want %d", len(never.Rules), r.Unmatched)
		}
	}
	out := strings.Split(d.permd(t, "policy", "profile", "--root", root, "--limit", "2", empty), "\n")
	if len(out) != 5 || !strings.HasPrefix(out[0], " SHARE ") || !strings.Contains(out[3], " calls with ") {
		t.Errorf("printed: %q", out)
	}
}

// TestReviewWebCosts: the first page of permd review --web shows the slow rule first, as soon as the
// daemon has measured it, with the place to open. The page of rules tells those without effect.
func TestReviewWebCosts(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a browser; TestProfile is the quick one")
	}
	t.Parallel()
	b := newBrowser(t)
	d := startDaemon(t)
	ids := d.kept(t)
	d.policy(t, "slow.rego", slowRule)
	d.reload(t)
	b.open(d.reviewWeb(t))
	b.shows("Slow on purpose")
	first, err := chromedp.Run(b.Context, chromedp.Evaluate[string](`document.querySelector("#costs li").innerText`))
	if err != nil || !strings.Contains(first, "Slow on purpose") || !strings.Contains(first, "user deny, matched 0 calls, half of the calls ") || !strings.Contains(first, "slow.rego:5") {
		t.Errorf("the first rule is %q, %v", first, err)
	}
	width, err := chromedp.Run(b.Context, chromedp.Evaluate[string](`[...document.querySelectorAll("#costs li .b-hit")].map(r => r.getAttribute("width")).join(" ")`))
	if err != nil || !strings.HasPrefix(width, "100% ") || strings.Count(width, "%") < 3 {
		t.Errorf("the bars are %q wide, %v", width, err)
	}
	b.shows(fmt.Sprintf("%d calls with %d effects, since ", len(ids), len(ids)))
	if s := d.costs(t); s.Running || s.Report.Rules[0].Name() != "Slow on purpose" || len(s.Report.Rules) > 100 {
		t.Errorf("it is measured again: %+v", s)
	}
	b.page("rules?never=1&text=slow.rego")
	b.shows(fmt.Sprintf("no effect in %d decisions since ", len(ids)))
	b.page("rules?text=only+look+may+run")
	if text := b.text(); strings.Contains(text, "no effect in ") || !strings.Contains(text, "Programs that only look") {
		t.Errorf("a rule that allowed the call: %s", text)
	}
}

// TestMeasuringHoldsNobodyUp: while the daemon measures rules, it answers further requests for the
// measurement at once, starts no second one, and decides the calls of other clients.
func TestMeasuringHoldsNobodyUp(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it measures a slow rule for seconds; TestProfile is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	var calls []client.ToolCall
	for n := range 40 {
		calls = append(calls, client.ToolCall{ID: fmt.Sprint(n), Tool: client.Tool{Name: "Bash"}, Input: map[string]any{"command": fmt.Sprint("frob ", n)}})
	}
	var ids []string
	for _, dec := range d.replayed(t, project, calls) {
		ids = append(ids, dec.ID)
	}
	d.waitKept(t, ids...)
	d.policy(t, "slow.rego", strings.ReplaceAll(slowRule, `input.effect.kind == "run"`, `input.effect.program == "frob"`))
	d.reload(t)
	w := d.session(t, project)
	answered := 0
	// Not so many that those before are not among the newest any more.
	for s := d.costs(t); s.Running && answered < 100; s = d.costs(t) {
		if s.Report != nil {
			t.Fatalf("there is a report while it is measured: %+v", s)
		}
		wantAllowed(t, w)
		answered++
	}
	s := d.waitCosts(t, "the rules are measured", func(s rulecost.State) bool { return !s.Running })
	if s.Problem != "" || s.Report == nil || s.Report.Calls == 0 || s.Report.Rules[0].Name() != "Slow on purpose" {
		t.Errorf("it measured %+v: %+v", s, s.Report)
	}
	if answered < 3 {
		t.Errorf("only %d calls were decided meanwhile", answered)
	}
}
