package shell

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

func TestGlobs(t *testing.T) {
	table := effectstest.Table(t)
	fs := effectstest.Files()
	for _, file := range []string{"plain/a.md", "plain/b.go", "plain/.env", "plain/sub/c", "keys/id_rsa", "keys/a.md", "dash/-rf", "lone/x", "tree/a/x.md", "tree/a/.env", "tree/b/lib/x.md", "tree/.c/x.md"} {
		fs.File(effectstest.Cwd+"/"+file, "x")
	}
	fs.Link(effectstest.Cwd+"/linked/key.md", "/home/ana/.ssh/id_ed25519").Link(effectstest.Cwd+"/linked/near.md", "far.md").File(effectstest.Cwd+"/linked/far.md", "x")
	fs.Link(effectstest.Cwd+"/linked/out", "/etc").Link(effectstest.Cwd+"/broken/a", "a")
	for i := range 1024 + 1 {
		fs.File(fmt.Sprintf("%s/many/%d.md", effectstest.Cwd, i), "x")
	}
	for i := range 80 {
		fs.Link(fmt.Sprintf("%s/wide/%d/x", effectstest.Cwd, i), "/etc/passwd")
	}
	fs.Deny(effectstest.Cwd + "/locked").Deny(effectstest.Cwd + "/tight/locked")
	for _, tt := range []struct{ name, in, want string }{
		{"nothing special", "cat plain/*", "run cat 'plain/*' ro h=0; read plain/** ^0:0"},
		{"a link to a key", "cat linked/*.md", "run cat 'linked/*.md' ro h=0; read linked/** ^0:0; read /home/ana/.ssh/id_ed25519 ^0:0"},
		{"a link that the pattern leaves out", "cat linked/n*.md", "run cat 'linked/n*.md' ro h=0; read linked/** ^0:0"},
		{"a link to a folder", "cat linked/o*", "run cat 'linked/o*' ro h=0; read linked/** ^0:0; read /etc ^0:0"},
		{"a link to a folder that is gone through", "grep -r x linked/o*", "run grep -r x 'linked/o*' flags=--recursive ro h=0; read linked/** ^0:2; read /etc/** ^0:2"},
		{"a link in a circle", "cat broken/*", "run cat 'broken/*' ro h=0; read broken/** ^0:0; unknown too many links, or links in a circle ^0:0"},
		{"folders that are gone through", "grep -r x plain/*", "run grep -r x 'plain/*' flags=--recursive ro h=0; read plain/** ^0:2; read plain/sub/** ^0:2"},
		{"more names than are looked at", "cat many/*.md", "run cat … h=1; unknown a folder whose names cannot be read, or are too many: many/*.md ^0:0"},
		{"a folder that cannot be read", "cat locked/*.md", "run cat … h=1; unknown a folder whose names cannot be read, or are too many: locked/*.md ^0:0"},
		{"a folder that is not there", "cat nosuch/*.md", "run cat 'nosuch/*.md' ro h=0; read nosuch/** ^0:0"},
		{"a link made before", "ln -s /etc/passwd plain/new.md; cat plain/*.md", "run ln -s /etc/passwd plain/new.md flags=--symbolic h=0; write /etc/passwd ^0:1; write plain/new.md ^0:2; " +
			"run cat … h=1; unknown an earlier part of the call changes what the pattern stands for: plain/*.md ^3:0"},
		{"a link made before, left out", "ln -s /etc/passwd plain/new.go; cat plain/*.md", "run ln -s /etc/passwd plain/new.go flags=--symbolic h=0; write /etc/passwd ^0:1; write plain/new.go ^0:2; " +
			"run cat 'plain/*.md' ro h=0; read plain/** ^3:0"},
		{"links put anywhere before", "git checkout x; cat plain/*.md", "run git checkout x sub=checkout h=1; " +
			"run cat 'plain/*.md' ro h=0; unknown an earlier part of the call may change what the path leads to ^1:0"},
		{"links put anywhere in the very folder", "git checkout x; cat ./*.md", "run git checkout x sub=checkout h=1; " +
			"run cat … h=1; unknown an earlier part of the call changes what the pattern stands for: ./*.md ^1:0"},
		{"a listing", "ls linked/*", "run ls 'linked/*' ro h=0; read linked/** ^0:0; read /etc ^0:0"},
		{"a pattern that is the folder above too", "cat plain/.*", "run cat 'plain/.*' ro h=0; read plain/** ^0:0; read . ^0:0"},
		{"a search through the folder above", "grep -r x .*", "run grep -r x '.*' flags=--recursive ro h=0; read ./** ^0:2; read /home/ana/src/** ^0:2; read .git/** ^0:2"},
		{"a listing of the folder above", "ls ./.?", "run ls './.?' ro h=0; read ./** ^0:0; read /home/ana/src ^0:0"},
		{"names with a point that are not the folder above", "ls .??*", "run ls '.??*' ro h=0; read ./** ^0:0"},
		{"folders by a pattern", "cat tree/*/*.md", "run cat 'tree/*/*.md' ro h=0; read tree/** ^0:0"},
		{"a name in folders by a pattern", "cat t*e/?/x.md", "run cat 't*e/?/x.md' ro h=0; read ./** ^0:0"},
		{"two patterns of folders", "cat tree/*/l*/*.md", "run cat 'tree/*/l*/*.md' ro h=0; read tree/** ^0:0"},
		{"folders that are listed", "ls tree/*/", "run ls 'tree/*/' ro h=0; read tree/** ^0:0; read tree/a ^0:0; read tree/b ^0:0"},
		{"folders that are searched", "grep -r x tree/b/*", "run grep -r x 'tree/b/*' flags=--recursive ro h=0; read tree/b/** ^0:2; read tree/b/lib/** ^0:2"},
		{"no folders by a pattern", "cat tree/z*/*.md", "run cat 'tree/z*/*.md' ro h=0; read tree/** ^0:0"},
		{"a key in folders by a pattern", "cat tree/*/.env", "run cat 'tree/*/.env' ro h=0; read tree/** ^0:0"},
		{"links to folders by a pattern", "cat l*/*/passwd", "run cat … h=1; unknown a pattern with links to folders: l*/*/passwd ^0:0"},
		{"many links in folders by a pattern", "cat wide/*/x", "run cat … h=1; unknown a pattern with more links and folders than permd looks at: wide/*/x ^0:0"},
		{"a folder above folders by a pattern", "cat tree/*/../x", "run cat … h=1; unknown a pattern whose files are not known: tree/*/../x ^0:0"},
		{"hidden folders by a pattern", "cat tree/.*/x.md", "run cat … h=1; unknown a pattern whose files are not known: tree/.*/x.md ^0:0"},
		{"folders by a pattern that cannot be read", "cat tight/*/x", "run cat … h=1; unknown a folder whose names cannot be read, or are too many: tight/*/x ^0:0"},
		{"folders by a pattern that are deleted", "rm tree/*/x.md", "run rm … h=1; unknown a pattern whose files are not known: tree/*/x.md ^0:0"},
		{"a link made before, in folders by a pattern", "ln -s /etc tree/d; cat tree/*/passwd", "run ln -s /etc tree/d flags=--symbolic h=0; write /etc ^0:1; write tree/d ^0:2; " +
			"run cat … h=1; unknown an earlier part of the call changes what the pattern stands for: tree/*/passwd ^3:0"},
		{"a pattern too long", "cat plain/" + strings.Repeat("a*", 40), "run cat … h=1; unknown a pattern with more names than permd looks at: plain/" + strings.Repeat("a*", 40) + " ^0:0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := shellBuilder(table, fs)
			Text(b, tt.in, effectstest.Cwd, "command")
			var got []string
			for i := range b.Effects {
				if b.Effects[i].Kind != effects.KindState {
					got = append(got, effectstest.Compact(&b.Effects[i]))
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

// TestGlobsTellSecrets has patterns that match the names of secrets.
func TestGlobsTellSecrets(t *testing.T) {
	table, fs := effectstest.Table(t), effectstest.Files()
	fs.File(effectstest.Cwd+"/keys/id_rsa", "x").File(effectstest.Cwd+"/keys/.env", "x").File(effectstest.Cwd+"/plain/a", "x")
	fs.Remove(effectstest.Cwd + "/out")
	for text, want := range map[string]bool{"cat keys/*": true, "cat keys/i*": true, "cat keys/a*": false, "cat keys/.e*": true, "cat plain/*": false,
		"cat */id_rsa": true, "cat */.env": true, "cat k*/*": true, "cat k*/a*": false, "cat p*/*": false} {
		b := shellBuilder(table, fs)
		Text(b, text, effectstest.Cwd, "command")
		if got := b.Effects[1].Guarded().Has(effects.Secret); got != want {
			t.Errorf("%s: secret is %v", text, got)
		}
	}
}
