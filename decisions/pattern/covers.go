package pattern

import (
	"slices"
	"strings"
)

// Covers reports whether the line certainly matches everything that o matches: as an
// allow, which has to match all of an effect, or as an ask or a deny, which touches any
// part of it. It returns false where that cannot be told from the lines alone.
func (p *Pattern) Covers(o *Pattern, allow bool) bool {
	if p.Kind != o.Kind {
		return false
	}
	switch {
	case p.Run != nil && o.Run != nil:
		return p.Run.coversLine(o.Run, allow)
	case p.Path != nil && o.Path != nil:
		return p.String() == o.String() || p.Path.coversLine(o.Path)
	case p.Host != nil && o.Host != nil:
		return p.Host.coversLine(o.Host, allow)
	case p.Tool != nil && o.Tool != nil:
		return (p.Tool.Server == nil) == (o.Tool.Server == nil) &&
			(p.Tool.Server == nil || p.Tool.Server.coversGlob(o.Tool.Server)) && p.Tool.Name.coversGlob(o.Tool.Name) &&
			(!allow || p.Tool.OpensKinds() || !o.Tool.OpensKinds())
	}
	return false
}

func (r *Run) coversLine(o *Run, allow bool) bool {
	if r.Program != o.Program || len(r.Words) > len(o.Words) || o.Rest && !r.Rest {
		return false
	}
	if allow && r.Rest && !o.Rest && r.ByPath() {
		return false // its last * allows nothing, unless the program is known
	}
	if len(r.Named) != len(o.Named) && (allow || len(r.Named) > 0) {
		return false // the words that a line names must be present
	}
	for i, word := range r.Named {
		if word != o.Named[i] {
			return false
		}
	}
	if len(r.Words) < len(o.Words) && (!r.Rest || allow) {
		// Words matched by a final * must be harmless; words that are spelled
		// out need not be.
		return false
	}
	for i, word := range r.Words {
		if !word.Equal(o.Words[i]) {
			return false
		}
	}
	return true
}

// coversLine compares path lines, taking a folder with everything below it.
func (p *Path) coversLine(o *Path) bool {
	if p.Base != o.Base || !p.Deep() || len(p.Parts) > len(o.Parts) {
		return false
	}
	for i, part := range p.Parts[:len(p.Parts)-1] {
		if part == nil || o.Parts[i] == nil || !part.Equal(o.Parts[i]) {
			return false
		}
	}
	// A line with the exact path covers guarded paths, which a ** never does.
	return !o.Literal()
}

func (h *Host) coversLine(o *Host, allow bool) bool {
	if h.Port != 0 && h.Port != o.Port || h.Scheme != "" && h.Scheme != o.Scheme ||
		allow && h.Port == 0 && h.Scheme == "" && (o.Port != 0 || o.Scheme != "") {
		return false // an allow that names neither means the web only
	}
	if !h.Below {
		return !o.Below && h.Name == o.Name
	}
	return o.Below && h.Name == o.Name || strings.HasSuffix(o.Name, "."+h.Name)
}

// coversGlob reports whether g is a lone *, the same as o, or matches a literal o.
func (g Glob) coversGlob(o Glob) bool {
	if g.Equal(o) || len(g) == 2 && g[0] == "" && g[1] == "" {
		return true
	}
	lit, ok := o.Literal()
	return ok && g.Match(lit)
}

// maxStarts bounds the words of Starts.
const maxStarts = 16

// Starts returns texts for the literal beginning of the line, each longer than the one before,
// at least one. A line that covers this one has one of them as its longest, so that it can be
// found without comparing all lines with all.
func (p *Pattern) Starts() []string {
	key := string(p.Kind)
	var words []string
	var globs []Glob
	switch {
	case p.Run != nil:
		key += "\x00" + p.Run.Program
		globs = p.Run.Words
	case p.Path != nil:
		key += "\x00" + string(p.Path.Base)
		globs = p.Path.Parts
	case p.Host != nil:
		words = strings.Split(p.Host.Name, ".")
		slices.Reverse(words)
	case p.Tool != nil && p.Tool.Server == nil:
		globs = []Glob{p.Tool.Name}
	case p.Tool != nil:
		globs = []Glob{p.Tool.Server, p.Tool.Name}
	}
	for _, g := range globs {
		if len(g) != 1 {
			break
		}
		words = append(words, g[0])
	}
	starts := []string{key}
	for _, w := range words[:min(len(words), maxStarts)] {
		key += "\x00" + w
		starts = append(starts, key)
	}
	return starts
}
