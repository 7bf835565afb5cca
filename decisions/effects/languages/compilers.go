package languages

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/wordset"
)

var (
	// sourceEnds are the names of C and its like, of which a compiler makes one file; headerEnds
	// those of which it makes one beside the header. linkedEnds are only linked.
	sourceEnds = wordset.Fields(".c .cc .cp .cxx .cpp .CPP .c++ .C .i .ii .m .mi .mm .M .mii")
	asmEnds    = wordset.Fields(".s .S .sx")
	headerEnds = wordset.Fields(".h .H .hh .hp .hxx .hpp .HPP .h++ .tcc")
	linkedEnds = wordset.Fields(".o .a .so .lo .dylib")
)

// Compiling is what a compiler of C and its like was told to do. It writes the files that
// Outputs returns unless it prints, or is told their name.
type Compiling struct {
	Language bool // which the files are of (-x), whatever their names say
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
