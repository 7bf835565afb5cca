package runs

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/wordset"
)

var (
	compilers = wordset.Fields("gcc g++ cc c++ clang clang++")
	// sourceEnds are the names of C and its like, of which a compiler makes one file; headerEnds
	// those of which it makes one beside the header. linkedEnds are only linked.
	sourceEnds = wordset.Fields(".c .cc .cp .cxx .cpp .CPP .c++ .C .i .ii .m .mi .mm .M .mii")
	asmEnds    = wordset.Fields(".s .S .sx")
	headerEnds = wordset.Fields(".h .H .hh .hp .hxx .hpp .HPP .h++ .tcc")
	linkedEnds = wordset.Fields(".o .a .so .lo .dylib")
)

// compilerOutputs adds the writes of files that a compiler names itself: m.s with -S, m.o with
// -c, m.h.gch of a header. What it makes of other languages may have any name in its folder.
func (v *invocation) compilerOutputs() {
	if !compilers.Has(v.run.Program) || v.b.Remote || v.has([]string{"-E", "-M", "-MM", "--version", "--help", "-o"}) {
		return // it prints, or the words name the file
	}
	language := v.has([]string{"-x"})
	for _, i := range v.operands {
		w := &v.args[i]
		if w.Dynamic() || w.Glob || v.full() {
			continue // it asks already
		}
		end := path.Ext(w.Text)
		base := strings.TrimSuffix(path.Base(w.Text), end)
		if end == path.Base(w.Text) {
			base = end // .env has no ending to gcc
		}
		var names []string
		checks := v.has([]string{"-fsyntax-only"}) && !language && (sourceEnds.Has(end) || headerEnds.Has(end))
		switch {
		case checks, linkedEnds.Has(end) && !language:
			continue
		case !language && !sourceEnds.Has(end) && !asmEnds.Has(end) && !headerEnds.Has(end):
			names = append(names, ".")
		case language || headerEnds.Has(end):
			names = append(names, w.Text+".gch")
		}
		switch {
		case v.has([]string{"-S"}):
			names = append(names, base+".s")
		case v.has([]string{"-c"}):
			names = append(names, base+".o")
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			e := v.b.Operand(effects.KindWrite, name, v.run.Cwd, v.at.From)
			if e = v.via(i, e); e.Tags.Has(effects.InProject) || e.Tags.Has(effects.Worktree) {
				e.Via = &effects.Via{Effect: v.index, Arg: effects.Inherent} // as a.out
			}
			v.b.Add(e)
		}
	}
}
