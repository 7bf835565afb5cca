package targets

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
)

// TestTargetsWithOptions: only with options that do not change which text runs is
// the target known.
func TestTargetsWithOptions(t *testing.T) {
	const root = "/home/ana/shop"
	fs := fsfake.New(root + "/.git/HEAD")
	fs.File(root+"/package.json", `{"scripts":{"build":"tsc"}}`)
	fs.File(root+"/Makefile", "test:\n\ttrue\n")
	fs.File(root+"/web/package.json", `{"name":"web"}`)
	fs.File(root+"/justfile", "lint:\n    true\n")
	for name, c := range map[string]struct {
		run  effects.Run
		want string
	}{
		"a quiet script":     {effects.Run{Program: "npm", Args: []string{"run", "build", "--silent"}, Flags: []string{"--silent"}, Subcommand: "run"}, "/package.json"},
		"words of a script":  {effects.Run{Program: "npm", Args: []string{"run", "build", "--", "--watch", "a=b"}, Subcommand: "run"}, "/package.json"},
		"no scripts":         {effects.Run{Program: "npm", Args: []string{"install"}, Subcommand: "install", Cwd: root + "/web"}, "/web/package.json"},
		"another package":    {effects.Run{Program: "npm", Args: []string{"run", "build", "-w", "x"}, Flags: []string{"--workspace"}}, ""},
		"filtered packages":  {effects.Run{Program: "pnpm", Args: []string{"--filter", "x", "build"}, Flags: []string{"--filter"}}, ""},
		"a yarn workspace":   {effects.Run{Program: "yarn", Args: []string{"workspace", "x", "build"}, Subcommand: "workspace"}, ""},
		"many jobs":          {effects.Run{Program: "make", Args: []string{"-j4", "test"}, Flags: []string{"--jobs"}}, "/Makefile"},
		"a variable":         {effects.Run{Program: "make", Args: []string{"test", "V=1"}}, "/Makefile"},
		"another shell":      {effects.Run{Program: "make", Args: []string{"test", "SHELL:=./x"}}, ""},
		"flags of make":      {effects.Run{Program: "make", Args: []string{"MAKEFLAGS=--eval=x"}}, ""},
		"another makefile":   {effects.Run{Program: "make", Args: []string{"-f", "x"}, Flags: []string{"--file"}}, ""},
		"a word not known":   {effects.Run{Program: "make", Args: []string{effects.DynamicWord}}, ""},
		"a justfile above":   {effects.Run{Program: "just", Args: []string{"lint"}, Cwd: root + "/web"}, "/justfile"},
		"no makefile above":  {effects.Run{Program: "make", Args: []string{"test"}, Cwd: root + "/web"}, ""},
		"a Taskfile missing": {effects.Run{Program: "task", Args: []string{"x"}}, ""},
		"no folder":          {effects.Run{Program: "make", Args: []string{"test"}, Cwd: "web"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.run.Known = true
			if c.run.Cwd == "" {
				c.run.Cwd = root
			}
			got := bound(fs, &c.run, &effects.Disturbance{})
			if (got == nil) != (c.want == "") || got != nil && (got.Path != root+c.want || len(got.SHA256) != 64) {
				t.Errorf("target is %+v, want %q", got, c.want)
			}
		})
	}
	look := bound(fs, &effects.Run{Program: "npm", Args: []string{"ls"}, Cwd: "/", Known: true, Readonly: true}, &effects.Disturbance{})
	if look == nil || look.Path != "" || len(look.SHA256) != 64 {
		t.Errorf("a run that only looks is bound to %+v", look)
	}
}
