package targets

import (
	"maps"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
)

const targetsRoot = "/home/ana/shop"

// targetIn returns the target of a run in a project that has the files.
func targetIn(files map[string]string, after effects.Disturbance, program string) *effects.Script {
	fs := fsfake.New(targetsRoot + "/.git/HEAD")
	for name, text := range files {
		fs.File(targetsRoot+"/"+name, text)
	}
	return bound(fs, &effects.Run{Program: program, Args: []string{"lint"}, Known: true, Cwd: targetsRoot}, &after)
}

// bound is Of, nil if the answer cannot be bound.
func bound(fsys effects.FS, r *effects.Run, after *effects.Disturbance) *effects.Script {
	s := Of(fsys, r, after, &effects.User{})
	if s != nil && s.Unbound != "" {
		return nil
	}
	return s
}

// TestTargetsIncluded: what a file with targets includes belongs to its text.
func TestTargetsIncluded(t *testing.T) {
	with := func(text string, more map[string]string) map[string]string {
		files := map[string]string{"Makefile": text}
		maps.Copy(files, more)
		return files
	}
	seen := map[string]string{}
	for name, files := range map[string]map[string]string{
		"nothing included":     with("lint:\n\ttrue\n", nil),
		"one":                  with("include a.mk\n", map[string]string{"a.mk": "lint:\n\ttrue\n"}),
		"changed":              with("include a.mk\n", map[string]string{"a.mk": "lint:\n\tevil\n"}),
		"none there":           with("include a.mk\nlint:\n", nil),
		"optional":             with("-include a.mk\nlint:\n", nil),
		"two":                  with("include a.mk \\\n  b.mk # more\nlint:\n", map[string]string{"a.mk": "A=", "b.mk": "A=A="}),
		"two, split elsewhere": with("include a.mk \\\n  b.mk # more\nlint:\n", map[string]string{"a.mk": "A=A=", "b.mk": "A="}),
		"deep":                 with("include a.mk\n", map[string]string{"a.mk": "include b.mk\n", "b.mk": "lint:\n"}),
		"deep, changed":        with("include a.mk\n", map[string]string{"a.mk": "include b.mk\n", "b.mk": "lint: evil\n"}),
		"each other":           with("include a.mk\nlint:\n", map[string]string{"a.mk": "include Makefile\n"}),
	} {
		got := targetIn(files, effects.Disturbance{}, "make")
		if got == nil {
			t.Errorf("%s: not known", name)
			continue
		}
		if other := seen[got.SHA256]; other != "" {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[got.SHA256] = name
	}
	for name, files := range map[string]map[string]string{
		"a name that make computes": with("include $(X).mk\n", nil),
		"a pattern":                 with("include *.mk\n", nil),
		"a library":                 with("load x.so\n", nil),
		"too many":                  with("include 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33\n", nil),
	} {
		if got := targetIn(files, effects.Disturbance{}, "make"); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for program, files := range map[string]map[string]string{
		"just": {"justfile": "import 'a.just'\nlint:\n  true\n"},
		"task": {"Taskfile.yml": "version: 3\nincludes:\n  a: ./a\n"},
		"rake": {"Rakefile": "task :lint\n", "rakelib/a.rake": "task :lint\n"},
	} {
		if got := targetIn(files, effects.Disturbance{}, program); got != nil {
			t.Errorf("%s: %+v", program, got)
		}
	}
	for program, files := range map[string]map[string]string{
		"just": {"justfile": "lint:\n  #!/usr/bin/env python3\n  import os\n"},
		"task": {"Taskfile.yml": "version: 3\ntasks:\n  lint: true\n"},
		"rake": {"Rakefile": "require 'bundler'\ntask :lint\n"},
	} {
		if targetIn(files, effects.Disturbance{}, program) == nil {
			t.Errorf("%s: not known", program)
		}
	}
}

// TestTargetsWritten: where the call writes a file that says what the targets are, or
// that the program would read first, they are not known.
func TestTargetsWritten(t *testing.T) {
	files := map[string]string{
		"Makefile": "include a.mk\nlint:\n\ttrue\n", "a.mk": "", "Rakefile": "task :lint\n", "package.json": `{"scripts": {"lint": "x"}}`,
		"justfile": "lint:\n  true\n",
	}
	for written, program := range map[string]string{
		"makefile": "make", "gnumakefile": "make", "a.mk": "make", "rakefile": "rake", "rakelib/x.rake": "rake", "package.json": "npm",
		"justfile": "just", "": "make",
	} {
		after := effects.Disturbance{Written: []string{targetsRoot + "/" + written}}
		if got := targetIn(files, after, program); got != nil {
			t.Errorf("%s with %q written: %+v", program, written, got)
		}
	}
	after := effects.Disturbance{Written: []string{targetsRoot + "/other", targetsRoot + "/b.mk", targetsRoot + "/sub/"}}
	for _, program := range []string{"make", "rake", "npm", "just"} {
		if targetIn(files, after, program) == nil {
			t.Errorf("%s with another file written: not known", program)
		}
	}
}
