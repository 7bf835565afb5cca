package shell

import (
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestEffectsOfValues: which word is an option's value is read as the program reads it,
// so that a rule about a file fires. Each line is a command and the effects that a rule
// must be able to see, and after ! those that it does not have. The commands were run
// with ripgrep 13, UnZip 6.00, Zip 3.0 and rsync 3.5.0.
func TestEffectsOfValues(t *testing.T) {
	table := effectstest.Table(t)
	for command, want := range map[string]string{
		// ripgrep reads .env and goes into it: clap leaves out the =.
		"rg -f=.env src":           "read .env, read =.env",
		"rg -f.env src":            "read .env, !read =.env",
		"docker build -f=x .":      "read x, read =x",
		"kubectl get pods -o=json": "!unknown a value after = | which some programs leave out: =json",
		"cut -d= -f1 a.txt":        "read a.txt, !unknown a value after = | which some programs leave out: =",
		"fd -C=/etc passwd":        "unknown a value after = | which some programs leave out: =/etc",
		// ripgrep 13 runs x: --engine may have no value. The same where the table is wrong.
		"rg --engine --pre=./x hi": "run x script unlisted h=0",
		"rg --color --pre=./x hi":  "unknown an option in the place of a value: --pre=./x",
		"rg -e --pre=./x src":      "read src/**, !unknown an option in the place of a value: --pre=./x",
		"head -n -5 a.txt":         "read a.txt, !unknown an option in the place of a value: -5",
		"ruff rule @x":             "unknown a value that names a file: @x",
		// -x has no value of its own: what it leaves out goes on to -d.
		"unzip a.zip -x -d docs":   "read a.zip, write docs/**, !write ./**",
		"unzip a.zip -x b -d docs": "read a.zip, write docs/**",
		"unzip -xd docs a.zip":     "read a.zip, write docs/**",
		// -dv, -dg and -du are no -d: they add the file.
		"zip -dv a.zip b.txt": "write a.zip, read b.txt",
		"zip -d a.zip b.txt":  "write a.zip",
		// It reads more filters there.
		"rsync -n -f 'merge .env' src/ docs/": "unknown an option that can do more: 'merge .env'",
	} {
		checkShellEffects(t, table, command, want)
	}
}
