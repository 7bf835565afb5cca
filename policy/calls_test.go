package policy

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/rego"
)

// TestCallsGate: rules whose calls have another verdict than *_test.yaml says are not used,
// and the last good ones stay, as with a failing test in Rego.
func TestCallsGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.opts.Base, w.opts.Programs, w.opts.Profiles = rego.Base(), rego.Programs(), rego.Profiles()
	const calls = "deny: [frob now]\nask: [frobnicate]\n"
	policytest.Write(t, w.user, map[string]string{"rules.yaml": "deny:\n  run: [\"frob *\"]\n", "rules_test.yaml": calls})
	s := w.open(t)
	if got := layerStatus(t, s, "user"); got.State != StateOK || got.Deny == 0 {
		t.Fatalf("%+v", got)
	}
	policytest.Write(t, w.user, map[string]string{"rules.yaml": "deny:\n  run: [\"frob later *\"]\n"})
	if _, err := s.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "rules_test.yaml:1: test deny frob now: the verdict is ask") {
		t.Errorf("reloading: %v", err)
	}
	if got := layerStatus(t, s, "user"); got.State != StateDegraded || got.Deny == 0 {
		t.Errorf("with a failing call: %+v", got)
	}
	policytest.Write(t, w.user, map[string]string{"rules_test.yaml": "deny: [frob later now]\n"})
	if _, err := s.Reload(t.Context()); err != nil || layerStatus(t, s, "user").State != StateOK {
		t.Errorf("with another call: %v", err)
	}
	policytest.Write(t, w.user, map[string]string{"rules_test.yaml": "denny: [frob later now]\n"})
	if _, err := s.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), `the key "denny" is not known`) {
		t.Errorf("with a file that cannot be read: %v", err)
	}
}

// shippedFolder is a folder that is checked with what permd ships.
func shippedFolder(t *testing.T, files map[string]string) Folder {
	t.Helper()
	f := folder(t, files)
	var err error
	if f.Table, err = programs.Shipped(); err != nil {
		t.Fatal(err)
	}
	if f.Profiles, err = shippedProfiles(); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestCheckRunsTests: a check passes only if the daemon would use the rules, with tests of
// both kinds.
func TestCheckRunsTests(t *testing.T) {
	t.Parallel()
	const rules = "package permd.user\nimport rego.v2\ndeny contains \"no\" if input.effect.program == \"frob\"\n"
	for _, tt := range testload.WithShort(t, 3, []struct {
		name          string
		files         map[string]string
		tests, failed int
		problem       string
	}{
		{"no tests", nil, 0, 0, ""},
		{"a call", map[string]string{"a_test.yaml": "deny: [frob now]\n"}, 1, 0, ""},
		{"a call that is asked", map[string]string{"a_test.yaml": "deny: [frob now, frobnicate]\n"}, 2, 1, "a_test.yaml:1: test deny frobnicate: the verdict is ask"},
		{"a rule that fails", map[string]string{"a_test.rego": "package permd.user\ntest_no if false\n"}, 1, 1, "a_test.rego:2: test test_no: does not hold"},
		{"both", map[string]string{"a_test.rego": "package permd.user\ntest_no if false\n", "sub/a_test.yaml": "deny: [frob]\n"}, 2, 1, "test_no"},
		{"calls that cannot be read", map[string]string{"a_test.yaml": "deny: frob\n"}, 0, 0, "a_test.yaml:1: deny is no list of calls"},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"a.rego": rules}
			for name, text := range tt.files {
				files[name] = text
			}
			report, err := shippedFolder(t, files).Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if report.Tests != tt.tests && tt.problem == "" || report.FailedTests != tt.failed || report.Passed() != (tt.problem == "") {
				t.Errorf("%d tests, %d failed: %+v", report.Tests, report.FailedTests, report.Problems)
			}
			if tt.problem != "" && (len(report.Problems) == 0 || !strings.Contains(report.Problems[0].String(), tt.problem)) {
				t.Errorf("problems %v, want %q", report.Problems, tt.problem)
			}
		})
	}
}

// TestCheckOfProject: the calls of a project are decided as the daemon would: by what
// its list denies and asks, whatever it allows.
func TestCheckOfProject(t *testing.T) {
	t.Parallel()
	f := shippedFolder(t, map[string]string{
		".permd/rules.yaml":      "allow:\n  run: [\"frob *\"]\ndeny:\n  run: [\"git log *\"]\n",
		".permd/sub/rules.yaml":  "deny:\n  run: [ls]\n",
		".permd/rules_test.yaml": "ask: [frob]\ndeny: [git log]\nallow: [ls]\n",
	})
	f.Dir = filepath.Join(f.Dir, ".permd")
	report, err := f.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !report.Passed() || report.Tests != 3 || report.Layer != decisions.Project {
		t.Errorf("%+v", report)
	}
	if !slices.ContainsFunc(report.Problems, func(p diag.Problem) bool {
		return strings.HasSuffix(p.File, "sub/rules.yaml") && strings.HasPrefix(p.Text, "is not read")
	}) {
		t.Errorf("nothing is said of the list in a folder below: %+v", report.Problems)
	}
}

// TestCheckUnread names the files of a folder that permd does not read.
func TestCheckUnread(t *testing.T) {
	t.Parallel()
	f := folder(t, map[string]string{
		"a.rego": rulesFor("user", "deny", "rm", "no"), "extra.yaml": "", "sub/b.rego.bak": "", ".c.rego": "", "d_test.yml": "",
		"README.md": "", ".gitignore": "", "notes": "", "programs/own.yaml": "", ".hidden/x.rego": "",
	})
	report, err := f.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range report.Problems {
		rel, err := filepath.Rel(f.Dir, p.File)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(p.Severity)+" "+rel+" "+p.Text)
	}
	want := []string{
		"warning .c.rego is not read", "note .hidden is not read", "warning d_test.yml is not read", "warning extra.yaml is not read",
		"note notes is not read", "warning sub/b.rego.bak is not read",
	}
	if diff := cmp.Diff(want, got); diff != "" || !report.Passed() {
		t.Error(diff)
	}
}

// TestLayerOfFolder: rules in a folder that permd reads are of its layer, whatever they
// hold.
func TestLayerOfFolder(t *testing.T) {
	t.Parallel()
	const list = "deny:\n  run: [rm]\n"
	at := folder(t, map[string]string{
		"etc/permd/policy.d/rules.yaml": list, "etc/permd/policy.d/team/rules.yaml": list, "home/policy.d/rules.yaml": list,
		"shop/.permd/rules.yaml": list, "other/rules.yaml": list, "packaged/etc/permd/policy.d/rules.yaml": list,
		"rego/a.rego": rulesFor("org", "deny", "rm", "no"),
	}).Dir
	for dir, want := range map[string]decisions.Layer{
		"etc/permd/policy.d": decisions.Org, "etc/permd/policy.d/team": decisions.Org, "home/policy.d": decisions.User,
		"shop/.permd": decisions.Project, "other": decisions.User, "packaged/etc/permd/policy.d": decisions.Org, "rego": decisions.Org,
	} {
		f := folder(t, nil)
		f.Dir, f.Org, f.User = filepath.Join(at, dir), filepath.Join(at, "etc/permd/policy.d"), filepath.Join(at, "home/policy.d")
		report, err := f.Check(t.Context())
		if err != nil || report.Layer != want {
			t.Errorf("%s: %+v, %v, want %s", dir, report, err, want)
		}
	}
}

// TestAdviseUnderOrg: what org denies is said of allows below it.
func TestAdviseUnderOrg(t *testing.T) {
	t.Parallel()
	org := folder(t, map[string]string{"rules.yaml": "deny:\n  run: [\"git push --force *\", \"terraform *\"]\n  read: [\"/srv/keys/**\"]\nask:\n  run: [\"helm *\"]\n"}).Dir
	f := shippedFolder(t, map[string]string{"rules.yaml": `allow:
  run: ["git push *", "terraform plan *", "helm list *", "go test *"]
  read: ["/srv/**", "/srv/keys/public/**"]
`})
	f.Org = org
	report, err := f.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range report.Problems {
		if strings.Contains(p.Text, "org") {
			got = append(got, string(p.Severity)+" "+strings.Split(p.Text, " (")[0])
		}
	}
	want := []string{
		`note allow run "git push *" is wider than org allows: org's deny "git push --force *"`,
		`warning allow run "helm list *" never counts: org's ask "helm *"`,
		`warning allow run "terraform plan *" never counts: org's deny "terraform *"`,
		`note allow read "/srv/**" is wider than org allows: org's deny "/srv/keys/**"`,
		`warning allow read "/srv/keys/public/**" never counts: org's deny "/srv/keys/**"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
