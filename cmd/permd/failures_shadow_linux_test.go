package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/shadow"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/filetest"
)

// TestFailuresShadow has the rows of the failure table about rules that are only tried:
// whatever becomes of them, calls are decided as without them.
func TestFailuresShadow(t *testing.T) {
	failures(t, append([]failure{
		{"rules to try do not compile", shadowBroken},
		{"folder of rules to try gone", shadowGone},
		{"rules to try may be written by others", shadowOpen},
		{"rules to try are too large", shadowLarge},
		{"a rule to try does not end", shadowEndless},
		{"rules to try take much memory", shadowGreedy},
		{"daemon with shadow rules killed", shadowKilled},
		{"what tried rules would decide cannot be kept", shadowFull},
		{"what tried rules would decide is damaged", shadowDamaged},
	}, longRows(t, failure{"more calls than shadow rules can compare", shadowFlooded})...), "rules to try do not compile")
}

// denyStatus is a rule to try by which the probe would be denied.
const denyStatus = "deny:\n  run: [\"git status\"]\n"

// startShadow starts a daemon with shadow rules.
func startShadow(t *testing.T, rules string) (d *testDaemon, w *wire, file string) {
	t.Helper()
	d = newTestDaemon(t)
	file = d.shadowFile(t, rules)
	d.start(t)
	return d, d.session(t, d.project(t, nil)), file
}

func shadowBroken(t *testing.T) {
	d, w, file := startShadow(t, denyStatus)
	d.waitTried(t)
	wantAllowed(t, w)
	d.waitShadow(t, "both would be denied", func(r *shadow.Report) bool { return r.Different == 2 && len(r.Groups) == 1 })
	digest := d.status(t).Digest
	filetest.Write(t, file, "deny:\n  frob: [x]\n")
	d.waitShadow(t, "it says why, and tries the last good rules", func(r *shadow.Report) bool {
		return strings.Contains(r.Problem, "rules.yaml:2") && r.Rules == 1 && r.Different == 2
	})
	wantAllowed(t, w)
	d.waitShadow(t, "they are tried", func(r *shadow.Report) bool { return r.Different == 4 })
	if st := d.status(t); st.Degraded || st.Digest != digest || st.Shadow == nil || !strings.Contains(st.Shadow.Line(), "cannot be used") {
		t.Errorf("the status is %+v", st)
	}
	if out, errs, code := printed(d.command("reload")); code != 0 || !strings.Contains(out, "the rules have not changed") {
		t.Errorf("reload: %d %s%s", code, out, errs)
	}
	filetest.Write(t, file, "allow:\n  run: [\"frob\"]\n")
	d.waitShadow(t, "counting begins anew", func(r *shadow.Report) bool { return r.Problem == "" && r.Different == 0 && r.Compared == 0 })
}

func shadowGone(t *testing.T) {
	d, w, file := startShadow(t, denyStatus)
	d.waitTried(t)
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	d.waitShadow(t, "it says so", func(r *shadow.Report) bool {
		return strings.Contains(r.Problem, "the folder is gone; its rules are still evaluated")
	})
	wantAllowed(t, w)
	d.waitShadow(t, "its rules are tried", func(r *shadow.Report) bool { return r.Different == 2 })
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	w = d.session(t, d.project(t, nil))
	d.waitShadow(t, "none are", func(r *shadow.Report) bool { return strings.Contains(r.Problem, "no such folder") })
	wantAllowed(t, w)
	if st := d.status(t); st.Degraded || !strings.Contains(st.Shadow.Line(), "no shadow rules can be used") {
		t.Errorf("the status is %v: %s", st.Degraded, st.Shadow.Line())
	}
	filetest.Write(t, file, denyStatus)
	d.waitTried(t)
	if r := d.shadow(t); r.Different != 2 {
		t.Errorf("what was found by the same rules is gone: %+v", r)
	}
}

func shadowOpen(t *testing.T) {
	d, w, file := startShadow(t, denyStatus)
	d.waitTried(t)
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	d.waitShadow(t, "it says so", func(r *shadow.Report) bool { return strings.Contains(r.Problem, "can be written by everybody") })
	wantAllowed(t, w)
	if d.status(t).Degraded {
		t.Error("the status is degraded")
	}
}

func shadowLarge(t *testing.T) {
	var lines strings.Builder
	lines.WriteString("deny:\n  run:\n")
	for i := range 12_000 {
		fmt.Fprintf(&lines, "    - \"prog%d sub\"\n", i)
	}
	d, w, _ := startShadow(t, lines.String())
	d.waitShadow(t, "they are refused", func(r *shadow.Report) bool { return r.Rules == 0 && strings.Contains(r.Problem, "more than 32 MiB") })
	wantAllowed(t, w)
}

func shadowEndless(t *testing.T) {
	d, w, file := startShadow(t, denyStatus)
	d.waitTried(t)
	rego := "package permd.user\n\nimport rego.v2\n\ndeny contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tcount({a40, b40}) == 1\n}\na0 := [1]\nb0 := [1]\n"
	for i := range 40 {
		rego += fmt.Sprintf("a%d := [a%d | some _ in [1, 2]]\nb%d := [b%d | some _ in [1, 2]]\n", i+1, i, i+1, i)
	}
	filetest.Write(t, filepath.Join(filepath.Dir(file), "endless.rego"), rego)
	d.waitShadow(t, "it is tried", func(r *shadow.Report) bool { return r.Rules == 2 })
	for range 3 {
		wantAllowed(t, w)
	}
	d.waitShadow(t, "it is given up", func(r *shadow.Report) bool {
		return strings.Contains(fmt.Sprint(r.NotCompared), "does not end") && r.Different == 0
	})
	for range 3 {
		wantAllowed(t, w)
	}
	if st := d.status(t); st.Degraded {
		t.Errorf("the status is degraded: %+v", st.Policy)
	}
	if err := d.stop(t); err != nil {
		t.Errorf("it does not stop: %v", err)
	}
}

// shadowGreedy: they are ended before rules in use are, and take little memory.
func shadowGreedy(t *testing.T) {
	letters := `split("` + strings.Repeat("x", 300) + `", "")`
	d, w, file := startShadow(t, denyStatus)
	filetest.Write(t, filepath.Join(filepath.Dir(file), "greedy.rego"), `package permd.user

import rego.v2

deny contains "x" if {
	all := [concat(" ", [input.effect.kind, a, b, c, sprintf("%d %d", [i, j])]) | some i, a in letters; some j, b in letters; some c in letters]
	count(all) == 7
}
letters := `+letters)
	d.waitShadow(t, "they are tried", func(r *shadow.Report) bool { return r.Rules == 2 })
	for n := range 20 {
		wantAllowed(t, w)
		if got := w.ask(t, decideLine(fmt.Sprintf("git status -s%s", strings.Repeat("b", 1+n)))); got.Verdict != "allow" {
			t.Fatalf("the answer is %+v", got)
		}
	}
	d.waitShadow(t, "they are ended", func(r *shadow.Report) bool {
		return strings.Contains(fmt.Sprint(r.NotCompared), "deciding it failed") && r.Different == 0
	})
	if got := d.rss(t, "VmHWM"); got > 256 {
		t.Errorf("the daemon took %d MiB", got)
	}
}

// shadowKilled: what was found some seconds before is there again.
func shadowKilled(t *testing.T) {
	d, w, _ := startShadow(t, denyStatus)
	d.waitTried(t)
	wantAllowed(t, w)
	d.waitShadow(t, "both would be denied", func(r *shadow.Report) bool { return r.Different == 2 })
	eventually.Holds(t, "it is kept", func() bool {
		text, err := os.ReadFile(d.data("shadow.json"))
		return err == nil && strings.Contains(string(text), `"different":2`)
	})
	before := d.shadow(t)
	d.kill()
	d.start(t)
	d.waitTried(t)
	after := d.shadow(t)
	if after.Different != 2 || !after.Since.Equal(before.Since) || len(after.Groups) != 1 || len(after.Groups[0].Examples) != 2 {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	wantAllowed(t, d.session(t, d.project(t, nil)))
	d.waitShadow(t, "counting goes on", func(r *shadow.Report) bool { return r.Different == 4 })
}

// shadowFull: a folder in the place of the file is as good as a full disk.
func shadowFull(t *testing.T) {
	d := newTestDaemon(t)
	d.shadowFile(t, denyStatus)
	filetest.Write(t, d.data("shadow.json.new/x"), "in the way")
	if err := os.Chmod(d.data(""), 0o700); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	w := d.session(t, d.project(t, nil))
	d.waitTried(t)
	wantAllowed(t, w)
	d.waitShadow(t, "it says so", func(r *shadow.Report) bool { return r.Different == 2 && r.NotKept != "" })
	d.waitOutput(t, "the report on shadow rules cannot be written")
	wantAllowed(t, w)
	if out, _, code := printed(d.command("policy", "shadow")); code != 0 || !strings.Contains(out, "not written to the disk: ") {
		t.Errorf("policy shadow: %d %s", code, out)
	}
	if d.status(t).Degraded {
		t.Error("the status is degraded")
	}
}

func shadowDamaged(t *testing.T) {
	for name, text := range map[string]string{
		"half": `{"version":1,"folder":"/x","gro`, "other": "\x00\xff", "version": `{"version":9}`, "null": `null`,
		"parts": `{"version":1,"groups":[null,{"from":7}],"notCompared":null}`, "much": strings.Repeat("[", 2<<20),
	} {
		t.Run(name, func(t *testing.T) {
			d := newTestDaemon(t)
			d.shadowFile(t, denyStatus)
			filetest.Write(t, d.data("shadow.json"), text)
			if err := os.Chmod(d.data(""), 0o700); err != nil {
				t.Fatal(err)
			}
			d.start(t)
			w := d.session(t, d.project(t, nil))
			d.waitTried(t)
			wantAllowed(t, w)
			d.waitShadow(t, "both would be denied", func(r *shadow.Report) bool { return r.Different == 2 && r.Compared == 2 && len(r.Groups) == 1 })
		})
	}
}

// shadowFlooded: requests are answered as fast as they come, and what was not compared is
// counted: no call is lost, and none counts twice.
func shadowFlooded(t *testing.T) {
	d, w, file := startShadow(t, denyStatus)
	slow := "package permd.user\n\nimport rego.v2\n\nask contains \"slow\" if {\n\tcount([1 | some i in letters; some j in letters; concat(\"\", [i, j]) == \"y\"]) == 1\n}\n" +
		"letters := split(\"" + strings.Repeat("x", 20) + "\", \"\")\n"
	filetest.Write(t, filepath.Join(filepath.Dir(file), "slow.rego"), slow)
	d.waitShadow(t, "they are tried", func(r *shadow.Report) bool { return r.Rules == 2 })
	const calls = 6000
	for range calls {
		if got := w.ask(t, decideLine(probe)); got.Verdict != "allow" {
			t.Fatalf("the answer is %+v", got)
		}
	}
	d.waitShadow(t, "all are counted", func(r *shadow.Report) bool {
		missed := 0
		for _, m := range r.NotCompared {
			missed += m.Count
		}
		return r.Compared+missed == calls && missed > 0 && r.Different == r.Compared
	})
	t.Logf("%s", d.shadow(t).Line())
}
