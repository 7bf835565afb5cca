package shell

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestDoesOfRuns compares what runs do in words with the commands.
func TestDoesOfRuns(t *testing.T) {
	for command, want := range map[string]string{
		"git commit -m x":                     "commits what is staged, and runs the hooks",
		"git commit --am -m x":                "replaces the last commit",
		"git push":                            "uploads commits to a remote",
		"git push -f":                         "rewrites what others have",
		"git push origin +main":               "rewrites what others have",
		"git push origin :main":               "deletes what others have",
		"git checkout -b x":                   "creates a branch and switches to it",
		"git stage a":                         "stages changes",
		"git status":                          "", // it changes nothing
		"git other":                           "", // the table does not have it
		"git branch -d x":                     "deletes a branch",
		"npm publish":                         "publishes the package",
		"npm t":                               "runs the script test of package.json",
		"npm run build":                       "runs the script build of package.json",
		"npm run $X":                          "runs or lists scripts of package.json",
		"make":                                "runs targets of the makefile",
		"make lint":                           "runs the target lint of the makefile",
		"make CC=x lint test":                 "runs the target lint test of the makefile",
		"python x.py --y":                     "runs the script x.py",
		"python -c 'print(1)'":                "runs Python code that is given inline",
		"go vet ./...":                        "compiles and runs the project's build tools",
		"pip install x":                       "installs packages, which may run their own code",
		"frob x":                              "",
		"just " + strings.Repeat("x", 99):     "runs the recipe " + strings.Repeat("x", 60) + "… of the justfile",
		"make ghp_" + strings.Repeat("a", 36): "runs the target ghp_*** of the makefile",
	} {
		_, b := shellEffects(t, effectstest.Table(t), command)
		if r := lastRun(b.Effects); r == nil || r.Does != want {
			t.Errorf("%s: %+v, want %q", command, r, want)
		}
	}
}

// TestMovedOfRuns: what is moved away is called a file or a folder where that is certain.
func TestMovedOfRuns(t *testing.T) {
	for text, want := range map[string]effects.Moved{
		"mv a.go b.go": effects.MovedFile, "mv src lib": effects.MovedFolder, "mv link lib": effects.MovedFile, "mv none lib": effects.MovedPath,
		"mv a.go src": effects.MovedFile, "git mv a.go b.go": effects.MovedFile,
		"cp -r src a.go; mv a.go b": "", // what lies there then is not known at all
		"rm a.go":                   "",
	} {
		fs := effectstest.Files().File(effectstest.Cwd+"/a.go", "package a\n").File(effectstest.Cwd+"/src/a.go", "package src\n").
			Link(effectstest.Cwd+"/link", effectstest.Cwd+"/src")
		b := shellBuilder(effectstest.Table(t), fs)
		Text(b, text, effectstest.Cwd, "command")
		var got effects.Moved
		for _, e := range b.Effects {
			if e.Kind == effects.KindDelete {
				got = e.File.Moved // of the last one
			}
		}
		if got != want {
			t.Errorf("%s: it moves %q, want %q", text, got, want)
		}
	}
}
