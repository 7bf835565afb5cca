package effects

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// obeysEntries are the programs of the table's files.
func obeysEntries(t *testing.T) map[string][]programEntry {
	t.Helper()
	names, err := filepath.Glob("../../rego/programs/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no program files: %v", err)
	}
	all := map[string][]programEntry{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := decodeTableFile(data)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = file.Programs
	}
	return all
}

// TestEveryProgramSaysWhatItObeys: a program whose manual nobody has read for what
// it obeys would be called read-only in a project that tells it to do more.
func TestEveryProgramSaysWhatItObeys(t *testing.T) {
	seen := 0
	for name, programs := range obeysEntries(t) {
		for i := range programs {
			seen++
			if programs[i].Obeys == nil {
				t.Errorf("%s: %s: it does not say what it obeys; write obeys: [] if its manual says that it is nothing", name, strings.Join(texts(programs[i].Names), " "))
			}
		}
	}
	if seen < 100 {
		t.Errorf("the table has %d entries", seen)
	}
}

// TestObeysInUnknownFolder: only a program that obeys files of a folder, or that a
// manager of versions may take the place of, needs the folder to be known.
func TestObeysInUnknownFolder(t *testing.T) {
	table := shippedTable(t)
	for command, want := range map[string]bool{"sort": true, "grep -c x": true, "git status": false, "jq .a": false, "/usr/bin/jq .a": true, "docker ps": false, "cargo --version": false, "mvn --version": false} {
		b := shellBuilder(table, shellFiles())
		b.shell(command, "", "command")
		if r := b.effects[0].Run; r == nil || r.Readonly != want {
			t.Errorf("%s: %+v, want read-only: %v", command, r, want)
		}
	}
}

// TestObeyedVariablesAreNotHarmless: a variable that a program obeys must not be
// one that a call may set without a question.
func TestObeyedVariablesAreNotHarmless(t *testing.T) {
	table := shippedTable(t)
	seen := 0
	for _, programs := range obeysEntries(t) {
		var all func(list []programEntry)
		all = func(list []programEntry) {
			for i := range list {
				for _, line := range list[i].Obeys {
					name, ok := strings.CutPrefix(line.text, variableMark)
					if !ok {
						continue
					}
					seen++
					if table.harmlessAssignment(strings.TrimSuffix(name, "*"), "x") {
						t.Errorf("%s obeys %s, which is a harmless variable", list[i].Names[0].text, name)
					}
				}
				all(list[i].Sub)
			}
		}
		all(programs)
	}
	if seen < 50 {
		t.Errorf("programs obey %d variables", seen)
	}
}

// TestObeysProject: a program that obeys all of a project is never read-only in
// one.
func TestObeysProject(t *testing.T) {
	table, err := ParseTable(map[string][]byte{"x.yaml": []byte("programs:\n" +
		"  - {names: [plain], readonly: true, obeys: []}\n" +
		"  - {names: [obeying], readonly: true, obeys: [.]}\n" +
		"  - {names: [variable], readonly: true, obeys: [$X]}\n")})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]bool{"plain": true, "obeying": false, "variable": true} {
		b := shellBuilder(table, shellFiles())
		b.shell(command, testCwd, "command")
		if r := b.effects[0].Run; r == nil || r.Readonly != want {
			t.Errorf("%s: %+v, want read-only: %v", command, r, want)
		}
	}
}

// TestObeysProjectExtended: org may say that a form of such a program is read-only
// all the same, and then it is.
func TestObeysProjectExtended(t *testing.T) {
	table, err := ParseTable(map[string][]byte{"x.yaml": []byte("programs:\n  - {names: [x], obeys: [., y.conf], sub: [{names: [old]}]}\n")})
	if err != nil {
		t.Fatal(err)
	}
	extended, _, errs := table.Extended(map[string][]byte{"o.yaml": []byte("extend:\n  - {names: [x], sub: [{names: [old], readonly: true}, {names: [new], readonly: true}]}\n")})
	if errs != nil {
		t.Fatal(errs)
	}
	for _, c := range []struct {
		command string
		table   *Table
		file    string
		want    bool
	}{
		{"x old", table, "", false}, {"x old", extended, "", true}, {"x new", extended, "", true},
		{"x old", extended, "y.conf", false}, {"x new", extended, "y.conf", false},
	} {
		fs := shellFiles()
		if c.file != "" {
			fs.File(testCwd+"/"+c.file, "")
		}
		b := shellBuilder(c.table, fs)
		b.shell(c.command, testCwd, "command")
		if r := b.effects[0].Run; r == nil || r.Readonly != c.want {
			t.Errorf("%s with %q: %+v, want read-only: %v", c.command, c.file, r, c.want)
		}
	}
}
