package effects

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGlobs(t *testing.T) {
	table := shippedTable(t)
	fs := shellFiles()
	for _, file := range []string{"plain/a.md", "plain/b.go", "plain/.env", "plain/sub/c", "keys/id_rsa", "keys/a.md", "dash/-rf", "lone/x"} {
		fs.File(testCwd+"/"+file, "x")
	}
	fs.Link(testCwd+"/linked/key.md", "/home/ana/.ssh/id_ed25519").Link(testCwd+"/linked/near.md", "far.md").File(testCwd+"/linked/far.md", "x")
	fs.Link(testCwd+"/linked/out", "/etc").Link(testCwd+"/broken/a", "a")
	for i := range 1024 + 1 {
		fs.File(fmt.Sprintf("%s/many/%d.md", testCwd, i), "x")
	}
	fs.Deny(testCwd + "/locked")
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
		{"a pattern too long", "cat plain/" + strings.Repeat("a*", 40), "run cat … h=1; unknown a pattern with more names than permd looks at: plain/" + strings.Repeat("a*", 40) + " ^0:0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := shellBuilder(table, fs)
			shellText(b, tt.in, testCwd, "command")
			var got []string
			for i := range b.effects {
				if b.effects[i].Kind != KindState {
					got = append(got, compact(&b.effects[i]))
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

// TestGlobsTellSecrets has patterns whose names say that a secret is read.
func TestGlobsTellSecrets(t *testing.T) {
	table, fs := shippedTable(t), shellFiles()
	fs.File(testCwd+"/keys/id_rsa", "x").File(testCwd+"/keys/.env", "x").File(testCwd+"/plain/a", "x")
	for text, want := range map[string]bool{"cat keys/*": true, "cat keys/i*": true, "cat keys/a*": false, "cat keys/.e*": true, "cat plain/*": false} {
		b := shellBuilder(table, fs)
		shellText(b, text, testCwd, "command")
		if got := b.effects[1].Guarded().Has(Secret); got != want {
			t.Errorf("%s: secret is %v", text, got)
		}
	}
}
