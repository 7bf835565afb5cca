package shell

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestNamesOfLoops has loops over patterns. Those without a part of an effect only run what
// is known to read, and read the project.
func TestNamesOfLoops(t *testing.T) {
	table, fs := effectstest.Table(t), effectstest.Files()
	for _, file := range []string{"plain/a.md", "plain/b.go", "dash/-rf", "lone/x", "blank/a b", "lines/a\nb", "stars/*", "back/a\\", "keys/id_rsa"} {
		fs.File(effectstest.Cwd+"/"+file, "x")
	}
	fs.Link(effectstest.Cwd+"/linked/key.md", "/home/ana/.ssh/id_ed25519").Link(effectstest.Cwd+"/linked/near.md", "far.md").File(effectstest.Cwd+"/linked/far.md", "x")
	const unknown = "unknown an argument that is not known before it runs: "
	for _, tt := range []struct{ name, in, want string }{
		{"quoted", `for f in plain/*; do cat "$f"; done`, ""},
		{"not quoted", `for f in plain/*; do cat ${f}; done`, ""},
		{"what nothing matches", `for f in nosuch/*; do cat "$f" $f; done`, ""},
		{"patterns and words", `for f in lone/* plain/a.md; do head -1 "$f" | sort; done`, ""},
		{"loops in each other", `for f in plain/*; do for g in linked/n* "$f"; do cat "$g" "$f"; done; done`, ""},
		{"a test", `for f in lone/*; do [ -f "$f" ] || continue; [ "$f" = x ] && break; done`, ""},
		{"text", `for f in lone/*; do basename "$f" .md; grep -e "$f" plain/a.md; echo "== $f"; done`, ""},
		{"behind two dashes", `cd dash && for f in *; do cat -- "$f"; done`, ""},

		{"a link to a key", `for f in linked/*.md; do cat "$f"; done`, "read /home/ana/.ssh/id_ed25519"},
		{"a key", `for f in keys/*; do cat "$f"; done`, "read keys/**"},
		{"names of another place", `for f in /etc/*; do cat "$f"; done`, "read /etc/**"},
		{"the folder above", `for f in .*; do ls "$f"; done`, "read /home/ana/src"},
		{"a name like an option", `cd dash; for f in *; do cat "$f"; done`, "a pattern that may match a file named like an option"},
		{"a name with a blank", `for f in blank/*; do cat $f; done`, unknown},
		{"a name with a newline", `for f in lines/*; do cat $f; done`, unknown},
		{"a name that is a pattern", `for f in stars/*; do cat $f; done`, unknown},
		{"a name with a backslash", `for f in back/*; do cat $f; done`, unknown},
		{"names that may get a blank", `touch 'lone/a b'; for f in lone/*; do cat $f; done`, unknown},
		{"names that get a blank in the body", `for f in lone/*; do cat $f; mv plain/a.md 'lone/a b'; done`, unknown},
		{"split at another character", `IFS=l; for f in lone/*; do cat $f; done`, unknown},
		{"another folder", `for f in plain/*; do cd dash; cat "$f"; done`, unknown},
		{"another folder in a subshell", `for f in plain/*; do (cd dash && cat "$f"); done`, unknown},
		{"more behind the name", `for f in plain/*; do cat "$f.md"; done`, unknown},
		{"more before the name", `for f in plain/*; do cat "../$f"; done`, unknown},
		{"less than the name", `for f in plain/*; do cat "${f%.md}"; done`, unknown},
		{"in another variable", `for f in plain/*; do g="$f"; cat "$g"; done`, unknown},
		{"in text for another shell", `for f in plain/*; do sh -c 'cat "$f"'; done`, unknown},
		{"set by the body", `for f in plain/*; do read f; cat "$f"; done`, unknown},
		{"behind the loop", `for f in plain/*; do :; done; cat "$f"`, unknown},
		{"behind a loop that is left", `for f in plain/*; do break; done; cat "$f"`, unknown},
		{"a link made by the body", `for f in lone/*; do cat "$f"; ln -s /etc/passwd lone/y; done`, "an earlier part of the call changes what the pattern stands for"},
		{"a number that a shell evaluates", `for f in lone/*; do [ "$f" -eq 1 ]; done`, "can run code"},
		{"a number that is printed", `for f in lone/*; do printf %d "$f"; done`, "a number that a shell may have to calculate"},
		{"a program", `for f in lone/*; do "$f"; done`, "a program whose name is not known"},
		{"a program of another", `for f in lone/*; do env "$f"; done`, "a program whose name is not known"},
		{"a script", `for f in lone/*; do sh "$f"; done`, "a pattern whose files are not known"},
		{"a script of the shell", `for f in lone/*; do . "$f"; done`, "a file that is not known before it runs"},
		{"a program of sed", `for f in lone/*; do sed "$f" plain/a.md; done`, "a pattern where text is expected"},
		{"a folder to go to", `for f in lone/*; do cd "$f"; cat a; done`, "unknown"},
		{"a target", `for f in lone/*; do echo x > "$f"; done`, "a redirection to a path that is not known"},
		{"a file that is deleted", `for f in plain/*.md; do rm "$f"; done`, "a pattern whose files are not known"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := shellBuilder(table, fs)
			Text(b, tt.in, effectstest.Cwd, "command")
			var got []string
			for i := range b.Effects {
				e := &b.Effects[i]
				known := e.Kind == effects.KindRead && e.Guarded() == 0 && strings.HasPrefix(e.File.Path, effectstest.Cwd) || e.Kind == effects.KindRun && e.Run.Readonly
				if !known {
					got = append(got, effectstest.Compact(e))
				}
			}
			if list := strings.Join(got, "; "); tt.want == "" && list != "" || !strings.Contains(list, tt.want) {
				t.Errorf("%s\nhas the effects %s\nwant %q among them, and none if that is empty", tt.in, list, tt.want)
			}
		})
	}
}
