package effects

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects/fsfake"
)

// secretFiles is a checkout with secrets below its folders. Git tracks
// config/.env, and leaves out deploy/server.key.
func secretFiles() *fsfake.FS {
	return fsfake.New(
		testCwd+"/config/", testCwd+"/src/main.go", testCwd+"/infra/secrets.yml", testCwd+"/deploy/server.key",
		testCwd+"/deploy/tests/server.key", testCwd+"/web/.npmrc", testCwd+"/docs/a.md", testCwd+"/node_modules/x/key.pem", "/etc/hosts", "/tmp/",
		"/usr/bin/git",
	).File(testCwd+"/config/.env", "").File(testCwd+"/.gitignore", "*.key\n").
		File(testCwd+"/.git/index", "DIRC\x00\x00\x00\x02\x00\x00\x00\x01…\x0bconfig/.env\x00").File(testCwd+"/.git/HEAD", "x")
}

// indexOf is an index whose tasks are done when they are started.
func indexOf(fs FS) *Index {
	x := NewIndex(fs, func() time.Time { return time.Unix(2e9, 0) })
	x.beside = func(task func()) { task() }
	return x
}

// TestSecrets compares which secrets commands come to with the cases of
// testdata/secrets.txt: a command after "$ ", its effects, each with "!secret"
// where it has the tag. Read every line that -update changes.
func TestSecrets(t *testing.T) {
	const file = "testdata/secrets.txt"
	table := shippedTable(t)
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
		b := shellBuilder(table, indexOf(secretFiles()))
		shellText(b, command, testCwd, "command")
		b.doubt()
		checkEffects(t, b)
		var lines []string
		for i := range b.effects {
			e := &b.effects[i]
			line := compact(e)
			if e.Tags.Has(Secret) {
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

// TestSecretSearchTools is TestSecrets for tools with a folder and a pattern.
func TestSecretSearchTools(t *testing.T) {
	for _, tt := range []struct {
		name, agent, tool, input string
		want                     bool
	}{
		{"everywhere", "claude-code", "Grep", `{"pattern":"KEY"}`, true},
		{"a folder with one", "claude-code", "Grep", `{"pattern":"KEY","path":"config"}`, true},
		{"a folder without", "claude-code", "Grep", `{"pattern":"KEY","path":"src"}`, false},
		{"what git leaves out", "claude-code", "Grep", `{"pattern":"KEY","path":"deploy"}`, false},
		{"only code", "claude-code", "Grep", `{"pattern":"KEY","glob":"*.{ts,tsx}"}`, false},
		{"only a type of code", "claude-code", "Grep", `{"pattern":"KEY","type":"go"}`, false},
		{"another type", "claude-code", "Grep", `{"pattern":"KEY","type":"yaml"}`, true},
		{"code and more", "claude-code", "Grep", `{"pattern":"KEY","glob":"*.{ts,env}"}`, true},
		{"names", "claude-code", "Glob", `{"pattern":"**/*"}`, false},
		{"names of a folder", "claude-code", "LS", `{"path":"infra"}`, false},
		{"another agent", "gemini-cli", "search_file_content", `{"pattern":"KEY"}`, true},
		{"many files", "gemini-cli", "read_many_files", `{"paths":["infra/**"]}`, true},
		{"many files of code", "gemini-cli", "read_many_files", `{"paths":["infra/**/*.ts"]}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := *toolWorld(t)
			w.FS, w.Table = indexOf(secretFiles()), shippedTable(t)
			r := w.Of(agentCall(tt.agent, tt.tool, tt.input))
			got := false
			for i := range r.Effects {
				got = got || r.Effects[i].Kind == KindRead && r.Effects[i].Tags.Has(Secret)
			}
			if got != tt.want {
				t.Errorf("secret %v, want %v; %+v", got, tt.want, r.Effects)
			}
		})
	}
}

// TestSecretNamed is what a person reads of a search that passes over a secret.
func TestSecretNamed(t *testing.T) {
	b := shellBuilder(shippedTable(t), indexOf(secretFiles()))
	shellText(b, "grep -r KEY .", testCwd, "command")
	if got, want := b.effects[1].Text, "read ./ and all below, with ./config/.env"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

// TestSecretHiddenFromCaller: what the person's own programs cannot get at, the
// index does not tell of.
func TestSecretHiddenFromCaller(t *testing.T) {
	fs := secretFiles().Own(testCwd+"/config", 0, 0o700).Own(testCwd, 1000, 0o755)
	for _, dir := range []string{"/home", "/home/ana"} {
		fs.Own(dir, 0, 0o755)
	}
	for _, others := range []bool{false, true} {
		b := shellBuilder(shippedTable(t), indexOf(fs))
		b.res.others = others
		shellText(b, "grep -r KEY .", testCwd, "command")
		if got := strings.Contains(b.effects[1].Text, "config/.env"); got == others {
			t.Errorf("others %v: %s", others, b.effects[1].Text)
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
		b := shellBuilder(shippedTable(t), shellFiles())
		shellText(b, text, testCwd, "command")
		got := false
		for i := range b.effects {
			got = got || b.effects[i].Kind == KindRun && b.effects[i].Tags.Has(Secret)
		}
		if got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
