package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/internal/testload"
)

// TestCompletionBash has a bash complete lines as it does for the tab key. This bash
// has no bash-completion package.
func TestCompletionBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	var script bytes.Buffer
	if err := writeCompletion(newRoot(), "bash", &script); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// What the script calls is this test's own program.
	wrapper := "#!/bin/sh\nexec env " + asPermd + "=1 '" + self + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "permd"), []byte(wrapper), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "permd.bash")
	if err := os.WriteFile(file, script.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{
		"permd pol":                        "policy",
		"permd policy ch":                  "check",
		"permd remember fo":                "forget",
		"permd expl":                       "explain",
		"permd explain --loc":              "--local",
		"permd decide --ag":                "--agent",
		"permd completion z":               "zsh",
		"permd policy check --layer us":    "user",
		"permd decide --agent codex-acp":   "codex-acp",
		"permd policy test --profile care": "careful",
		"permd service install":            "install",
		"permd pause 20m --only ed":        "edits",
		"permd remember add conn":          "connect",
		"permd remember list --scope us":   "user",
		"permd log list --verdict de":      "deny",
		"permd log list --decided-by mem":  "memory",
		"permd log stats --agent codex-a":  "codex-acp",
		"permd log export --format o":      "opa",
		"permd hook install cl":            "claude\ncline",
		"permd acp install ze":             "zed",
	}
	for _, line := range testload.WithShort(t, 4, slices.Sorted(maps.Keys(lines))) {
		want := lines[line]
		t.Run(line, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), bash, "--noprofile", "--norc", "-c", `
				source "$1" || exit 1
				compopt() { :; } # it only works while a person completes
				COMP_LINE=$2 COMP_POINT=${#2}
				read -r -a COMP_WORDS <<<"$2"
				COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9
				__start_permd permd "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
				printf '%s\n' "${COMPREPLY[@]}"
			`, "bash", file, line)
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir}
			out, err := cmd.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != want {
				t.Errorf("%q becomes %q (%v), want %q", line, got, err, want)
			}
		})
	}
}

// TestCompleteIDs offers the ids of decisions, of calls that wait and of choices.
func TestCompleteIDs(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon and nine commands; TestCompletionBash is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "hook.rego", hookRules)
	d.start(t)
	project := d.project(t, nil)
	m := allowedBy.FindStringSubmatch(string(d.hook(t, "cursor", hookInput(hookShell[8].in, project, "whatever -f x")).Stdout))
	if m == nil {
		t.Fatal("no way to allow it is named")
	}
	d.permd(t, "remember", "add", "run", "go vet *", "--dir", project)
	choice := strings.Fields(d.permd(t, "remember", "list"))[0]
	for command, want := range map[string]string{
		"log show": m[1], "explain": m[1], "allow": m[1], "remember show": choice, "remember forget": choice, "remember confirm": choice,
	} {
		words := append([]string{"__complete"}, strings.Fields(command)...)
		if out := d.permd(t, append(words, "")...); !strings.Contains(out, want) {
			t.Errorf("permd %s: %s is not offered:\n%s", command, want, out)
		}
	}
}
