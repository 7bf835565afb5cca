package shell

import (
	"hash/maphash"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/runs"
)

// restWalk visits all statements of a text, in order and at any depth.
type restWalk struct {
	*overflow
	s     *walker
	at    scope
	pipes map[*syntax.Stmt]bool // statements that read the output of another command
	piped int                   // number of these around the current node
	loops map[string][]string   // the values of loop variables
	saved []scope               // scopes of the shells around a substitution
	nodes []node                // the nodes around the current one
}

// node tells what has to be undone after a node.
type node struct{ subprocess, piped bool }

// walk reads the commands of a parsed text.
func (r *overflow) walk(file *syntax.File, text string, at runs.Setting) {
	w := &restWalk{overflow: r, at: restScope(at.Cwd), loops: map[string][]string{}, pipes: map[*syntax.Stmt]bool{}}
	w.s = &walker{b: r.b, text: text, from: at.From, oneByOne: true}
	syntax.Walk(file, w.visit)
}

// visit is called for each node, and with nil after its last child.
func (w *restWalk) visit(n syntax.Node) bool {
	if n == nil {
		last := len(w.nodes) - 1
		if w.nodes[last].subprocess {
			w.at, w.saved = w.saved[len(w.saved)-1], w.saved[:len(w.saved)-1]
		}
		if w.nodes[last].piped {
			w.piped--
		}
		w.nodes = w.nodes[:last]
		return true
	}
	var in node
	switch n := n.(type) {
	case *syntax.CmdSubst, *syntax.Subshell, *syntax.ProcSubst:
		in.subprocess = true
		w.saved = append(w.saved, w.at)
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			w.pipes[n.Y] = true
		}
	case *syntax.ForClause:
		w.words(n)
	case *syntax.FuncDecl:
		w.s.state("defines a function", w.s.source(n))
		w.drain()
	case *syntax.Stmt:
		if in.piped = w.pipes[n]; in.piped {
			w.piped++
		}
		w.stmt(n)
	case *syntax.DeclClause:
		w.s.declare(n, &w.at, runs.Input{})
		w.drain()
	}
	w.nodes = append(w.nodes, in)
	return true
}

// words records the words of a loop.
func (w *restWalk) words(n *syntax.ForClause) {
	loop, ok := n.Loop.(*syntax.WordIter)
	if !ok {
		return
	}
	var list []string
	for _, item := range loop.Items {
		for _, x := range w.s.expand(nil, item, &w.at, runs.Input{}, inCommand) {
			if !x.Dynamic() && !x.Glob {
				list = append(list, x.Text)
			}
		}
	}
	w.drain()
	w.loops[loop.Name.Value] = list
}

// stmt reads one simple command with its redirections.
func (w *restWalk) stmt(n *syntax.Stmt) {
	call, ok := n.Cmd.(*syntax.CallExpr)
	if !ok && len(n.Redirs) == 0 || w.full() || len(w.commands) >= maxRestCommands {
		return
	}
	stdin := effects.StdinNone
	if w.piped > 0 {
		if stdin = effects.StdinPipe; w.network {
			stdin = effects.StdinNetwork
		}
	}
	var h maphash.Hash
	h.SetSeed(w.seed)
	for i := range w.at.places {
		_, _ = h.WriteString(w.at.places[i].cwd + "\x00")
	}
	_, _ = h.WriteString(string(stdin) + "\x00")
	source := w.s.source(n)
	_, _ = h.WriteString(source)
	for _, r := range n.Redirs {
		if r.Hdoc != nil {
			_, _ = h.WriteString("\x00" + w.s.source(r.Hdoc))
		}
	}
	key := restKey{h.Sum64(), w.count.Guessed}
	if w.commands[key] && !strings.Contains(source, "$") {
		return
	}
	w.commands[key] = true
	in := w.s.redirects(n.Redirs, &w.at, runs.Input{Kind: stdin})
	if ok {
		w.call(call, in)
	}
	w.drain()
}

// call reads a command, once for each value of a loop's variable that it contains.
func (w *restWalk) call(call *syntax.CallExpr, in runs.Input) {
	for _, a := range call.Assigns {
		value, known := w.s.newValue(a, &w.at)
		if w.s.assignment(a, &w.at, in); known && len(call.Args) == 0 {
			w.s.set(a.Name.Value, value, &w.at)
		}
	}
	var words []effects.Word
	for _, arg := range call.Args {
		if name := w.loopVariable(arg); name != "" {
			outer := w.at.vars
			for _, value := range w.loops[name] {
				w.at.vars = &binding{name: name, value: value, next: outer, n: maxVars}
				words = w.s.expand(words, arg, &w.at, in, inCommand)
			}
			w.at.vars = outer
			continue
		}
		words = w.s.expand(words, arg, &w.at, in, inCommand)
	}
	if len(words) > 0 {
		w.leave(w.s.simple(words, w.at, in))
	}
}

// restScope is the scope in which a part of the rest begins. It is that of a separate
// process, because its final folder is of no interest.
func restScope(cwd string) scope {
	at := startAt(cwd)
	at.subprocess = true
	return at
}

// leave continues where a command may leave the shell, first in the folder that it
// changes to. A command that exits, or may redefine any name, must not keep the rest of
// the text from being read.
func (w *restWalk) leave(out exitScopes) {
	vars := w.at.vars
	w.at = join(out.success, out.failure)
	if w.at.unreachable = false; w.at.vars == nil {
		w.at.vars = vars
	}
	w.at.places = slices.Clone(w.at.places[:min(len(w.at.places), maxRestPlaces)])
	for i := range w.at.places {
		p := &w.at.places[i]
		p.stack = p.stack[:min(len(p.stack), runs.MaxRestQueue)]
		if len(p.cwd) > maxRestFolder {
			w.at.places = nil
			break
		}
	}
	w.at.elsewhere = len(w.at.places) == 0
	w.s.full, w.s.anyAssigned, w.s.allRedefined, w.s.redefined = false, false, false, nil
}

// loopVariable returns the name of a loop variable in a word.
func (w *restWalk) loopVariable(arg *syntax.Word) (name string) {
	if len(w.loops) == 0 {
		return ""
	}
	syntax.Walk(arg, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.ParamExp:
			if n.Param != nil && len(w.loops[n.Param.Value]) > 0 {
				name = n.Param.Value
			}
		}
		return true
	})
	return name
}
