package runs

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
)

// operandEffects applies the table's roles to the operands.
func (v *invocation) operandEffects() {
	if v.p.Wrapper != nil || v.p.Style == programs.StyleTest {
		return
	}
	if v.unparsed {
		v.operands = nil // an Unknown effect was added already
	}
	specs := v.operandSpecs()
	tree := v.p.Recursive || v.has(v.p.RecursiveWith)
	if v.p.Interpreter == "shell" && v.has([]string{"-c"}) {
		specs = []programs.Operand{{Role: programs.RoleInline}, {Role: programs.RoleText, Many: true}}
	}
	for n, i := range v.operands {
		if v.full() {
			return
		}
		role := programs.RoleUnknown
		switch {
		case v.dashes >= 0 && n >= v.dashes && v.p.HasDashes:
			role = v.p.AfterDashes
		default:
			if spec := programs.OperandAt(specs, n, len(v.operands)); spec != nil {
				role = spec.Role
			}
		}
		behind := v.dashes >= 0 && n >= v.dashes && v.p.HasDashes
		if w := &v.args[i]; (w.Glob && !w.One || w.Several) && !w.Dynamic() && !behind && programs.MovesOthers(specs, n, len(v.operands)) {
			v.unknown(i, "a pattern that may become several words, of which each means something else: "+display.Display(display.ShowWord(&v.args[i])))
		}
		v.apply(role, i, v.args[i], false, tree)
		if role == programs.RoleText && v.dashes < 0 {
			v.mayOverwrite(n, i)
		}
		if (role == programs.RoleReads || role == programs.RoleWrites) && v.has(v.p.DeletesWith) {
			v.apply(programs.RoleDeletes, i, v.args[i], false, tree)
		}
		if role == programs.RoleDeletes && v.has(v.p.ParentsWith) {
			v.deleteParents(i, v.args[i])
		}
		if role == programs.RoleTarget || role == programs.RoleTool || role == programs.RoleModule {
			break // the words after it are its own
		}
	}
	for _, l := range v.deferred {
		v.apply(l.role, l.arg, l.word, true, tree)
	}
}

// mayOverwrite adds the write of an operand that git takes for a pathspec although no -- is before
// it: it tells one from a revision by what there is (git checkout FILE). One that may be either is
// a write only to denies.
func (v *invocation) mayOverwrite(n, i int) {
	w := &v.args[i]
	if !v.p.Pathspecs || v.p.AfterDashes != programs.RoleWrites || w.Dynamic() || w.Text == "" || v.has(namesBranch) {
		return
	}
	// Where the path leads may change in the call, but a branch is no less likely then.
	e := v.b.Paths.Entry(effects.KindWrite, w.Text, v.run.Cwd, v.at.From)
	certain := n > 0 || w.Glob || w.Tree || w.Several || strings.ContainsAny(w.Text, `*?[\`) || w.Text[0] == ':' || e.File == nil
	if !certain {
		_, err := v.b.Paths.Lstat(e.File.Path)
		certain = err == nil
	}
	if certain {
		v.applyPath(programs.RoleWrites, i, *w, false)
		return
	}
	e.File.Recursive = true // a folder that is tracked, and gone
	v.setAside(i, e)
}

// namesBranch are the options with which operands of git checkout are no paths.
var namesBranch = []string{"-b", "-B", "--orphan", "--track"}

// deleteParents adds the deletion of each folder above an operand that the operand
// itself names: a/b and a for rmdir -p a/b/c (POSIX, rmdir).
func (v *invocation) deleteParents(i int, w effects.Word) {
	if w.Dynamic() {
		return // unknown already
	}
	if w.Glob || w.Tree {
		v.unknown(i, "the folders above a pattern: "+display.Display(display.ShowWord(&w)))
		return
	}
	for dir := w.Text; !v.full(); {
		end := strings.LastIndexByte(strings.TrimRight(dir, "/"), '/')
		if end < 0 {
			return
		}
		dir = strings.TrimRight(dir[:end], "/")
		if dir == "" {
			return
		}
		v.apply(programs.RoleDeletes, i, effects.Word{Text: dir, Shown: dir}, false, false)
	}
}

// operandSpecs returns the positions that exist with the options given.
func (v *invocation) operandSpecs() []programs.Operand {
	all := true
	for i := range v.p.Operands {
		all = all && v.hasOperand(&v.p.Operands[i])
	}
	if all {
		return v.p.Operands
	}
	var specs []programs.Operand
	for _, o := range v.p.Operands {
		if v.hasOperand(&o) {
			specs = append(specs, o)
		}
	}
	return specs
}

// hasOperand reports whether a position exists with the options given.
func (v *invocation) hasOperand(o *programs.Operand) bool {
	return !v.has(o.Unless) && (len(o.Only) == 0 || v.has(o.Only))
}
