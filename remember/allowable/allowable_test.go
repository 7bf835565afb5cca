package allowable_test

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/remember/allowable"
)

// TestRun: no answer covers a run that permd cannot interpret, since its words
// would only be compared as text.
func TestRun(t *testing.T) {
	t.Parallel()
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	script := &effects.Script{Path: "/p/a.py", SHA256: "00"}
	for _, tt := range []struct {
		name   string
		run    effects.Run
		target *effects.Script
		want   bool
	}{
		{"a program", effects.Run{Program: "cp", Args: []string{"a", "b"}}, nil, true},
		{"a line about git", effects.Run{Program: "git", Args: []string{"commit", "*"}}, nil, false},
		{"any run of git", effects.Run{Program: "git", Args: []string{"*"}}, nil, false},
		{"a line about git that looks", effects.Run{Program: "git", Args: []string{"log", "*"}}, nil, true},
		{"a run of git", effects.Run{Program: "git", Subcommand: "commit", Args: []string{"commit"}}, &effects.Script{Path: "/p/.git/config", SHA256: "00"}, true},
		{"a run of git that is not bound", effects.Run{Program: "git", Subcommand: "log", Args: []string{"log", "-p"}}, &effects.Script{Unbound: "x"}, false},
		{"one that nobody knows", effects.Run{Program: "frobnicate"}, nil, true},
		{"a shell", effects.Run{Program: "bash", Args: []string{"-c", "ls"}}, nil, false},
		{"an interpreter with a version", effects.Run{Program: "python3.12", Args: []string{"-c", "1"}}, nil, false},
		{"an interpreter by its path", effects.Run{Program: "/opt/x/python3", Executable: "/opt/x/python3"}, nil, false},
		{"a script", effects.Run{Program: "python3", Args: []string{"a.py"}, Script: script}, nil, true},
		{"a script with more words", effects.Run{Program: "python3", Args: []string{"a.py", "b.py"}, Script: script}, nil, false},
		{"a script with its own options", effects.Run{Program: "python3", Args: []string{"a.py", "--check"}, Script: script}, nil, true},
		{"an option before a script", effects.Run{Program: "python3", Args: []string{"-i", "a.py"}, Script: script}, nil, false},
		{"a script by another word", effects.Run{Program: "deno", Args: []string{"run", "a.py"}, Script: script}, nil, false},
		{"a module", effects.Run{Program: "python3", Args: []string{"-m", "pytest"}}, &effects.Script{Path: "/p/pytest.py", SHA256: "00"}, true},
		{"a module that is not certain", effects.Run{Program: "python3", Args: []string{"-m", "pytest"}}, nil, false},
		{"containers of a project", effects.Run{Program: "docker", Args: []string{"compose", "up"}}, &effects.Script{Path: "/p/compose.yaml", SHA256: "00"}, true},
		{"containers that are not certain", effects.Run{Program: "docker", Args: []string{"compose", "up"}}, nil, false},
		{"a script without a text", effects.Run{Program: "python3", Args: []string{"a.py"}, Script: &effects.Script{Path: "/p/a.py"}}, nil, false},
		{"a wrapper", effects.Run{Program: "sudo", Args: []string{"ls"}}, nil, false},
		{"a wrapper of containers", effects.Run{Program: "docker", Args: []string{"ps"}}, nil, false},
		{"a target that is known", effects.Run{Program: "make", Args: []string{"test"}}, &effects.Script{Path: "/p/Makefile", SHA256: "00"}, true},
		{"a target that is not", effects.Run{Program: "make", Args: []string{"test"}}, nil, false},
		{"a target without a text", effects.Run{Program: "npm", Args: []string{"test"}}, &effects.Script{Path: "/p/package.json"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := &decisions.MemoryQuery{Effect: &effects.Effect{Kind: effects.KindRun, Run: &tt.run}, Target: tt.target}
			if err := allowable.Run(table, q); (err == nil) != tt.want {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := allowable.Run(table, &decisions.MemoryQuery{Effect: &effects.Effect{Kind: effects.KindRead}}); err != nil {
		t.Errorf("what is no run: %v", err)
	}
}
