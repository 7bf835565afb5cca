package shell

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects/plainshell"
)

// shellReader reads shell text twice: with the parser, whose tree the package walks, and
// with the recogniser of plain text. Nothing else reads shell text.
//
// The parser is only one reader of shell text: bash, dash and zsh each have their own,
// and where they differ the tree is that of another program than the one that runs. So a
// text that is not plain, or in which the parser finds other words, expansions or
// operators than the recogniser, is never allowed without a person, whatever its tree.
type shellReader struct {
	parsers sync.Pool // making a parser costs more than most commands take to parse
	others  sync.Pool // of *markReader
}

// markReader has the memory of what is compared with the parser's tree.
type markReader struct {
	plain plainshell.Reader
	tree  treeReader
}

// maxKeptMarks is the number of marks and words for which memory is kept.
const maxKeptMarks = 1 << 10

// reader is shared by all calls.
var reader shellReader

// read returns the tree of a text that one of the shells will read, nil if the parser
// rejects it, and why it is not plain, nil if it is.
func (r *shellReader) read(text string, shells plainshell.Shells) (*syntax.File, *plainshell.Refusal) {
	by, ok := r.others.Get().(*markReader)
	if !ok {
		by = new(markReader)
	}
	defer func() {
		by.plain.Forget(maxKeptMarks)
		r.others.Put(by)
	}()
	script, refusal := by.plain.Read(text, shells)
	file := r.tree(text)
	if refusal != nil {
		return file, refusal
	}
	if file == nil {
		return nil, &plainshell.Refusal{Construct: plainshell.ParserDiffers, Detail: "text that the parser does not accept"}
	}
	if at, same := sameMarks(script.Marks, by.tree.read(file)); !same {
		return file, &plainshell.Refusal{Construct: plainshell.ParserDiffers, Offset: at, Detail: "a word or an operator that the parser sees elsewhere"}
	}
	return file, nil
}

// tree returns the tree of a text, nil if the parser rejects it. What is found in a tree
// alone may only lead to a deny.
func (r *shellReader) tree(text string) *syntax.File {
	p, ok := r.parsers.Get().(*syntax.Parser)
	if !ok {
		p = syntax.NewParser(syntax.Variant(syntax.LangBash))
	}
	defer r.parsers.Put(p)
	file, err := p.Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	return file
}

// unknownMark is the kind of marks that no plain text has.
const unknownMark = plainshell.Kind(255)

// treeReader finds the marks of trees, in the order of plainshell.Script.
type treeReader struct {
	marks    []plainshell.Mark
	commands int32
	visit    func(syntax.Node) bool // the method
}

// read returns the marks of a tree, which are valid until the next call.
func (t *treeReader) read(file *syntax.File) []plainshell.Mark {
	t.marks, t.commands = t.marks[:0], 0
	if t.visit == nil {
		t.visit = t.visitNode
	}
	syntax.Walk(file, t.visit)
	slices.SortFunc(t.marks, func(a, b plainshell.Mark) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(a.Kind, b.Kind))
	})
	return t.marks
}

func (t *treeReader) at(kind plainshell.Kind, from, to uint, command int32) {
	t.marks = append(t.marks, plainshell.Mark{Start: int32(from), End: int32(to), Kind: kind, Command: command})
}

func (t *treeReader) node(kind plainshell.Kind, n syntax.Node, command int32) {
	t.at(kind, n.Pos().Offset(), n.End().Offset(), command)
}

func (t *treeReader) token(kind plainshell.Kind, pos syntax.Pos, length uint) {
	t.at(kind, pos.Offset(), pos.Offset()+length, 0)
}

// unless returns unknownMark if that is so, and the kind otherwise.
func unless(so bool, kind plainshell.Kind) plainshell.Kind {
	if so {
		return unknownMark
	}
	return kind
}

// visitNode adds the marks of a node. It returns whether those in it follow.
func (t *treeReader) visitNode(n syntax.Node) bool {
	switch n := n.(type) {
	case nil, *syntax.File, *syntax.Word, *syntax.Lit, *syntax.Assign, *syntax.Comment:
	case *syntax.Stmt:
		if n.Negated {
			t.token(plainshell.MarkNot, n.Position, 1)
		}
		if n.Background {
			t.token(plainshell.MarkBackground, n.Semicolon, 1)
		}
		if n.Coprocess || n.Disown {
			t.node(unknownMark, n, 0)
		}
	case *syntax.TimeClause:
		t.token(unless(n.PosixFormat, plainshell.MarkTime), n.Time, 4)
	case *syntax.CallExpr:
		for _, a := range n.Assigns {
			t.node(unless(a.Append || a.Index != nil || a.Array != nil, plainshell.MarkAssignment), a, t.commands)
		}
		for i, w := range n.Args {
			kind := plainshell.MarkWord
			if i == 0 {
				kind = plainshell.MarkName
			}
			t.node(kind, w, t.commands)
		}
		t.commands++
	case *syntax.DeclClause:
		t.node(plainshell.MarkName, n.Variant, t.commands)
		for _, a := range n.Args {
			t.node(unless(a.Append || a.Index != nil || a.Array != nil, plainshell.MarkWord), a, t.commands)
		}
		t.commands++
	case *syntax.Redirect:
		switch n.Op {
		case syntax.Hdoc:
			t.node(plainshell.MarkDelimiter, n.Word, 0)
			if n.Hdoc != nil && len(n.Hdoc.Parts) > 0 {
				t.at(plainshell.MarkBody, n.Hdoc.Pos().Offset(), documentEnd(n.Hdoc), 0)
			}
		case syntax.RdrIn, syntax.RdrOut, syntax.AppOut, syntax.DplOut, syntax.RdrAll:
			t.node(plainshell.MarkTarget, n.Word, 0)
		default:
			t.node(unknownMark, n, 0)
		}
	case *syntax.WordIter:
		for _, w := range n.Items {
			t.node(plainshell.MarkItem, w, 0)
		}
	case *syntax.SglQuoted:
		t.node(unless(n.Dollar, plainshell.MarkSingle), n, 0)
	case *syntax.DblQuoted:
		t.node(unless(n.Dollar, plainshell.MarkDouble), n, 0)
	case *syntax.ParamExp:
		t.node(plainshell.MarkParameter, n, 0)
		return false // its text has no marks
	case *syntax.CmdSubst:
		t.node(unless(n.Backquotes || n.TempFile || n.ReplyVar, plainshell.MarkSubstitution), n, 0)
	case *syntax.ProcSubst:
		t.node(unless(n.Op != syntax.CmdIn, plainshell.MarkProcess), n, 0)
	case *syntax.ArithmExp:
		t.node(unless(n.Bracket, plainshell.MarkArithmetic), n, 0)
		return false
	case *syntax.Subshell:
		t.token(plainshell.MarkSubshell, n.Lparen, 1)
	case *syntax.Block:
		t.token(plainshell.MarkBlock, n.Lbrace, 1)
	case *syntax.IfClause:
		if len(n.Cond) > 0 {
			t.token(plainshell.MarkIf, n.Position, 1)
		}
	case *syntax.WhileClause:
		t.token(plainshell.MarkLoop, n.WhilePos, 1)
	case *syntax.ForClause:
		t.token(unless(n.Select || n.Braces, plainshell.MarkFor), n.ForPos, 1)
	case *syntax.BinaryCmd:
		switch n.Op {
		case syntax.AndStmt:
			t.token(plainshell.MarkAnd, n.OpPos, 2)
		case syntax.OrStmt:
			t.token(plainshell.MarkOr, n.OpPos, 2)
		case syntax.Pipe:
			t.token(plainshell.MarkPipe, n.OpPos, 1)
		default:
			t.token(unknownMark, n.OpPos, 2)
		}
	default:
		t.node(unknownMark, n, 0)
	}
	return true
}

// documentEnd returns where a here-document's lines end. The parser also counts a byte of
// the next line.
func documentEnd(body *syntax.Word) uint {
	last := body.Parts[len(body.Parts)-1]
	if lit, ok := last.(*syntax.Lit); ok {
		return lit.ValuePos.Offset() + uint(len(lit.Value))
	}
	return last.End().Offset()
}

// sameMarks reports whether two readers found the same in a text, apart from how they
// number its commands, and where the first difference is.
func sameMarks(a, b []plainshell.Mark) (at int, same bool) {
	var numbers []int32 // numbers in b of the commands of a; 0 for none yet
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return int(b[i].Start), false
		case i >= len(b):
			return int(a[i].Start), false
		case a[i].Start != b[i].Start || a[i].End != b[i].End || a[i].Kind != b[i].Kind:
			return int(min(a[i].Start, b[i].Start)), false
		}
		if k := a[i].Kind; k != plainshell.MarkAssignment && k != plainshell.MarkName && k != plainshell.MarkWord {
			continue
		}
		for int(b[i].Command) >= len(numbers) {
			numbers = append(numbers, 0)
		}
		switch known := &numbers[b[i].Command]; {
		case *known == 0 && (a[i].Kind != plainshell.MarkWord):
			*known = a[i].Command + 1
		case *known != a[i].Command+1:
			return int(a[i].Start), false
		}
	}
	return 0, true
}
