package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/rego"
)

// judged returns the rules' results for a command's effects, with the table of the
// snapshot, and the first run.
func judged(t *testing.T, s *Store, project, command string) (fired []string, first *effects.Run) {
	t.Helper()
	snap, err := s.Snapshot(s.opts.UID, project)
	if err != nil {
		t.Fatal(err)
	}
	call := &effects.Call{
		Tool: effects.Tool{Name: "Bash"}, Agent: effects.Party{Name: "claude-code"}, Cwd: "/home/u/p",
		Input: []byte(`{"command":"` + command + `"}`), User: effects.User{UID: 1000, Name: "u", Home: "/home/u"},
	}
	fs := fsfake.New("/home/u/p/.git/", "/home/u/p/.env", "/home/u/p/src/")
	w := tools.World{FS: fs, Table: snap.Table(), Profiles: snap.Profiles()}
	res := w.Effects(call)
	in := &decisions.Input{All: res.Effects, Call: call, Result: &res}
	for i := range res.Effects {
		e := &res.Effects[i]
		if e.Run != nil && first == nil {
			first = e.Run
		}
		in.Effect = e
		found, err := snap.Evaluate(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found.Fired {
			fired = append(fired, string(f.Rule.Layer)+" "+string(f.Set)+" "+f.Reason)
		}
	}
	return fired, first
}

const deployctl = `programs:
  - names: [deployctl]
    sub:
      - {names: [status], readonly: true, options: {harmless: [--json]}}
      - {names: [push], options: {writes: ["--report="], changes: ["-f --force"]}}
`

func TestPrograms(t *testing.T) {
	w := newWorld(t)
	policytest.Write(t, w.org, map[string]string{
		"org.rego": "package permd.org\nimport rego.v2\n" +
			"ask contains \"not known\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.known == false\n}\n" +
			"ask contains \"changes\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.readonly == false\n}\n" +
			"deny contains \"no secrets\" if {\n\tinput.effect.kind == \"read\"\n\t\"secret\" in input.effect.tags\n}\n",
	})
	policytest.Write(t, w.user, map[string]string{
		"u.rego":     "package permd.user\nimport rego.v2\nallow contains \"looks\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.readonly == true\n}\n",
		"rules.yaml": "deny:\n  run: [\"deployctl push --force *\"]\n",
	})
	s := w.open(t)
	check := func(what, command string, want []string, known bool) {
		t.Helper()
		fired, run := judged(t, s, "", command)
		fired = slices.DeleteFunc(fired, func(f string) bool { return f == "base ask base" })
		slices.Sort(fired)
		if diff := cmp.Diff(want, slices.Compact(fired)); diff != "" {
			t.Errorf("%s: %s: %s", what, command, diff)
		}
		if run.Known != known {
			t.Errorf("%s: %s is known: %t", what, command, run.Known)
		}
	}
	reload := func(want string) {
		t.Helper()
		before, _ := s.Snapshot(s.opts.UID, "")
		policytest.Age(t, w.root)
		changed, err := s.Reload(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Fatalf("reload: %v, want %q", err, want)
		}
		after, _ := s.Snapshot(s.opts.UID, "")
		if (before.Digest() != after.Digest()) != changed {
			t.Errorf("changed is %t, the digest %s was %s", changed, after.Digest(), before.Digest())
		}
		if changed && before == after {
			t.Error("it is the same snapshot, which the cache would take for unchanged")
		}
	}
	org := []string{"org ask changes", "org ask not known"}
	check("before", "deployctl status", org, false)
	check("before, an option", "deployctl push web -f", org, false)

	// User rules see the user's facts, those of org do not.
	file := filepath.Join("programs", "team.yaml")
	policytest.Write(t, w.user, map[string]string{file: deployctl})
	reload("")
	check("user", "deployctl status", append(slices.Clone(org), "user allow looks"), true)
	check("user, an option", "deployctl push -f", append(slices.Clone(org), "user deny listed under deny run: deployctl push --force *"), true)
	fired, _ := judged(t, s, "", "deployctl status .env")
	if !slices.Contains(fired, "org deny no secrets") {
		t.Errorf("a secret that the user's file says nothing of: %q", fired)
	}
	if l := userLayer(s); l.Programs != 1 || l.State != StateOK {
		t.Errorf("status %+v", l)
	}
	uid := s.opts.UID
	want := []rules.ProgramInfo{{Program: "deployctl", Layer: "user", At: filepath.Join(w.user, file) + ":2", UID: &uid}}
	if diff := cmp.Diff(want, s.Programs()); diff != "" {
		t.Error(diff)
	}

	// A broken file: the last good one stays.
	policytest.Write(t, w.user, map[string]string{file: "programs: [{names: [rm], readonly: true}]"})
	reload("team.yaml:1: the name \"rm\" is a program that permd knows")
	check("broken", "deployctl status", append(slices.Clone(org), "user allow looks"), true)
	if l := userLayer(s); l.State != StateDegraded || len(l.Problems) != 1 || l.Problems[0].Hint == "" {
		t.Errorf("status %+v", l)
	}
	policytest.Write(t, w.user, map[string]string{file: deployctl})
	reload("")

	// Org describes it too: then the user's file is an error, and the last good one
	// only adds effects.
	orgFile := filepath.Join("programs", "org.yaml")
	policytest.Write(t, w.org, map[string]string{orgFile: "programs: [{names: [deployctl], sub: [{names: [status], readonly: true}]}]"})
	reload("the name \"deployctl\" is a program that permd knows")
	check("both", "deployctl status", []string{"user allow looks"}, true)
	check("both, not org's", "deployctl status --json", org[:1], true)
	policytest.Write(t, w.user, map[string]string{file: "extend: [{names: [deployctl], readonly: false, sub: [{names: [status], readonly: false}]}]"})
	reload("")
	check("the user is stricter", "deployctl status", org[:1], true)

	// Org's file breaks: its last good one stays.
	policytest.Write(t, w.org, map[string]string{orgFile: "programs: ["})
	reload("org rules")
	check("org broken", "deployctl status", org[:1], true)
	if _, err := Open(t.Context(), w.opts); err == nil {
		t.Error("it started with broken programs of org")
	}
}

// TestProgramsOnlyOrg checks that a user's entry about a program counts no more
// than a user's allow.
func TestProgramsOnlyOrg(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.opts.Base = rego.Base()
	policytest.Write(t, w.user, map[string]string{filepath.Join("programs", "team.yaml"): deployctl})
	only := true
	w.opts.Switches = func() (Switches, error) { return Switches{OnlyOrg: only}, nil }
	s := w.open(t)
	fired, run := judged(t, s, "", "deployctl status")
	if run.Known || run.Readonly || slices.ContainsFunc(fired, func(f string) bool { return strings.Contains(f, "allow") }) {
		t.Errorf("with only_org: %+v, %q", run, fired)
	}
	only = false
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	fired, run = judged(t, s, "", "deployctl status")
	if !run.Readonly || !slices.Contains(fired, "base allow only looks at the project") {
		t.Errorf("without: %+v, %q", run, fired)
	}
	// A file that has become empty is perhaps being written.
	policytest.Write(t, w.user, map[string]string{filepath.Join("programs", "team.yaml"): ""})
	if _, err := s.reload(t.Context(), loadOptions{}); err == nil {
		t.Error("an emptied file is believed at once")
	}
	if _, run = judged(t, s, "", "deployctl status"); run.Known || run.Readonly {
		t.Errorf("while its file is empty: %+v", run)
	}
}

// TestProgramsOfProject checks that a project never says what programs do.
func TestProgramsOfProject(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(w.project, ".permd")
	policytest.Write(t, dir, map[string]string{
		filepath.Join("programs", "x.yaml"): deployctl, filepath.Join("programs", "y.yaml"): "programs: [", "rules.yaml": "deny:\n  run: [\"dd\"]\n",
	})
	s := w.open(t)
	if err := s.Prepare(t.Context(), s.opts.UID, w.project); err != nil {
		t.Fatal(err)
	}
	if _, run := judged(t, s, w.project, "deployctl status"); run.Known {
		t.Error("a project described a program")
	}
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	report, err := Folder{Dir: dir, Schema: rego.InputSchema(), Table: table}.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ignored := 0
	for _, p := range report.Problems {
		if strings.Contains(p.Text, "is ignored: only org and user say what programs do") && p.Severity == diag.SeverityWarning && p.Hint != "" {
			ignored++
		}
	}
	if report.Layer != decisions.Project || ignored != 2 || !report.Passed() || report.Programs != nil {
		t.Errorf("check: %+v", report)
	}
}

// TestProgramFiles checks which files are read, and that errors have a file and
// line.
func TestProgramFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  string // of the error, "" for none
		known bool
	}{
		"programs":        {files: map[string]string{"programs/a.yaml": deployctl}, known: true},
		"no YAML":         {files: map[string]string{"programs/a.txt": "x", "programs/b.json": "{}"}},
		"a list there":    {files: map[string]string{"programs/rules.yaml": "allow: {}"}},
		"rules there":     {files: map[string]string{"programs/a.rego": rulesFor("user", "deny", "x", "x")}},
		"another folder":  {files: map[string]string{"more/a.yaml": deployctl}},
		"a sub-folder":    {files: map[string]string{"more/programs/a.yaml": deployctl}, known: true},
		"no folder":       {files: map[string]string{"programs.yaml": deployctl}},
		"another ending":  {files: map[string]string{"programs/a.yml": deployctl}, want: "programs/a.yml: is not read"},
		"too deep":        {files: map[string]string{"programs/x/a.yaml": deployctl}, want: "programs/x/a.yaml: is not read"},
		"two files":       {files: map[string]string{"programs/a.yaml": deployctl, "programs/b.yaml": deployctl}, want: "programs/b.yaml:2: program \"deployctl\" is described twice"},
		"git push":        {files: map[string]string{"programs/a.yaml": "extend:\n- names: [git]\n  sub:\n  - names: [push]\n    readonly: true\n"}, want: "programs/a.yaml:5: "},
		"a key too much":  {files: map[string]string{"programs/a.yaml": "programs:\n- names: [x]\n  wobble: 1\n"}, want: "programs/a.yaml:3: unknown key \"wobble\""},
		"a large one":     {files: map[string]string{"programs/a.yaml": "#" + strings.Repeat("x", 300<<10)}, want: "longer than"},
		"empty":           {files: map[string]string{"programs/a.yaml": ""}},
		"nothing but set": {files: map[string]string{"programs/a.yaml": "# nothing yet\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			policytest.Write(t, w.user, c.files)
			s := w.open(t)
			l := userLayer(s)
			if !strings.Contains(l.Error, c.want) || (l.Error != "") != (c.want != "") {
				t.Errorf("error %q, want %q", l.Error, c.want)
			}
			snap, err := s.Snapshot(s.opts.UID, "")
			if err != nil {
				t.Fatal(err)
			}
			if snap.Table().Knows("deployctl") != c.known {
				t.Errorf("known is %t", !c.known)
			}
		})
	}
}

// TestProgramsOwner checks that files with another owner are refused.
func TestProgramsOwner(t *testing.T) {
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"programs/a.yaml": deployctl})
	file := filepath.Join(w.user, "programs/a.yaml")
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	s := w.open(t)
	if l := userLayer(s); l.State != StateDegraded || !strings.Contains(l.Error, "can be written by everybody") {
		t.Errorf("status %+v", l)
	}
}
