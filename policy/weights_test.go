package policy

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/policy/policytest"
)

// repeated returns n texts, in which # is the number.
func repeated(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// deepEntries is a list whose entries become some hundred times as many bytes.
func deepEntries(n int) string {
	return "deny:\n  write:\n" + repeated(n, "  - \"/"+strings.Repeat("a/", 45)+"#\"\n")
}

// TestTooLarge: rules that would take too much memory are refused in every layer, and
// the last good ones stay.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	const far = "would take more than 32 MiB of memory"
	tests := map[string]struct {
		files map[string]string // of the project
		want  string
	}{
		"a list of many entries":     {map[string]string{".permd/rules.yaml": "deny:\n  run:\n" + repeated(5000, "  - \"prog# *\"\n")}, far},
		"entries of many components": {map[string]string{".permd/rules.yaml": deepEntries(500)}, "become more than 2 MiB of rules"},
		"an entry of many":           {map[string]string{".permd/rules.yaml": "deny:\n  write: [\"/" + strings.Repeat("a/", 2040) + "b\"]\n"}, "become more than 2 MiB of rules"},
		"a long entry":               {map[string]string{".permd/rules.yaml": "deny:\n  write: [\"/" + strings.Repeat("a", 4096) + "\"]\n"}, "more than 4096 bytes"},
		"comments":                   {map[string]string{".permd/rules.yaml": "deny:\n  run: [dd]\n" + strings.Repeat("# \n", 100_000)}, far},
		"folders above": {map[string]string{
			".permd/rules.yaml": "deny:\n  run: [dd]\n", "../.permd/rules.yaml": "deny:\n  run: [dd]\n" + strings.Repeat("# \n", 200_000), "../../.permd/rules.yaml": "deny:\n  run: [dd]\n" + strings.Repeat("# \n", 200_000),
		}, "larger than 1 MiB together"},
	}
	for _, name := range testload.WithShort(t, 1, slices.Sorted(maps.Keys(tests))) {
		tt := tests[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			policytest.Write(t, w.project, map[string]string{".permd/rules.yaml": "deny:\n  run: [rm]\n"})
			policytest.Age(t, w.root)
			s := w.open(t)
			if err := s.Prepare(t.Context(), s.opts.UID, w.project); err != nil {
				t.Fatal(err)
			}
			policytest.Write(t, w.project, tt.files)
			policytest.Age(t, w.root)
			err := s.Prepare(t.Context(), s.opts.UID, w.project)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %.300v, want one with %q", err, tt.want)
			}
			if got := strings.Join(reasons(t, s, w.project, "rm"), "\n"); !strings.Contains(got, "project deny listed under deny run by the project") {
				t.Errorf("the last good rules are gone: %s", got)
			}
		})
	}
}

// TestTooLargeTogether tests that one person's rules, which are within the limits of one, leave memory
// for those of others, that the next as large ones are refused, and that small ones are not.
func TestTooLargeTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it compiles rules of 300 MiB")
	}
	w := newWorld(t)
	w.opts.System = true
	policytest.Write(t, w.org, map[string]string{"a.rego": rulesFor("org", "deny", "rm", "org")})
	large := "package permd.user\n\nx := [" + strings.Repeat("1,", 310_000) + "1]\ndeny contains \"large\" if 2 in x\n"
	policytest.Write(t, w.user, map[string]string{"a.rego": large})
	s := w.open(t)
	for n := range 2 {
		err := s.Prepare(t.Context(), uint32(7+n), "")
		if want := "would take more than 320 MiB of memory together"; n == 0 && err != nil || n == 1 && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("person %d: %v", n, err)
		}
	}
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "small")})
	policytest.Age(t, w.root)
	if err := s.Prepare(t.Context(), 9, ""); err != nil {
		t.Errorf("a person with few rules: %v", err)
	}
}

// TestLargeProjects: projects are dropped before they take too much together, of the large
// ones the least recently used first.
func TestLargeProjects(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it compiles rules of 100 MiB; TestTooLarge is the quick one")
	}
	t.Parallel()
	w := newWorld(t)
	s := w.open(t)
	policytest.Write(t, w.project, map[string]string{".permd/rules.yaml": "deny:\n  run: [rm]\n"})
	policytest.Age(t, w.root)
	if err := s.Prepare(t.Context(), s.opts.UID, w.project); err != nil {
		t.Fatal(err)
	}
	project := func(i int) string { return filepath.Join(w.root, "home/work", fmt.Sprint("large", i)) }
	for i := range 3 {
		policytest.Write(t, project(i), map[string]string{".permd/rules.yaml": "deny:\n  run:\n" + repeated(1200, "  - \"prog# *\"\n")})
		policytest.Age(t, w.root)
		if err := s.Prepare(t.Context(), s.opts.UID, project(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []bool{false, true, true} {
		if _, err := s.Snapshot(s.opts.UID, project(i)); (err == nil) != want {
			t.Errorf("project %d: %v", i, err)
		}
	}
	if _, err := s.Snapshot(s.opts.UID, w.project); err != nil {
		t.Errorf("a small project: %v", err)
	}
}
