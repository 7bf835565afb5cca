// Package weight estimates how much memory rules take once they are compiled, and bounds it.
//
// A compiled rule takes many times as many bytes as its text, and most of it is in the nodes
// of OPA's syntax tree. So the nodes are counted as soon as a file is parsed, before anything
// is compiled: a folder of rules that is too large is refused, in every layer, so that it
// cannot make the daemon exceed the memory limit of its service unit.
package weight

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/source"
)

// What rules take, in bytes. Compiled rules and lists of many kinds were measured to take 170
// to 490 bytes for each node, and about as much again while they are compiled.
const (
	perNode    = 512
	perComment = 192
	// perByte is for the text of rules, which is kept, and perListByte for that of a list, which
	// is kept with what its entries mean and the regular expressions that they become.
	perByte, perListByte = 4, 192
)

// Bounds of estimates, in bytes. With all of them reached, and the largest layer being read
// anew next to its former rules, the daemon stays below the memory of its unit.
const (
	maxLayer   = 256 << 20 // of org, or of one person
	maxProject = 32 << 20  // of one project, with the folders above it
	maxShared  = 320 << 20 // of org and of all people
	// MaxProjects is for the rules of all projects.
	MaxProjects = 64 << 20
)

// maxProjectText is the maximum size of the lists of a project and of the folders above it
// together, in bytes.
const maxProjectText = 1 << 20

const hint = "remove rules; many rules that differ in a name alone can be one rule and a set of names"

// Estimate is the estimate for one layer.
type Estimate struct {
	Bytes int64
	max   int64 // 0 for no bound
}

// Of returns the estimate of a layer that has no rules yet. What permd ships has no bound.
func Of(layer decisions.Layer) *Estimate {
	switch layer {
	case decisions.Base:
		return &Estimate{}
	case decisions.Project:
		return &Estimate{max: maxProject}
	case decisions.Org, decisions.User:
	}
	return &Estimate{max: maxLayer}
}

// Tried returns the estimate of rules that are only tried, which has the bound of a project's:
// nobody must miss the memory.
func Tried() *Estimate { return &Estimate{max: maxProject} }

// AddText adds the text of a file, and reports whether the layer still fits. If it does not, a
// problem says so.
func (e *Estimate) AddText(f *source.File, ps *diag.List) bool {
	each := perByte
	if f.IsList() {
		each = perListByte
	}
	return e.add(f.Name, int64(len(f.Data)*each), ps)
}

// AddModule adds the module that a file was parsed to, in the same way.
func (e *Estimate) AddModule(file string, m *ast.Module, ps *diag.List) bool {
	nodes := 0
	ast.WalkNodes(m, func(ast.Node) bool { nodes++; return false })
	return e.add(file, int64(nodes*perNode+len(m.Comments)*perComment), ps)
}

func (e *Estimate) add(file string, n int64, ps *diag.List) bool {
	e.Bytes += n
	if e.max == 0 || e.Bytes <= e.max {
		return true
	}
	ps.FileErrorf(file, hint, "the rules of its layer would take more than %d MiB of memory", e.max>>20)
	return false
}

// CheckText returns an error if the files of a layer, which were read from several folders,
// are too large together.
func CheckText(layer decisions.Layer, files []source.File) error {
	size := 0
	for i := range files {
		size += len(files[i].Data)
	}
	if layer != decisions.Project || size <= maxProjectText {
		return nil
	}
	return diag.Problem{File: files[len(files)-1].Name, Hint: hint,
		Text: fmt.Sprintf("the lists of its project and of the folders above are larger than %d MiB together", maxProjectText>>20)}.AsError()
}

// Shared are the estimates of the layers of org and of all people.
type Shared struct {
	// LeaveFree is set if nobody may take more than what is left for others then, so that some is
	// left for everybody.
	LeaveFree bool

	of map[owner]int64
}

type owner struct {
	layer decisions.Layer
	uid   uint32
}

// Fits reports whether a layer of that estimate fits next to the others, and if so takes it. If
// not, a problem says so. Those of projects and of what permd ships always fit.
func (s *Shared) Fits(layer decisions.Layer, uid uint32, bytes int64, ps *diag.List) bool {
	if layer != decisions.Org && layer != decisions.User {
		return true
	}
	sum, at := bytes, owner{layer, uid}
	for other, n := range s.of {
		if other != at {
			sum += n
		}
	}
	most := int64(maxShared)
	if s.LeaveFree && layer == decisions.User && bytes > s.of[at] {
		most -= bytes
	}
	if sum > most {
		ps.FileErrorf("", hint, "the rules of org and of all people would take more than %d MiB of memory together", maxShared>>20)
		return false
	}
	if s.of == nil {
		s.of = map[owner]int64{}
	}
	s.of[at] = bytes
	return true
}

// Drop takes a layer out.
func (s *Shared) Drop(layer decisions.Layer, uid uint32) { delete(s.of, owner{layer, uid}) }
