package languages

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/wordset"
)

var (
	// sourceEnds are the suffixes of C-like sources, each compiled to one file; headerEnds those
	// of headers, each compiled to one in the folder of the header. linkedEnds are only linked.
	sourceEnds  = wordset.Fields(".c .cc .cp .cxx .cpp .CPP .c++ .C .i .ii .m .mi .mm .M .mii")
	asmEnds     = wordset.Fields(".s .S .sx")
	headerEnds  = wordset.Fields(".h .H .hh .hp .hxx .hpp .HPP .h++ .tcc")
	linkedEnds  = wordset.Fields(".o .a .so .lo .dylib")
	libraryEnds = wordset.Fields(".a .so .dylib .tbd")
)

// Compiling holds the options of a C-like compiler that decide which files it writes, if it
// neither prints its output (-E, -M) nor has a name for it (-o).
type Compiling struct {
	Language bool // which the files are of (-x), whatever their names say
	Prints   bool // -E, -M, -MM
	Checks   bool // -fsyntax-only
	Assembly bool // -S
	Object   bool // -c
}

// Outputs returns the files that the compiler names itself, for one of its operands: m.s with
// -S, m.o with -c, m.h.gch of a header. What it makes of other languages may have any name in
// its folder, which is ".".
func (c Compiling) Outputs(operand string) []string {
	end := path.Ext(operand)
	base := strings.TrimSuffix(path.Base(operand), end)
	if end == path.Base(operand) {
		base = end // .env has no ending to gcc
	}
	var names []string
	switch {
	case c.Checks && !c.Language && (sourceEnds.Has(end) || headerEnds.Has(end)), linkedEnds.Has(end) && !c.Language:
		return nil
	case !c.Language && !sourceEnds.Has(end) && !asmEnds.Has(end) && !headerEnds.Has(end):
		names = append(names, ".")
	case c.Language || headerEnds.Has(end):
		names = append(names, operand+".gch")
	}
	switch {
	case c.Assembly:
		names = append(names, base+".s")
	case c.Object:
		names = append(names, base+".o")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// PrintsTo reports whether the compiler certainly prints with -o -. What links, and what
// precompiles a header, writes a file of that name.
func (c Compiling) PrintsTo(operands []string) bool {
	if c.Prints || c.Checks {
		return true
	}
	return (c.Assembly || c.Object) && !c.Language && !slices.ContainsFunc(operands, func(file string) bool {
		end := path.Ext(file)
		return !sourceEnds.Has(end) && !asmEnds.Has(end)
	})
}

// Precompiled returns the names under which compilers look for the precompiled form of a header.
func Precompiled(header string) []string { return []string{header + ".gch", header + ".pch"} }

// CompilerFinds reports whether a compiler may open a file although neither words nor sources
// name it: a precompiled header, any file in a folder of such a name, a library of -l.
func CompilerFinds(file string) bool {
	name := path.Base(file)
	return precompiled(name) || precompiled(path.Base(path.Dir(file))) || strings.HasPrefix(name, "lib") && libraryEnds.Has(path.Ext(name))
}

func precompiled(name string) bool {
	return strings.HasSuffix(name, ".gch") || strings.HasSuffix(name, ".pch")
}
