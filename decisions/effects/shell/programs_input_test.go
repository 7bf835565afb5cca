package shell

import (
	"maps"
	"slices"
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/programs"
)

// TestInputIsDecided checks that each read-only program of the table says what its
// standard input is.
func TestInputIsDecided(t *testing.T) {
	table := effectstest.Table(t)
	// They read commands, answers or settings from it, so they ask.
	asks := []string{"sqlite3", "nslookup", "aws", "terraform", "tofu"}
	var looks func(p *programs.Program) bool
	looks = func(p *programs.Program) bool {
		return p.Readonly || slices.ContainsFunc(slices.Collect(maps.Values(p.Subs)), looks)
	}
	for _, name := range table.Names() {
		p := table.Program(name)
		switch decided := table.Shell.DataInput[name]; {
		case p.Wrapper != nil || p.Interpreter != "":
			if decided {
				t.Errorf("%s runs others: its input is theirs", name)
			}
		case slices.Contains(asks, name):
			if decided {
				t.Errorf("%s may do what it reads", name)
			}
		case looks(p) && !decided:
			t.Errorf("%s: nobody decided what its standard input is: see rego/programs/stdin.yaml", name)
		case decided && p.ObeysInput:
			t.Errorf("%s does what it reads, and the list says that it is data", name)
		}
	}
	for name := range table.Shell.DataInput {
		if p := table.Program(name); p == nil || !looks(p) {
			t.Errorf("%s of the list is no program that only looks", name)
		}
	}
}

// TestInput gives programs an input under the rule that allows them with any
// words.
func TestInput(t *testing.T) {
	table := effectstest.Table(t)
	for _, tt := range []struct {
		rule          string
		allowed, asks []string
	}{
		{"crontab", []string{"crontab -l"}, []string{"crontab", "crontab -", "crontab a.txt", "crontab < a.txt", "crontab -l -r", "crontab -u ana"}},
		{"nslookup", nil, []string{"nslookup <<< 'server evil.example'", "echo ls | nslookup"}},
		{"sqlite3", nil, []string{"sqlite3 -readonly -safe app.db < a.txt"}},
		{"sort", []string{"sort < a.txt", "sort a.txt"}, nil},
		{"jq", []string{"jq . < a.txt", "jq . <<'E'\n{}\nE"}, nil},
	} {
		rules := [][]string{{tt.rule}}
		for _, text := range tt.allowed {
			if !passesText(shellBuilder(table, effectstest.ProgramFiles()), text, rules) {
				t.Errorf("%s does not pass", text)
			}
		}
		for _, text := range tt.asks {
			if passesText(shellBuilder(table, effectstest.ProgramFiles()), text, rules) {
				t.Errorf("%s passes", text)
			}
		}
	}
	// A read-only program that does not say what its input is.
	undecided, err := programs.ParseTable(map[string][]byte{"a.yaml": []byte("programs:\n  - {names: [frob], readonly: true}\n  - {names: [look], readonly: true}\nshell: {data_input: [look]}\n")})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"frob": true, "look": true, "frob < a.txt": false, "look < a.txt": true, "look | frob": false, "frob <<< x": false} {
		if got := passesText(shellBuilder(undecided, effectstest.ProgramFiles()), text, [][]string{{"frob"}, {"look"}}); got != want {
			t.Errorf("%s passes: %v", text, got)
		}
	}
}
