package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/rulecost"
	"github.com/permd/permd/internal/eventually"
)

// TestFailuresProfile has the rows of the failure table about measuring rules: whatever becomes of
// it, calls are decided as without it.
func TestFailuresProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a table of failures; TestProfile is the quick one")
	}
	failures(t, []failure{
		{"records of measured calls are damaged", profileDamaged},
		{"rules to measure do not compile", profileBroken},
		{"a measured rule does not end", profileEndless},
		{"the daemon is killed while rules are measured", profileKilled},
		{"there is no call to measure rules on", profileEmpty},
		{"measuring rules is interrupted", profileInterrupted},
	})
}

// longRule is a rule that would take hours.
const longRule = `deny contains "endless" if {
	input.effect.kind == "run"
	count([1 | some a in d; some b in d; some c in d; some e in d; some f in d; some g in d; some h in d; some i in d; a + b + c + e + f + g + h + i < 0]) == 1
}
d := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
`

// costs returns what the daemon knows of what rules cost.
func (d *testDaemon) costs(t *testing.T) (s rulecost.State) {
	t.Helper()
	if err := d.manage(t, rulecost.Method, struct{}{}, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// waitCosts waits until the daemon has measured rules as they should be.
func (d *testDaemon) waitCosts(t *testing.T, what string, is func(s rulecost.State) bool) (s rulecost.State) {
	t.Helper()
	eventually.Holds(t, what, func() bool {
		s = d.costs(t)
		return is(s)
	}, func() string { return fmt.Sprintf("%+v %+v\n%s", s, s.Report, d.output.String()) })
	return s
}

// measured reports whether a measurement has ended, on so many calls.
func measured(n int) func(s rulecost.State) bool {
	return func(s rulecost.State) bool { return !s.Running && s.Report != nil && s.Report.Calls == n }
}

func profileDamaged(t *testing.T) {
	d := startDaemon(t)
	d.kept(t)
	d.kept(t)
	ids := d.kept(t) // of all
	if r := d.profiled(t); r.Calls != len(ids) || len(r.Undecided) > 0 {
		t.Fatalf("control: %+v", r)
	}
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	d.changes(t, "UPDATE decisions SET record = x'00' WHERE seq = 1", `UPDATE decisions SET record = CAST('{"time":' AS BLOB) WHERE seq = 2`)
	d.start(t)
	unread := func(r *rulecost.Report) bool {
		n := 0
		for _, u := range r.Undecided {
			if u.Why == "its record cannot be read" {
				n += u.Count
			}
		}
		return n == 2 && r.Calls == 4
	}
	if r := d.profiled(t); !unread(r) {
		t.Errorf("%+v", r)
	}
	if s := d.waitCosts(t, "the rules are measured", measured(4)); !unread(s.Report) {
		t.Errorf("the daemon: %+v", s.Report)
	}
	for _, file := range d.argumentFiles(t) {
		if err := os.WriteFile(file, []byte("\x00\xff{}\n[]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r := d.profiled(t); r.Calls != 0 || len(r.Undecided) != 2 {
		t.Errorf("without arguments: %+v", r)
	}
	wantAllowed(t, d.session(t, d.project(t, nil)))
}

func profileBroken(t *testing.T) {
	d := newTestDaemon(t)
	d.policy(t, "good.rego", `deny contains "good" if input.effect.program == "frob"`)
	d.start(t)
	ids := d.kept(t)
	d.policy(t, "good.rego", "deny contains {")
	if out, errs, code := printed(d.command("policy", "profile")); code != 3 || out != "" || !strings.Contains(errs, "good.rego:4") {
		t.Errorf("profile: %d %s%s", code, out, errs)
	}
	eventually.Holds(t, "the daemon has noticed", func() bool { return d.status(t).Degraded })
	s := d.waitCosts(t, "the rules that were good last are measured", measured(len(ids)))
	if !slices.ContainsFunc(s.Report.Rules, func(r *rulecost.Rule) bool { return r.Reason == "good" }) {
		t.Errorf("%+v", s.Report)
	}
	if out, errs, code := printed(d.command("policy", "profile", d.home+"/nowhere")); code != 2 || out != "" || !strings.Contains(errs, "there is no folder") {
		t.Errorf("profile of no folder: %d %s%s", code, out, errs)
	}
}

func profileEndless(t *testing.T) {
	d := startDaemon(t)
	ids := d.kept(t)
	check := func(by string, r *rulecost.Report) {
		t.Helper()
		first := r.Rules[0]
		says := strings.Contains(first.Why, "took longer than 250 ms") || strings.Contains(first.Why, "took too much memory")
		if first.Reason != "endless" || first.Cut == 0 || first.Cut > 16 || !says || first.Share < 0.9 || r.Calls == 0 {
			t.Errorf("%s: %+v of %+v", by, first, r)
		}
	}
	d.policy(t, "endless.rego", longRule)
	d.reload(t)
	r := d.profiled(t)
	check("the command", r)
	if r.Calls != len(ids) || !slices.ContainsFunc(r.Rules, func(r *rulecost.Rule) bool { return r.Layer == "base" && r.Matched == len(ids) }) {
		t.Errorf("others were not measured: %+v", r)
	}
	if out := d.permd(t, "policy", "profile"); !strings.Contains(out, "did not end by itself, ") {
		t.Errorf("printed: %s", out)
	}
	s := d.waitCosts(t, "the rules are measured", func(s rulecost.State) bool { return measured(len(ids))(s) || s.Report != nil && s.Report.Ended != "" })
	check("the daemon", s.Report)
	// Of real calls it fails as ever, and only as long as it is there.
	wantProbe(t, d.session(t, d.project(t, nil)), "ask", "failure", "took longer than 250 ms")
	d.policy(t, "endless.rego", "")
	d.reload(t)
	wantAllowed(t, d.session(t, d.project(t, nil)))
	s = d.waitCosts(t, "the rules of now are measured", func(s rulecost.State) bool {
		return !s.Running && s.Report.Digest == d.status(t).Digest
	})
	if slices.ContainsFunc(s.Report.Rules, func(r *rulecost.Rule) bool { return r.Reason == "endless" }) {
		t.Errorf("%+v", s.Report)
	}
}

func profileKilled(t *testing.T) {
	d := startDaemon(t)
	ids := d.kept(t)
	d.policy(t, "endless.rego", longRule) // it takes some time
	d.reload(t)
	if s := d.costs(t); !s.Running || s.Report != nil {
		t.Errorf("asked first: %+v", s)
	}
	if s := d.costs(t); !s.Running {
		t.Errorf("asked once more: %+v", s)
	}
	d.kill()
	d.policy(t, "endless.rego", "")
	d.start(t)
	d.waitCosts(t, "the rules are measured", measured(len(ids)))
	wantAllowed(t, d.session(t, d.project(t, nil)))
	d.wantVerified(t)
	// One that ends while it measures does not wait for that.
	d.policy(t, "endless.rego", longRule)
	d.reload(t)
	if s := d.costs(t); !s.Running {
		t.Errorf("rules have changed: %+v", s)
	}
	if err := d.stop(t); err != nil {
		t.Error(err)
	}
}

func profileEmpty(t *testing.T) {
	d := newTestDaemon(t)
	if out, errs, code := printed(d.command("policy", "profile")); code != 1 || out != "" || !strings.Contains(errs, "there is no journal yet") {
		t.Errorf("without a journal: %d %s%s", code, out, errs)
	}
	d.start(t)
	if out := d.permd(t, "policy", "profile"); !strings.HasSuffix(out, "no call was evaluated\n") {
		t.Errorf("printed: %s", out)
	}
	if r := d.profiled(t); r.Calls != 0 || r.TookNS != 0 || r.All == 0 || r.Unmatched != r.All || r.Rules[0].Share != 0 {
		t.Errorf("%+v", r)
	}
	if s := d.waitCosts(t, "it has ended", measured(0)); s.Problem != "" || len(s.Report.Rules) == 0 {
		t.Errorf("%+v", s)
	}
}

func profileInterrupted(t *testing.T) {
	d := startDaemon(t)
	d.kept(t)
	d.policy(t, "endless.rego", longRule)
	cmd := d.command("policy", "profile")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Signal(os.Interrupt) // as soon as it runs, or while it measures
	if err := cmd.Wait(); err == nil && !strings.Contains(out.String(), "endless") || err != nil && out.Len() > 0 {
		t.Errorf("%v: %s%s", err, &out, &errs)
	}
}
