package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/bench/shipped"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/eventually"
)

func TestLists(t *testing.T) {
	table, err := readTable()
	if err != nil {
		t.Fatal(err)
	}
	if len(sixty) != 60 {
		t.Errorf("there are %d programs, want 60", len(sixty))
	}
	for _, name := range slices.Concat(sixty, fast) {
		if table.programs[name] == nil {
			t.Errorf("%s is not in the program table", name)
		}
	}
	for _, e := range exceptions {
		for name := range strings.FieldsSeq(e.programs) {
			program, _, _ := strings.Cut(name, "/")
			if table.programs[program] == nil {
				t.Errorf("there is an exception for %s, which is not in the program table", name)
			}
		}
		if e.why == "" || e.which == "" || !slices.Contains([]string{"runs", "writes", "connects", "reads", "calls"}, e.what) {
			t.Errorf("the exception covers nothing or has no reason: %+v", e)
		}
	}
}

// TestRoleValues: a role without a value would leave its options untried, and nobody
// would notice.
func TestRoleValues(t *testing.T) {
	roles := shipped.Roles()
	if len(roles) < 50 {
		t.Fatalf("only the roles %v", roles)
	}
	for _, role := range roles {
		if _, ok := values[role]; ok == slices.Contains(untried, role) {
			t.Errorf("the role %s of the program table needs either a value that it may have, in values of forms.go, or a place in untried there", role)
		}
	}
	for _, role := range slices.AppendSeq(slices.Clone(untried), maps.Keys(values)) {
		if !slices.Contains(roles, role) {
			t.Errorf("forms.go has the role %s, and the program table does not", role)
		}
	}
}

func TestForms(t *testing.T) {
	table, err := readTable()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range table.forms("git") {
		got = append(got, quoted(f.words))
	}
	for _, want := range []string{"git --version", "git status", "git status --short", "git log HEAD -- a.txt", "git log --oneline HEAD -- a.txt", "git config list --show-origin"} {
		if !slices.ContainsFunc(got, func(g string) bool {
			return g == want || strings.HasPrefix(want, "git config") && strings.HasPrefix(g, want)
		}) {
			t.Errorf("no form tries %s", want)
		}
	}
}

// tracedFolder returns a folder that the user may enter as whom programs run under strace, or
// skips the test if what it needs is not installed.
func tracedFolder(t *testing.T, programs ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("long: it runs programs under strace")
	}
	for _, name := range append([]string{"strace", "git", "unshare", "setpriv"}, programs...) {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
	}
	dir := t.TempDir()
	for at := dir; at != "/tmp" && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tracedPlace returns a judge and a place for runs of programs, or skips the test.
func tracedPlace(t *testing.T, programs ...string) (*judge, *place) {
	t.Helper()
	dir := tracedFolder(t, programs...)
	j, err := newJudge(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newPlace(t.Context(), filepath.Join(dir, "x"), "")
	if err != nil {
		t.Fatal(err)
	}
	return j, w
}

// TestOwnData runs the real git in some prepared repositories: what permd allows changes git's
// own data alone, and what leads git astray is noticed.
func TestOwnData(t *testing.T) {
	dir := tracedFolder(t)
	one := &trial{limit: eventually.Limit, verbose: testing.Verbose()}
	if err := one.ownDataPlace(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	lines := [][]string{{"git", "add", "new.txt"}, {"git", "commit", "-m", "x"}, {"git", "checkout", "-b", "new"}}
	for name, allowed := range map[string]int{"plain": 3, "staged": 3, "packed objects": 3, "branches are fetched": 2, "a filter of the repository": 0, "hook reference-transaction": 0, "link to a copy logs": 0} {
		all, err := preparations()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(p preparation) bool { return p.name == name })
		if i < 0 {
			t.Fatalf("no preparation %s", name)
		}
		totals := &ownDataTotals{}
		if err := one.ownDataOnce(t.Context(), totals, all[i:i+1], lines, func() bool { return true }); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if totals.allowed != allowed || len(totals.findings) > 0 || len(totals.failed) > 0 || allowed == 0 && totals.astray == 0 {
			t.Errorf("%s: %+v", name, totals)
		}
	}
}

// TestTraceLog reads a log of strace -f -y.
func TestTraceLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	log := `10 execve("/usr/bin/git", ["git", "status"], 0x7ffd /* 9 vars */) = 0
10 openat(AT_FDCWD</p>, "a.txt", O_RDONLY|O_CLOEXEC) = 3</p/a.txt>
10 openat(AT_FDCWD</p>, "none", O_RDONLY) = -1 ENOENT (No such file or directory)
10 openat(AT_FDCWD</p>, "b.txt", O_WRONLY|O_CREAT, 0666) = 3</p/b.txt>
10 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD <unfinished ...>
11 execve("/evil/canary", ["canary"], 0x7ffd /* 9 vars */ <unfinished ...>
10 <... clone resumed>, child_tidptr=0x7f) = 11
11 <... execve resumed>) = 0
11 connect(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("192.0.2.1")}, 16) = -1 ENETUNREACH (Network is unreachable)
11 connect(3<socket:[1]>, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT (No such file or directory)
11 unlinkat(4</p/sub>, "c \"d\"", 0) = 0
11 ftruncate(5</p/e.txt>, 175) = 0
11 +++ exited with 0 +++
`
	if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := &run{}
	if err := r.read(f); err != nil {
		t.Fatal(err)
	}
	var ran []string
	for _, e := range r.execs {
		ran = append(ran, e.file)
	}
	for what, c := range map[string]struct{ got, want []string }{
		"programs": {ran, []string{"/usr/bin/git", "/evil/canary"}},
		"reads":    {r.reads, []string{"/p/a.txt"}},
		"writes":   {r.writes, []string{"open /p/b.txt", `unlinkat /p/sub/c "d"`, "ftruncate /p/e.txt"}},
		"sends":    {r.sends, []string{`AF_INET, sin_port=htons(53), sin_addr=inet_addr("192.0.2.1")}, 16`}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	if !r.execs[0].first || r.execs[1].first {
		t.Errorf("the executions are %+v", r.execs)
	}
}

// TestCheck lists what runs did, and which of it check must report.
func TestCheck(t *testing.T) {
	w := &place{root: "/r", home: "/r/home", project: "/r/home/project", canary: "/r/evil/canary"}
	read := effects.Effect{Kind: effects.KindRead, File: &effects.File{Path: "/r/home/project/a.txt"}}
	reach := effects.Effect{Kind: effects.KindConnect, Connect: &effects.Connect{}}
	for name, c := range map[string]struct {
		program string
		r       run
		list    []effects.Effect
		want    []string
	}{
		"what it says":           {"cat", run{execs: []execution{{file: "/usr/bin/cat", first: true}}, reads: []string{"/r/home/project/a.txt", "/etc/ld.so.cache"}}, []effects.Effect{read}, nil},
		"the canary":             {"cat", run{execs: []execution{{file: "/usr/bin/cat", first: true}, {file: "/r/evil/canary", first: true}}}, nil, []string{"RUNS ROOT/evil/canary: x"}},
		"another program":        {"cat", run{execs: []execution{{file: "/usr/bin/cat", first: true}, {file: "/bin/sh"}}}, nil, []string{"runs /bin/sh: x"}},
		"a helper":               {"gh", run{execs: []execution{{file: "/usr/bin/gh", first: true}, {file: "/usr/bin/git"}}}, nil, nil},
		"another file":           {"cat", run{reads: []string{"/r/home/project/b.txt"}}, []effects.Effect{read}, []string{"reads b.txt: x"}},
		"a write":                {"cat", run{writes: []string{"open /r/home/x"}}, nil, []string{"writes ~/x: x"}},
		"the null device":        {"cat", run{writes: []string{"open /dev/null"}}, nil, nil},
		"a host":                 {"cat", run{sends: []string{"AF_INET"}}, nil, []string{"connects AF_INET: x"}},
		"a host that it says":    {"curl", run{sends: []string{"AF_INET"}}, []effects.Effect{reach}, nil},
		"a secret":               {"cat", run{output: []byte("a " + secret + "env")}, nil, []string{"PRINTS a secret: x"}},
		"another process's end":  {"cat", run{other: []string{"kill 1"}}, nil, []string{"calls kill 1: x"}},
		"a link where it starts": {"node", run{execs: []execution{{file: "/usr/bin/env", first: true}, {file: "/usr/bin/node", first: true}}}, nil, nil},
	} {
		k := &checker{name: c.program, found: map[string]int{}}
		k.forgive()
		k.check(w, []string{"x"}, &c.r, c.list)
		if diff := cmp.Diff(c.want, k.findings()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestRealProgram runs git with a hostile configuration: permd notices it, and
// the comparison would have.
func TestRealProgram(t *testing.T) {
	j, w := tracedPlace(t)
	words := []string{"git", "status"}
	for hostile, want := range map[bool]decisions.Verdict{false: decisions.Allow, true: decisions.Ask} {
		if hostile {
			if err := w.set(hostiles[:1]); err != nil {
				t.Fatal(err)
			}
		} else if err := w.set(nil); err != nil {
			t.Fatal(err)
		}
		verdict, list, err := j.decide(t.Context(), w, words)
		if err != nil || verdict != want {
			t.Errorf("hostile %v: %s, want %s (%v)", hostile, verdict, want, err)
		}
		r, err := trace(t.Context(), w, words, time.Minute)
		if err != nil {
			t.Skipf("strace does not work here: %v", err)
		}
		k := &checker{name: "git", found: map[string]int{}}
		k.forgive()
		k.check(w, words, r, list)
		ran := slices.ContainsFunc(k.findings(), func(f string) bool { return strings.HasPrefix(f, "RUNS ") })
		if ran != hostile {
			t.Errorf("hostile %v: %v", hostile, k.findings())
		}
	}
}

// TestReportUnseen: for a program that is not installed, the report names the forms
// that permd allows and nobody has seen run, up to a bound.
func TestReportUnseen(t *testing.T) {
	var many []string
	for i := range maxUnseen + 2 {
		many = append(many, fmt.Sprintf("many %d", i))
	}
	got := report([]*programResult{
		{Name: "gone", Missing: "not installed", Untried: []string{"gone --version"}, Asked: 1},
		{Name: "asks", Missing: "not installed", Asked: 3},
		{Name: "many", Missing: "not installed", Untried: many},
	})
	for _, want := range []string{
		"| `gone` | | | not installed |\n", "| `asks` | | | not installed; no form is allowed by itself |\n", "nothing of them was seen:\n\n- `gone`: `gone --version`\n",
		"`many 39` and 2 more\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report does not have %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "`many 40`") {
		t.Errorf("the report names more than %d forms of a program that is not installed", maxUnseen)
	}
}
