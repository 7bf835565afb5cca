package shell

import (
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/programs"
)

// TestObeysInUnknownFolder: the folder must be known only for programs that obey
// its files, or that a version manager may replace.
func TestObeysInUnknownFolder(t *testing.T) {
	table := effectstest.Table(t)
	for command, want := range map[string]bool{"sort": true, "grep -c x": true, "git status": false, "jq .a": false, "/usr/bin/jq .a": true, "docker ps": false, "cargo --version": false, "mvn --version": false} {
		b := shellBuilder(table, effectstest.Files())
		Text(b, command, "", "command")
		if r := b.Effects[0].Run; r == nil || r.Readonly != want {
			t.Errorf("%s: %+v, want read-only: %v", command, r, want)
		}
	}
}

// TestObeysProject: a program that obeys any file of a project is never read-only
// in a project.
func TestObeysProject(t *testing.T) {
	table, err := programs.ParseTable(map[string][]byte{"x.yaml": []byte("programs:\n" +
		"  - {names: [plain], readonly: true, obeys: []}\n" +
		"  - {names: [obeying], readonly: true, obeys: [.]}\n" +
		"  - {names: [variable], readonly: true, obeys: [$X]}\n")})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]bool{"plain": true, "obeying": false, "variable": true} {
		b := shellBuilder(table, effectstest.Files())
		Text(b, command, effectstest.Cwd, "command")
		if r := b.Effects[0].Run; r == nil || r.Readonly != want {
			t.Errorf("%s: %+v, want read-only: %v", command, r, want)
		}
	}
}

// TestObeysProjectExtended: org may declare a form of such a program read-only.
func TestObeysProjectExtended(t *testing.T) {
	table, err := programs.ParseTable(map[string][]byte{"x.yaml": []byte("programs:\n  - {names: [x], obeys: [., y.conf], sub: [{names: [old]}]}\n")})
	if err != nil {
		t.Fatal(err)
	}
	extended, _, errs := table.Extended(map[string][]byte{"o.yaml": []byte("extend:\n  - {names: [x], sub: [{names: [old], readonly: true}, {names: [new], readonly: true}]}\n")})
	if errs != nil {
		t.Fatal(errs)
	}
	for _, c := range []struct {
		command string
		table   *programs.Table
		file    string
		want    bool
	}{
		{"x old", table, "", false}, {"x old", extended, "", true}, {"x new", extended, "", true},
		{"x old", extended, "y.conf", false}, {"x new", extended, "y.conf", false},
	} {
		fs := effectstest.Files()
		if c.file != "" {
			fs.File(effectstest.Cwd+"/"+c.file, "")
		}
		b := shellBuilder(c.table, fs)
		Text(b, c.command, effectstest.Cwd, "command")
		if r := b.Effects[0].Run; r == nil || r.Readonly != c.want {
			t.Errorf("%s with %q: %+v, want read-only: %v", c.command, c.file, r, c.want)
		}
	}
}
