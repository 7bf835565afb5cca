package imports

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/decisions/targets"
)

// A list may allow less than other tools do: a line must say what runs.

// allowAll handles an allow of everything that a tool can do.
func allowAll(a area) ([]line, *untranslatable) {
	switch a {
	case readArea:
		return []line{{effects.KindRead, "./**"}}, nil
	case editArea:
		return []line{{effects.KindWrite, "./**"}}, nil
	case runArea:
		return nil, &untranslatable{Everything, "it allows every command", "allow the commands that you mean, or let profile \"balanced\" allow what only looks"}
	case fetchArea:
		return nil, &untranslatable{Everything, "it allows every address", "allow the hosts that you mean: allow connect"}
	case deleteArea:
		return nil, &untranslatable{Everything, "it allows deleting anything", "allow the paths that you mean: allow delete"}
	case toolArea:
		return nil, &untranslatable{Everything, "it allows every tool of every server", "name the servers: allow use"}
	case anyArea:
	}
	return nil, &untranslatable{Everything, "it allows everything", "choose a profile in permd.toml, and allow what you mean"}
}

// parseAllow parses an allow line and refuses lines that cover more than their
// words say, or nothing at all.
func (t *translator) parseAllow(l line) (*pattern.Pattern, *untranslatable) {
	if l.kind == effects.KindRun && middleStar(l.text) {
		return nil, &untranslatable{NotWords, "a * of its own stands before other words, where it may be anything", "write the words out"}
	}
	p, err := pattern.Parse(l.kind, l.text)
	if err != nil {
		n := &untranslatable{reason: NotWords, why: err.Error()}
		if e, ok := errors.AsType[*pattern.Error](err); ok {
			n.why, n.instead = e.Reason, e.Fix
		}
		if l.kind != effects.KindRun {
			n.reason = NoPattern
		}
		return nil, n
	}
	switch {
	case p.Run != nil:
		if n := t.checkRunnable(p.Run); n != nil {
			return nil, n
		}
	case p.Path != nil:
		if n := wholeTree(p); n != nil {
			return nil, n
		}
	case p.Tool != nil && p.Tool.Server == nil:
		name, literal := p.Tool.Name.Literal()
		if !literal {
			return nil, &untranslatable{Everything, "it allows tools by a part of their name, of whatever agent", "name the tools"}
		}
		if t.o.Profiles != nil && t.o.Profiles.Own(name) {
			return nil, &untranslatable{Elsewhere, "permd sees what this tool does, not its name", "allow what it may do: run, read, write, delete or connect"}
		}
	case p.Tool != nil:
		if server, literal := p.Tool.Server.Literal(); !literal {
			return nil, &untranslatable{Everything, fmt.Sprintf("it allows tools of every server like %q: whoever writes one chooses its name", strings.Join(p.Tool.Server, "*")), "name the server"}
		} else if server == "" {
			return nil, &untranslatable{NotWords, "it names no server", ""}
		}
	}
	return p, nil
}

// checkRunnable refuses lines that allow code which permd cannot see, and drops a
// final * where it would cover nothing.
func (t *translator) checkRunnable(r *pattern.Run) *untranslatable {
	open := r.Rest || slices.ContainsFunc(r.Words, func(w pattern.Glob) bool { _, ok := w.Literal(); return !ok })
	bare := len(r.Words) == 0
	base := path.Base(r.Program)
	if t.o.Table == nil {
		return &untranslatable{Elsewhere, "permd knows no programs here", ""}
	}
	runs := t.o.Table.Runs(r.Program)
	switch {
	case t.o.Table.Transparent(base):
		return &untranslatable{Wrapper, base + " only runs another program, and permd judges that one", "allow the program that it runs"}
	case runs == programs.RunsCommands:
		return &untranslatable{Wrapper, base + " runs other programs", "allow the programs that it runs"}
	case runs == programs.RunsCode && (open || bare || inlineCode(r)):
		return &untranslatable{Interpreter, base + " runs any code that it is given", "allow the script with its words, such as \"" + base + " scripts/check\""}
	case base == "eval" || base == "source" || base == "." || base == "exec" || base == "command" || base == "builtin":
		return &untranslatable{Interpreter, base + " runs whatever it is given", "allow the program that you mean"}
	case targets.Runs(base) && openTarget(r):
		return &untranslatable{Targets, "it allows whatever targets the project defines, now and later", "name the targets, an entry each, such as \"" + base + " test\""}
	case r.ByPath() && r.Rest && !t.o.Table.Knows(base):
		// The effect of further words on a script is unknown.
		r.Rest = false
	}
	return nil
}

// inlineCode reports whether words of an interpreter may be code.
func inlineCode(r *pattern.Run) bool {
	for _, w := range r.Words {
		lit, _ := w.Literal()
		if strings.HasPrefix(lit, "-") || strings.ContainsAny(lit, " ;()'\"") {
			return true
		}
	}
	return false
}

// openTarget reports whether a line of make, npm or similar leaves open which
// target of the project runs.
func openTarget(r *pattern.Run) bool {
	switch path.Base(r.Program) {
	case "npm", "pnpm", "yarn", "bun":
		if len(r.Words) == 0 {
			return r.Rest
		}
		last, literal := r.Words[len(r.Words)-1].Literal()
		return r.Rest && (last == "run" || last == "run-script") || !literal && strings.Join(r.Words[len(r.Words)-1], "") == ""
	}
	return r.Rest && len(r.Words) == 0
}

// wholeTree refuses paths that contain a whole machine or home folder.
func wholeTree(p *pattern.Pattern) *untranslatable {
	text := p.String()
	top, deep := strings.CutSuffix(text, "/**")
	if !deep {
		return nil
	}
	if text == "~/**" || p.Path.Base == pattern.Root && strings.Count(top, "/") <= 2 && slices.ContainsFunc(
		[]string{"", "/home", "/Users", "/root", "/etc", "/usr", "/var", "/opt", "/tmp"}, func(w string) bool {
			return top == w || w != "" && (w == "/home" || w == "/Users") && path.Dir(top) == w
		}) {
		return &untranslatable{Everything, text + " is a whole machine or person", "name the folders that you mean"}
	}
	return nil
}
