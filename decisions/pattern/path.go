package pattern

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// Base is what a path is relative to, as it is written.
type Base string

// The bases.
const (
	Root    Base = "/"
	Home    Base = "~/"
	Project Base = "./" // the root of the project
)

// root returns the folder of the base, "" if it is not known.
func (b Base) root(ctx Context) string {
	switch b {
	case Root:
		return "/"
	case Home:
		return ctx.Home
	case Project:
	}
	return ctx.Project
}

// Path is a line about a path, matched on the path with all links resolved.
type Path struct {
	Base Base
	// Parts are the components; nil is **, any number of components.
	Parts []Glob
}

// splitBase splits a path that begins with /, ./ or ~/.
func splitBase(s string) (Base, string) {
	for _, b := range []Base{Project, Home} {
		if rest, ok := strings.CutPrefix(s, string(b)); ok {
			return b, rest
		}
	}
	return Root, strings.TrimPrefix(s, "/")
}

func parsePath(line string) (*Path, *refusal) {
	switch {
	case line == "/" || line == "~" || line == "." || line == "~/" || line == "./":
		return nil, refuse("write "+strings.TrimSuffix(line, "/")+"/** for all that is in it", "the line names a whole tree by its root")
	case !strings.HasPrefix(line, "/") && !strings.HasPrefix(line, "~/") && !strings.HasPrefix(line, "./"):
		return nil, refuse("begin with / or ~/ or ./ (the project's root)", "the path has no beginning")
	case strings.HasSuffix(line, "/"):
		return nil, refuse("write "+line+"** for what is in it, or leave the last / out for the folder itself", "the path ends with /")
	}
	p := &Path{}
	var rest string
	p.Base, rest = splitBase(line)
	components, r := splitPath(rest)
	if r != nil {
		return nil, r
	}
	for _, c := range components {
		lit, literal := c.Literal()
		switch {
		case literal && (lit == "" || lit == "."):
		case literal && lit == "..":
			return nil, refuse("write the path without ..", "the path has a ..")
		case len(c) == 3 && c[0] == "" && c[1] == "" && c[2] == "":
			if n := len(p.Parts); n == 0 || p.Parts[n-1] != nil {
				p.Parts = append(p.Parts, nil)
			}
		case !literal && hasEmptyMiddle(c):
			return nil, refuse("use ** as a component of its own, as in ./a/**/b", "** stands in the middle of a name")
		default:
			p.Parts = append(p.Parts, c)
		}
	}
	if len(p.Parts) == 0 {
		return nil, refuse("write ** for all that is in it", "the line names a whole tree by its root")
	}
	if last := p.Parts[len(p.Parts)-1]; last != nil && strings.HasSuffix(last[len(last)-1], " ") {
		return nil, refuse("", "the path ends with a space")
	}
	return p, nil
}

// splitPath splits at slashes and interprets * and the backslash, which quotes
// the character after it.
func splitPath(s string) ([]Glob, *refusal) {
	parts := []Glob{{""}}
	put := func(text string) {
		last := parts[len(parts)-1]
		last[len(last)-1] += text
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '/':
			parts = append(parts, Glob{""})
		case '*':
			parts[len(parts)-1] = append(parts[len(parts)-1], "")
		case '\\':
			i++
			if i == len(s) || s[i] == '/' {
				return nil, refuse("", "a backslash must stand before the character that it protects")
			}
			put(s[i : i+1])
		case '?', '[', ']', '{', '}':
			return nil, refuse("write \\"+string(rune(c))+" for the character itself, or a line for each name",
				"%q is no wildcard here; only * and ** are", c)
		default:
			put(s[i : i+1])
		}
	}
	return parts, nil
}

// String returns the line.
func (p *Path) String() string {
	out := make([]string, len(p.Parts))
	for i, part := range p.Parts {
		if part == nil {
			out[i] = "**"
			continue
		}
		pieces := make([]string, len(part))
		for j, piece := range part {
			pieces[j] = pathEscaper.Replace(piece)
		}
		out[i] = strings.Join(pieces, "*")
	}
	return string(p.Base) + strings.Join(out, "/")
}

var pathEscaper = strings.NewReplacer(
	`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)

// Literal reports whether the line names one path.
func (p *Path) Literal() bool {
	for _, part := range p.Parts {
		if len(part) != 1 {
			return false
		}
	}
	return true
}

// Deep reports whether the line ends with **, so that it matches everything
// below the path as well.
func (p *Path) Deep() bool { return p.Parts[len(p.Parts)-1] == nil }

// match reports whether the line covers all of a file effect. A recursive
// effect needs a line that ends with **; only a delete may name the folder
// itself, since deleting a folder deletes its contents.
func (p *Path) match(kind effects.Kind, f *effects.File, ctx Context) bool {
	if f.Recursive && !p.Deep() && (kind != effects.KindDelete || !p.Literal()) {
		return false
	}
	parts, ok := p.relative(f.Path, ctx)
	return ok && p.walk(parts)[len(p.Parts)]
}

// touches reports whether the line names any part of a file effect.
func (p *Path) touches(f *effects.File, ctx Context) bool {
	root := p.Base.root(ctx)
	if f.Recursive && root != "" && (f.Path == root || below(root, f.Path)) {
		return true // the base itself and everything in it
	}
	parts, ok := p.relative(f.Path, ctx)
	if !ok {
		return false
	}
	states := p.walk(parts)
	if states[len(p.Parts)] {
		return true
	}
	if f.Recursive {
		for _, alive := range states {
			if alive {
				return true
			}
		}
	}
	return false
}

// relative returns the components of a path below the line's base.
func (p *Path) relative(file string, ctx Context) ([]string, bool) {
	root := p.Base.root(ctx)
	if root == "" || !path.IsAbs(file) {
		return nil, false
	}
	if file == root {
		return nil, true
	}
	if !below(file, root) {
		return nil, false
	}
	return strings.Split(strings.TrimPrefix(strings.TrimPrefix(file, root), "/"), "/"), true
}

// below reports whether a path is below a folder, both absolute and cleaned.
func below(file, folder string) bool {
	return lexpath.Below(folder, file)
}

// walk consumes a path's components and returns the positions in the line that
// it may be at then: at len(p.Parts) the line has matched.
func (p *Path) walk(components []string) []bool {
	at := make([]bool, len(p.Parts)+1)
	at[0] = true
	p.skip(at)
	for _, c := range components {
		next := make([]bool, len(at))
		for i, here := range at[:len(p.Parts)] {
			switch {
			case !here:
			case p.Parts[i] == nil:
				next[i] = true
			case p.Parts[i].Match(c):
				next[i+1] = true
			}
		}
		at = next
		p.skip(at)
	}
	return at
}

// skip adds the positions that ** reaches with no component.
func (p *Path) skip(at []bool) {
	for i, part := range p.Parts {
		if at[i] && part == nil {
			at[i+1] = true
		}
	}
}
