package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

func TestAnsiC(t *testing.T) {
	for in, want := range map[string]string{
		`a\nb`: "a\nb", `\x41\x4a`: "AJ", `\101`: "A", `\u41`: "A", `\U00000041b`: "Ab", `\xc3\xa9`: "é", `\'\"\\\?`: `'"\?`, `\e[0m`: "\x1b[0m", `\x4g`: "\x04g",
	} {
		if got, ok := ansiC(in); !ok || got != want {
			t.Errorf("%q is %q, %v, want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{`\0`, `\x00a`, `\xff`, `\cA`, `\`, `\x`, `\u`, `\z`, `\u0000`, `\u00e9`, `\u80`, `\U0001F600`, `\ud800`, `\U00110000`, `\Uffffffff`, `\U100000041`} {
		if got, ok := ansiC(in); ok {
			t.Errorf("%q is taken for %q", in, got)
		}
	}
}

func TestArgv(t *testing.T) {
	table := effectstest.Table(t)
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no word":               {nil, []string{"unknown a command without a program"}},
		"empty word":            {[]string{""}, []string{"unknown a command without a program"}},
		"nothing is expanded":   {[]string{"cat", "~/x", "$HOME", "*.go"}, []string{"run cat '~/x' '$HOME' '*.go' ro h=0", "read ~/x ^0:0", "read $HOME ^0:1", "read *.go ^0:2"}},
		"no builtin of a shell": {[]string{"cd", "/"}, []string{"run cd / unlisted h=1"}},
		"a shell": {[]string{"bash", "-lc", "rm a.txt"}, []string{
			"run bash -lc 'rm a.txt' flags=--login,-c h=2", "run rm a.txt h=0 ^0:1", "delete a.txt ^1:0",
		}},
		"a NUL":               {[]string{"ls", "\x00dynamic"}, []string{"unknown text with a control character"}},
		"a control":           {[]string{"ls", "\x1b[8m"}, []string{"unknown text with a control character"}},
		"an external wrapper": {[]string{"command", "rm", "a.txt"}, []string{"run rm a.txt h=0", "delete a.txt ^0:0"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := shellBuilder(table, effectstest.Files())
			Argv(b, c.args, effectstest.Cwd, "argv")
			checkEffects(t, b)
			var got []string
			for i := range b.Effects {
				got = append(got, effectstest.Compact(&b.Effects[i]))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestShellSecrets checks that a secret in a command is not in the texts that
// people and logs see.
func TestShellSecrets(t *testing.T) {
	table := effectstest.Table(t)
	for _, text := range []string{
		"curl https://me:canary-5f0c@a.dev/",
		"curl -H 'Authorization: Bearer canary-5f0c' https://a.dev/",
		"git push https://me:canary-5f0c@a.dev/x HEAD",
		"AWS_SECRET_ACCESS_KEY=canary-5f0c aws s3 ls",
	} {
		b := shellBuilder(table, effectstest.Files())
		Text(b, text, effectstest.Cwd, "command")
		for i := range b.Effects {
			if e := &b.Effects[i]; strings.Contains(e.Text+e.Why, "canary-5f0c") {
				t.Errorf("%q: %s", text, e.Text)
			}
		}
	}
}

// TestScript checks that a script's text is part of its run.
func TestScript(t *testing.T) {
	table := effectstest.Table(t)
	var sums []string
	for _, body := range []string{"one", "two"} {
		files := effectstest.Files()
		files.File(effectstest.Cwd+"/run.sh", body)
		for _, text := range []string{"./run.sh", "sh run.sh"} {
			b := shellBuilder(table, files)
			Text(b, text, effectstest.Cwd, "command")
			script := b.Effects[0].Run.Script
			if script == nil || script.Path != effectstest.Cwd+"/run.sh" || len(script.SHA256) != 64 {
				t.Fatalf("%s: script is %+v", text, script)
			}
			sums = append(sums, script.SHA256)
		}
	}
	if sums[0] != sums[1] || sums[2] != sums[3] || sums[0] == sums[2] {
		t.Errorf("hashes are %v", sums)
	}
}

// TestRunText checks that a run reads as it was typed.
func TestRunText(t *testing.T) {
	table := effectstest.Table(t)
	for text, want := range map[string]string{
		`git  commit -m   "a b"`:      `git commit -m 'a b'`,
		`echo 'it'"'"'s' ""`:          `echo 'it'\''s' ''`,
		`cat "$x" *.go`:               `cat "$x" *.go`,
		`find . -exec grep x {} +`:    `find . -exec grep x {} +`,
		`echo '$x' '~' 'a;b' '{a,b}'`: `echo '$x' '~' 'a;b' '{a,b}'`,
	} {
		b := shellBuilder(table, effectstest.Files())
		Text(b, text, effectstest.Cwd, "command")
		i := slices.IndexFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindRun })
		if got := b.Effects[i].Text; got != "run "+want {
			t.Errorf("%s reads %s, want %s", text, got, want)
		}
	}
}

// TestSearchedSecrets checks that a search counts as one of the project's .env
// exactly when it may go into it.
func TestSearchedSecrets(t *testing.T) {
	table := effectstest.Table(t)
	for text, want := range map[string]bool{
		"grep -r KEY .":                                true,
		"grep -r KEY . --include=*.go":                 false,
		"grep -r KEY . --include=*.go --include='*'":   true,
		"grep -r KEY . --exclude=x --include=*.go":     true, // what neither names is searched by default
		"grep -r KEY . --include=*.go --exclude-dir=x": false,
		"rg KEY":                         false,
		"rg KEY .env":                    true,
		"rg -g '*.{go,ts}' KEY":          false,
		"rg -f a.txt":                    false,
		"rg --hidden -f a.txt":           true, // the folder is read as well
		"grep -rf a.txt":                 true,
		"rg --hidden KEY":                true,
		"rg --hidden -g '*.go' KEY":      false,
		"rg -uu KEY":                     true,
		"rg -g '*.go' KEY":               false,
		"rg -g '!*.go' KEY":              false,
		"rg -g '*' KEY":                  true, // a glob also selects hidden files
		"rg -g '*.go' -g '*' KEY":        true,
		"rg --iglob '**' KEY":            true,
		"rg -t go KEY":                   false,
		"rg -t all KEY":                  true,
		"rg -te --type-add 'e:.env' KEY": true,
	} {
		_, b := shellEffects(t, table, text)
		secret := false
		for i := range b.Effects {
			secret = secret || b.Effects[i].Tags.Has(effects.Secret)
		}
		if secret != want {
			t.Errorf("%s: reads a secret: %v, want %v", text, secret, want)
		}
	}
}

// TestManyWords checks that a command of many words asks, and that its result stays
// small.
func TestManyWords(t *testing.T) {
	table := effectstest.Table(t)
	for name, text := range map[string]string{
		"operands": "cat " + strings.Repeat("a ", 10000),
		"options":  "git log " + strings.Repeat("--n ", 8000),
		"roots":    "find " + strings.Repeat(". ", 10000),
		"commands": "find . " + strings.Repeat("-exec ls {} + ", 2000),
		"wrappers": strings.Repeat("sudo ", 6000) + "ls",
		"appends":  strings.Repeat("xargs ", 5000) + "ls",
	} {
		_, b := shellEffects(t, table, text)
		unknown := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown })
		if n := len(b.Effects); n > 256+8 || !unknown {
			t.Errorf("%s: %d effects, asks: %v", name, n, unknown)
		}
	}
}

// TestFoldersOfLongText: a long command is not read once for each possible folder,
// which would take too long.
func TestFoldersOfLongText(t *testing.T) {
	table := effectstest.Table(t)
	long := "echo " + strings.Repeat("a", maxShellText/2)
	for name, c := range map[string]struct {
		folders []string
		known   bool
	}{
		"one":  {[]string{effectstest.Cwd + "/src"}, true},
		"many": {[]string{effectstest.Cwd + "/src", effectstest.Cwd + "/docs", effectstest.Cwd + "/other"}, false},
	} {
		b := shellBuilder(table, effectstest.Files())
		b.Call.Folders = c.folders
		Text(b, long, effectstest.Cwd, "command")
		if last := b.Effects[len(b.Effects)-1]; (last.Kind == effects.KindUnknown) == c.known {
			t.Errorf("%s: %s", name, last.Text)
		}
	}
}

// TestShellTextWithin: the shell text in a command's words that permd parses is
// bounded.
func TestShellTextWithin(t *testing.T) {
	b := shellBuilder(effectstest.Table(t), effectstest.Files())
	Text(b, strings.Repeat("eval ", 5000)+"ls", effectstest.Cwd, "command")
	if b.Parsed > maxAllText+maxShellText {
		t.Errorf("%d bytes parsed", b.Parsed)
	}
	if !slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return strings.Contains(e.Why, "more shell text") }) {
		t.Error("no effect says that it is too much")
	}
}

// TestFoldersOfLiveShell checks that a command has its effects in every folder that
// the agent's shell may be in.
func TestFoldersOfLiveShell(t *testing.T) {
	table := effectstest.Table(t)
	for name, c := range map[string]struct {
		text    string
		folders []string
		want    []string
		leaves  []string
	}{
		"a relative path": {"cat a.txt", []string{effectstest.Cwd + "/src"}, []string{
			"run cat a.txt ro h=0", "read a.txt ^0:0", "run cat a.txt cwd=src ro h=0", "read src/a.txt ^2:0",
		}, nil},
		"the same in both": {"echo a; cat /etc/passwd; cd " + effectstest.Cwd + "/docs && ls", []string{effectstest.Cwd + "/src"}, []string{
			"run echo a ro h=0", "run cat /etc/passwd ro h=0", "read /etc/passwd ^1:0", "run ls cwd=docs ro h=0", "read docs ^3:own",
		}, []string{effectstest.Cwd + "/docs"}},
		"a program that obeys its folder": {"npm test", []string{effectstest.Cwd + "/src"}, []string{"run npm test sub=test h=1", "run npm test sub=test cwd=src h=1"}, nil},
		"a folder on":                     {"cd src", nil, nil, []string{effectstest.Cwd + "/src"}},
		"a folder on from both":           {"cd x", []string{effectstest.Cwd + "/src"}, nil, []string{effectstest.Cwd + "/x", effectstest.Cwd + "/src/x"}},
		"a folder that may fail":          {"false && cd src; true", nil, nil, []string{effectstest.Cwd + "/src"}},
		"a subshell":                      {"(cd src && true); true $(cd docs) & cd other | true", nil, nil, nil},
		"a folder not known":              {"cd \"$x\"", nil, []string{"unknown cd to a folder that is not known"}, []string{""}},
		"a link":                          {"cd out", nil, []string{"state leaves the shell in another folder"}, []string{effectstest.Cwd + "/out", "/etc"}},
		"there and back":                  {"cd src && cd " + effectstest.Cwd, nil, nil, []string{effectstest.Cwd + "/src"}},
		"the project's own":               {"cd " + effectstest.Cwd + " && true", nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := shellBuilder(table, effectstest.Files())
			b.Call.Folders = c.folders
			Text(b, c.text, effectstest.Cwd, "command")
			checkEffects(t, b)
			var got []string
			for i := range b.Effects {
				got = append(got, effectstest.Compact(&b.Effects[i]))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.leaves, b.FinalFolders); diff != "" {
				t.Errorf("folders (-want +got):\n%s", diff)
			}
		})
	}
}
