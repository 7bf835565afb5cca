package runs

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/languages"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/wordset"
)

var compilers = wordset.Fields("gcc g++ cc c++ clang clang++")

// compilerOutputs adds the writes of files that a compiler names itself.
func (v *invocation) compilerOutputs() {
	if !compilers.Has(v.run.Program) || v.b.Remote || v.has([]string{"--version", "--help"}) {
		return
	}
	c := languages.Compiling{Language: v.has([]string{"-x"}), Prints: v.has([]string{"-E", "-M", "-MM"}), Checks: v.has([]string{"-fsyntax-only"}), Assembly: v.has([]string{"-S"}), Object: v.has([]string{"-c"})}
	if v.has([]string{"-o"}) { // the words name the file
		v.compilerPrints(c)
		return
	}
	if c.Prints {
		return
	}
	for _, i := range v.operands {
		w := &v.args[i]
		if w.Dynamic() || w.Glob || strings.HasPrefix(w.Text, "@") || v.full() {
			continue // it asks already
		}
		for _, name := range c.Outputs(w.Text) {
			e := v.b.Operand(effects.KindWrite, name, v.run.Cwd, v.at.From)
			if e = v.via(i, e); e.Tags.Has(effects.InProject) || e.Tags.Has(effects.Worktree) {
				e.Via = &effects.Via{Effect: v.index, Arg: effects.Inherent} // as a.out
			}
			v.b.Add(e)
		}
	}
}

// compilerPrints adds the write of a file that is named "-", unless that is standard output.
func (v *invocation) compilerPrints(c languages.Compiling) {
	var files []string
	for _, i := range v.operands {
		files = append(files, v.args[i].Text)
	}
	for i, arg := range v.run.Args {
		if (arg == "-o-" || arg == "-" && i > 0 && v.run.Args[i-1] == "-o") && !c.PrintsTo(files) {
			v.b.Add(v.via(i, v.b.Operand(effects.KindWrite, "./-", v.run.Cwd, v.at.From)))
		}
	}
}

// compilerLibraries adds the reads of the files that words name as libraries, -l:FILE, in each
// folder of -L.
func (v *invocation) compilerLibraries() {
	libs, folders := languages.Libraries(v.run.Args)
	for _, lib := range libs {
		if lib.Elsewhere {
			v.unknown(lib.Arg, "a library that may be anywhere: "+display.Display(v.run.Args[lib.Arg]))
		}
		for _, dir := range folders {
			for _, file := range lib.Files {
				if v.full() {
					return
				}
				v.b.Add(v.via(lib.Arg, v.b.Operand(effects.KindRead, dir+"/"+file, v.run.Cwd, v.at.From)))
			}
		}
	}
}

// compilerOpens adds the reads of files that a compiler searches for by itself, through links:
// precompiled headers next to the headers that are included, and libraries.
func (v *invocation) compilerOpens() {
	if !compilers.Has(v.run.Program) || v.b.Rest != nil || v.b.Remote || v.run.Cwd == "" || v.has([]string{"--version", "--help"}) {
		return
	}
	v.compilerLibraries()
	folders := []string{v.manifestRoot()}
	for _, e := range v.ownReads() {
		for _, at := range append([]string{e.Path}, e.OtherPaths...) {
			for _, name := range languages.Precompiled(at) {
				v.opened(name)
			}
			if !v.isFolder(at) {
				at = path.Dir(at)
			}
			if !slices.ContainsFunc(folders, func(dir string) bool { return lexpath.In(dir, at) }) {
				folders = append(folders, at)
			}
		}
	}
	for _, dir := range folders {
		v.opensLinks(dir, languages.CompilerFinds)
	}
}

// keepsOutput are the wrappers that leave their command their own standard output. Others may
// give it a terminal (script, unbuffer).
var keepsOutput = wordset.Fields("nohup timeout gtimeout nice time command stdbuf ionice env xargs caffeinate chrt taskset setarch setsid")

// nohup adds the write of the file that nohup appends its command's output to if that would go
// to a terminal: nohup.out, or the same in the home if that cannot be opened.
func (b *Builder) nohup(at Setting) {
	if at.Redirected {
		return
	}
	const name = "nohup.out"
	here := b.Operand(effects.KindWrite, name, at.Cwd, at.From)
	refused := here.File == nil || b.MayNotAppend(here.File.Path)
	b.Add(here)
	home := b.Operand(effects.KindWrite, paths.Child(cmp.Or(b.Call.User.Home, "/"), name), "/", at.From)
	switch {
	case here.File == nil || home.File == nil || here.File.Path == home.File.Path:
	case refused:
		b.Add(home)
	default:
		home.Via = &effects.Via{Effect: max(0, len(b.Effects)-1), Arg: effects.Inherent}
		b.OpenSometimes(home)
	}
}
