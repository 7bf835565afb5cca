package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/testload"
)

// TestFormOracle: curl reads the files of a part of a form, and those that keys of it name.
func TestFormOracle(t *testing.T) {
	o := newTracedOracle(t, "curl")
	for _, file := range []string{"a.txt", "b.txt", "sub/.env"} {
		o.write(t, file, "K: x\n")
	}
	opened := 0
	for range testload.Rounds(t, "PERMD_TEST_OPENED", 40, 1000) {
		part := o.pick("x=", "=", "x", "") + o.pick("@", "<", "y", "(", `"y"`, "", "@", " @")
		for range 1 + o.rnd.IntN(4) {
			part += o.pick("a.txt", "sub/.env", "b.txt", ",", ";", ";headers=@", ";headers=<", ";type=text/plain", ";type=a/b;charset=x", ";filename=f", ";filename=", ";encoder=7bit", `"`, "; HEADERS=@", ";x=y", `\`, " ", ";Type=a/b", "=", ",@")
		}
		opened += o.check(t, "curl -s -m 1 -F '"+part+"' http://127.0.0.1:1/", o.project)
	}
	for _, part := range []string{"x=@a.txt;headers=@sub/.env", "x=y;headers=@sub/.env", "x=<a.txt;headers=<sub/.env", "x=@a.txt;type=a/b;headers=@sub/.env", "x=@a.txt,sub/.env", "=(;headers=@sub/.env"} {
		opened += o.check(t, "curl -s -m 1 -F '"+part+"' http://127.0.0.1:1/", o.project)
	}
	if opened == 0 {
		t.Errorf("seed %d: nothing was opened", o.seed)
	}
}

// TestBareRepositoryOracle: git takes a bare name for a folder, and runs what is there.
func TestBareRepositoryOracle(t *testing.T) {
	o := newTracedOracle(t, "git")
	setup := "rm -rf .git; git init -q -b main . && git -c user.name=a -c user.email=a@x commit -q --allow-empty -m x; for d in evil sub/inner shown.git; do git init -q --bare $d; done; git bundle create -q packed.bundle HEAD; " +
		"git remote add origin http://127.0.0.1:1/x; git remote add evil2 http://127.0.0.1:1/x; mkdir origin"
	o.trace(t, setup, o.project)
	opened := 0
	for range testload.Rounds(t, "PERMD_TEST_OPENED", 25, 400) {
		text := "git " + o.pick("push", "push -q", "fetch", "pull", "ls-remote", "remote show", "remote update", "fetch --multiple origin", "push --repo=", "clone --bare", "remote prune")
		if !strings.HasSuffix(text, "=") {
			text += " "
		}
		text += o.pick("evil", "evil2", "inner", "shown", "shown.git", "packed", "packed.bundle", "origin", "none", "./evil") + o.pick("", " main", " out")
		if o.rnd.IntN(4) == 0 {
			text = o.pick("cp -r evil new", "mv evil new", "ln -s evil new", "git init --bare new") + "; git fetch new; rm -rf new"
		}
		opened += o.check(t, text, filepath.Join(o.project, o.pick("", "", "sub")), ".git", ".git/")
		o.trace(t, "git rev-parse --git-dir && ls evil || git init -q --bare evil; rm -rf out new sub/out", o.project)
	}
	if opened == 0 {
		t.Errorf("seed %d: nothing was opened", o.seed)
	}
}

// TestPathListsOracle: programs read further paths in the value of an option.
func TestPathListsOracle(t *testing.T) {
	for name, options := range map[string][]string{
		"javac": {"-cp"}, "zip": {"-i", "-x"}, "rustc": {"-L", "--extern"},
		"grep": {"-f"}, "gcc": {"-I", "-include", "-L"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "javac" || name == "rustc") {
				t.Skip("long: a compiler that takes seconds to start; gcc is the quick one")
			}
			o := newTracedOracle(t, name)
			o.env = append(o.env, "RUSTUP_HOME="+os.Getenv("RUSTUP_HOME"))
			o.write(t, "sub/.env", "K=x\n")
			o.write(t, "a.txt", "x\n")
			o.write(t, "m.java", "class m { foo.X x; }\n")
			o.write(t, "m.rs", "fn main() {}\n")
			o.write(t, "m.c", "int x;\n")
			command := map[string]string{"javac": "javac %o m.java", "zip": "zip -q - a.txt %o >/dev/null", "rustc": "rustc %o m.rs", "grep": "grep %o a.txt", "gcc": "gcc -c %o m.c"}[name]
			for _, option := range options {
				for _, value := range []string{"a.txt,sub/.env", "a.txt:sub/.env", "x=sub/.env", "@sub/.env", "x=a.txt,sub/.env"} {
					between := " "
					if name == "zip" {
						between = ""
					}
					o.check(t, strings.Replace(command, "%o", option+between+value, 1), o.project, "m.java", "m.rs", "m.c")
				}
			}
		})
	}
}
