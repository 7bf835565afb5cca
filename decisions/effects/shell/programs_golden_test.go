package shell

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/programs"
)

// programCases reads the files of testdata/programs: a command after "$ ", and
// its effects in the notation of compact up to an empty line.
func programCases(t *testing.T) map[string][][2]string {
	t.Helper()
	names, err := filepath.Glob("../testdata/programs/*.txt")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d files of cases: %v", len(names), err)
	}
	all := map[string][][2]string{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq("\n"+string(data), "\n$ ") {
			command, want, _ := strings.Cut(block, "\n")
			if strings.TrimSpace(command) != "" && !strings.HasPrefix(command, "#") {
				all[name] = append(all[name], [2]string{command, strings.TrimSpace(want)})
			}
		}
	}
	return all
}

// TestPrograms compares the effects of programs of the table with the cases of
// testdata/programs. Read every line that -update changes.
func TestPrograms(t *testing.T) {
	table := effectstest.Table(t)
	for file, cases := range programCases(t) {
		var out strings.Builder
		for _, c := range cases {
			b := shellBuilder(table, effectstest.ProgramFiles())
			Text(b, c[0], effectstest.Cwd, "command")
			checkEffects(t, b)
			var lines []string
			for i := range b.Effects {
				line := effectstest.Compact(&b.Effects[i])
				if e := &b.Effects[i]; e.Guarded() != 0 {
					line += " !" + strings.Join(e.Guarded().Names(), ",")
				}
				lines = append(lines, line)
			}
			got := strings.Join(lines, "\n")
			fmt.Fprintf(&out, "$ %s\n%s\n\n", c[0], got)
			if diff := cmp.Diff(c[1], got); diff != "" && !*update {
				t.Errorf("%s: %s\n(-want +got)\n%s", filepath.Base(file), c[0], diff)
			}
		}
		if *update {
			if err := os.WriteFile(file, []byte(strings.TrimSpace(out.String())+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestProgramsHaveCases checks that each program and sub-command of the table
// is run by a case of TestPrograms or another golden test.
func TestProgramsHaveCases(t *testing.T) {
	table := effectstest.Table(t)
	seen := map[string]bool{}
	note := func(text string) {
		b := shellBuilder(table, effectstest.ProgramFiles())
		Text(b, text, effectstest.Cwd, "command")
		for i := range b.Effects {
			if r := b.Effects[i].Run; r != nil {
				seen[r.Program] = true
				words := strings.Fields(r.Subcommand)
				for n := range words {
					seen[r.Program+" "+strings.Join(words[:n+1], " ")] = true
				}
			}
		}
	}
	for _, cases := range programCases(t) {
		for _, c := range cases {
			note(c[0])
			// Transparent wrappers have no run effect of their own.
			for part := range strings.SplitSeq(c[0], "; ") {
				seen[strings.Fields(part)[0]] = true
			}
		}
	}
	var missing []string
	for _, name := range table.Names() {
		p := table.Program(name)
		if p.Aliases[name] != "" {
			continue
		}
		if !seen[name] {
			missing = append(missing, name)
		}
	}
	done := map[*programs.Program]bool{}
	for _, name := range table.Names() {
		if p := table.Program(name); !done[p] {
			done[p] = true
			missing = append(missing, withoutCase(p, p.Names, seen, 1)...)
		}
	}
	if missing != nil {
		t.Errorf("%d without a case: %s", len(missing), strings.Join(missing, ", "))
	}
}

// withoutCase returns the sub-commands, down to the second level, that no case runs
// by any of their names.
func withoutCase(p *programs.Program, paths []string, seen map[string]bool, depth int) (missing []string) {
	entries := map[*programs.Program][]string{}
	for _, name := range slices.Sorted(maps.Keys(p.Subs)) {
		if sub := p.Subs[name]; sub.Aliases[name] == "" {
			entries[sub] = append(entries[sub], name)
		}
	}
	for sub, names := range entries {
		var full []string
		found := false
		for _, path := range paths {
			for _, name := range names {
				full = append(full, path+" "+name)
				found = found || seen[path+" "+name]
			}
		}
		if !found && len(full) > 0 {
			missing = append(missing, full[0])
		}
		if depth < 2 {
			missing = append(missing, withoutCase(sub, full, seen, depth+1)...)
		}
	}
	slices.Sort(missing)
	return missing
}
