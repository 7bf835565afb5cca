package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/shadow"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/filetest"
)

// shadowFile has the daemon try rules of its own beside those in force.
func (d *testDaemon) shadowFile(t *testing.T, rules string) string {
	t.Helper()
	config := filepath.Join(d.home, ".config", "permd")
	writeFile(t, filepath.Join(config, "permd.toml"), "shadow = \"shadow.d\"\n")
	file := filepath.Join(config, "shadow.d", "rules.yaml")
	filetest.Write(t, file, rules)
	return file
}

// shadow returns what was found.
func (d *testDaemon) shadow(t *testing.T) *shadow.Report {
	t.Helper()
	var r *shadow.Report
	if err := d.manage(t, shadow.Method, struct{}{}, &r); err != nil {
		t.Fatal(err)
	}
	if r == nil {
		r = new(shadow.Report)
	}
	return r
}

// waitShadow waits until what was found is as it should be.
func (d *testDaemon) waitShadow(t *testing.T, what string, is func(r *shadow.Report) bool) {
	t.Helper()
	var r *shadow.Report
	eventually.Holds(t, what, func() bool {
		r = d.shadow(t)
		return is(r)
	}, func() string { return fmt.Sprintf("%+v\n%s", r, d.output.String()) })
}

func (d *testDaemon) waitTried(t *testing.T) {
	t.Helper()
	d.waitShadow(t, "the rules are tried", func(r *shadow.Report) bool { return r.Rules > 0 && r.Problem == "" })
}

// TestPolicyShadow: the setting counts without a restart, differences have the rules on both
// sides and the calls, masked, the rules in force stay as they are, and without the setting
// nothing is left.
func TestPolicyShadow(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.start(t)
	w := d.session(t, project)
	if out := d.permd(t, "policy", "shadow"); !strings.HasPrefix(out, "no shadow rules") {
		t.Errorf("without the setting: %s", out)
	}
	if out := d.permd(t, "policy", "shadow", "--json"); out != "{}\n" {
		t.Errorf("without the setting: %s", out)
	}
	before := d.status(t)
	d.shadowFile(t, "deny:\n  run:\n    - git status\n    - frob *\n")
	d.reload(t)
	d.waitTried(t)
	wantAllowed(t, w)
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	wantAnswer(t, "frob", w.ask(t, decideLine("frob --token "+secret)), "ask", "policy", "")
	wantAnswer(t, "rm", w.ask(t, decideLine("rm -rf /")), "deny", "policy", "")
	d.waitShadow(t, "all are compared", func(r *shadow.Report) bool { return r.Compared == 4 })
	out := d.permd(t, "policy", "shadow")
	for _, want := range []string{
		"allow -> deny  2 calls, by user/rules.yaml:3 at ", "shadow.d/rules.yaml:3\n    now by base.look at base/allow.rego:",
		"ask -> deny  1 call, by user/rules.yaml:4 at ", "now by base.unknown-program at base/ask.rego:", "run frob --token ***",
		"4 calls compared: 1 same, 3 different\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
	named := mustMarshal(t, d.shadow(t))
	for _, r := range d.records(t) {
		if strings.Contains(named, r.Decision.ID) != (r.Decision.Verdict != "deny") {
			t.Errorf("decision %s, %s: %s", r.Decision.ID, r.Decision.Verdict, named)
		}
	}
	eventually.Holds(t, "it is kept", func() bool {
		text, err := os.ReadFile(d.data("shadow.json"))
		if strings.Contains(string(text), secret) {
			t.Fatalf("a secret is kept: %s", text)
		}
		return err == nil && strings.Contains(string(text), `"different":3`)
	})
	after := d.status(t)
	if after.Digest != before.Digest || after.Degraded || len(after.Policy.Layers) != len(before.Policy.Layers) {
		t.Errorf("before %+v\nafter %+v", before.Policy, after.Policy)
	}
	if strings.Contains(d.output.String(), "rules changed") {
		t.Errorf("the daemon says that the rules have changed:\n%s", &d.output)
	}
	d.waitOutput(t, "shadow rules would decide otherwise")
	if out := d.permd(t, "status"); !strings.Contains(out, "4 calls compared, 3") {
		t.Errorf("status: %s", out)
	}
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), "")
	d.reload(t)
	eventually.Holds(t, "nothing is left", func() bool {
		_, err := os.Stat(d.data("shadow.json"))
		return os.IsNotExist(err) && strings.HasPrefix(d.permd(t, "policy", "shadow"), "no shadow rules")
	})
}

// TestPolicyShadowOfOrg: the organisation's setting takes precedence, and its shadow rules replace
// its own rules: what these deny now would be decided by the person's.
func TestPolicyShadowOfOrg(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon for the organisation alone; TestPolicyShadow is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, nil)
	root := t.TempDir()
	filetest.Write(t, filepath.Join(root, "etc", "permd", "policy.d", "rules.yaml"), "deny:\n  run: [\"frob *\"]\n")
	filetest.Write(t, filepath.Join(root, "etc", "permd", "permd.toml"), "shadow = \"next\"\n")
	filetest.Write(t, filepath.Join(root, "etc", "permd", "next", "rules.yaml"), "ask:\n  run: [\"git log\"]\n")
	filetest.Write(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), "allow:\n  run: [\"frob x\"]\n")
	d.shadowFile(t, "deny:\n  run: [\"frob *\"]\n")
	d.start(t, "--root", root)
	w := d.session(t, project)
	d.waitTried(t)
	wantAnswer(t, "frob", w.ask(t, decideLine("frob x")), "deny", "policy", "")
	d.waitShadow(t, "it would be allowed", func(r *shadow.Report) bool {
		return r.Layer == "org" && r.Compared == 1 && len(r.Groups) == 1 && r.Groups[0].From == "deny" && r.Groups[0].To == "allow" &&
			strings.HasPrefix(r.Groups[0].Rule, "user/rules.yaml:2 at ") && strings.HasPrefix(r.Groups[0].Was, "org/rules.yaml:2 at ")
	})
}

func mustMarshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
