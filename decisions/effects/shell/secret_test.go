package shell

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/paths"
)

// TestSecrets compares which secrets commands reach with the cases of
// testdata/secrets.txt: a command after "$ ", then its effects, with "!secret"
// after those that have the tag. Read every line that -update changes.
func TestSecrets(t *testing.T) {
	const file = "../testdata/secrets.txt"
	table := effectstest.Table(t)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	n := 0
	for block := range strings.SplitSeq("\n"+string(data), "\n$ ") {
		command, want, _ := strings.Cut(block, "\n")
		if command == "" {
			continue
		}
		n++
		b := shellBuilder(table, effectstest.IndexOf(effectstest.SecretFiles()))
		Text(b, command, effectstest.Cwd, "command")
		b.AskForUncertainSearches()
		checkEffects(t, b)
		var lines []string
		for i := range b.Effects {
			e := &b.Effects[i]
			line := effectstest.Compact(e)
			if e.Tags.Has(effects.Secret) {
				line += " !secret"
			}
			lines = append(lines, line)
		}
		got := strings.Join(lines, "\n")
		fmt.Fprintf(&out, "$ %s\n%s\n\n", command, got)
		if diff := cmp.Diff(strings.TrimSpace(want), got); diff != "" && !*update {
			t.Errorf("%s\n(-want +got)\n%s", command, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimSpace(out.String())+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n < 80 {
		t.Errorf("%d cases", n)
	}
}

// TestSecretNamed: the text of a search names the secret that it finds.
func TestSecretNamed(t *testing.T) {
	b := shellBuilder(effectstest.Table(t), effectstest.IndexOf(effectstest.SecretFiles()))
	Text(b, "grep -r KEY .", effectstest.Cwd, "command")
	if got, want := b.Effects[1].Text, "read ./ and all below, with ./config/.env"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

// TestSecretHiddenFromCaller: the index does not reveal secrets that the person's
// own programs cannot reach.
func TestSecretHiddenFromCaller(t *testing.T) {
	fs := effectstest.SecretFiles().Own(effectstest.Cwd+"/config", 0, 0o700).Own(effectstest.Cwd, 1000, 0o755)
	for _, dir := range []string{"/home", "/home/ana"} {
		fs.Own(dir, 0, 0o755)
	}
	for _, others := range []bool{false, true} {
		b := shellBuilderIn(paths.Environment{FS: effectstest.IndexOf(fs), Others: others}, effectstest.Table(t))
		Text(b, "grep -r KEY .", effectstest.Cwd, "command")
		if got := strings.Contains(b.Effects[1].Text, "config/.env"); got == others {
			t.Errorf("others %v: %s", others, b.Effects[1].Text)
		}
	}
}

func TestPrintsVariable(t *testing.T) {
	for text, want := range map[string]bool{
		"echo $GITHUB_TOKEN": true, `printf %s "$OPENAI_API_KEY"`: true, "echo ${!AWS_SECRET}": true, `echo "x${DB_PASSWORD:0:4}"`: true,
		"echo $a $TOKEN": true,
		"echo $HOME":     false, "echo ${#GITHUB_TOKEN}": false, "echo ${GITHUB_TOKEN:+set}": false, "echo '$GITHUB_TOKEN'": false,
		"echo $PUBLIC_KEY_PATH": false, `[ -n "$GITHUB_TOKEN" ]`: false, "GITHUB_TOKEN=x; echo $GITHUB_TOKEN": false, "echo $": false,
	} {
		b := shellBuilder(effectstest.Table(t), effectstest.Files())
		Text(b, text, effectstest.Cwd, "command")
		got := false
		for i := range b.Effects {
			got = got || b.Effects[i].Kind == effects.KindRun && b.Effects[i].Tags.Has(effects.Secret)
		}
		if got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
