package remember

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// keysOf are the keys of a part.
func (p *rejectPart) keysOf() []string {
	uid := p.entry.choice.UID
	switch l := p.line; {
	case l == nil:
		class := byte(bySum)
		if p.Kind == effects.KindUnknown {
			class = byText
		}
		keys := make([]string, len(p.sums))
		for i, d := range p.sums {
			keys[i] = string(append([]byte{class}, d[:]...))
		}
		return keys
	case l.Run != nil:
		return runKeys(l.Run, uid)
	case l.Path != nil:
		return p.pathKeys(l.Path, uid)
	case l.Host != nil:
		return []string{string(append(keyHead(nil, byHost, uid, l.Kind), l.Host.Name...))}
	default:
		return []string{string(appendTool(keyHead(nil, byTool, uid, l.Kind), literalOf(l.Tool.Server), literalOf(l.Tool.Name)))}
	}
}

func keyHead(buf []byte, class byte, uid uint32, kind effects.Kind) []byte {
	buf = binary.BigEndian.AppendUint32(append(buf[:0], class), uid)
	return append(append(buf, kind...), 0)
}

func runKeys(r *pattern.Run, uid uint32) []string {
	key := func(class byte, rest ...string) string {
		b := append(keyHead(nil, class, uid, effects.KindRun), baseName(r.Program)...)
		for _, w := range rest {
			b = append(append(b, 0), w...)
		}
		return string(b)
	}
	if !r.Literal() || len(r.Named) > 0 {
		return []string{key(byName)}
	}
	words := make([]string, len(r.Words))
	for i, w := range r.Words {
		words[i], _ = w.Literal()
	}
	keys := []string{key(byWords, words...)}
	switch s := r.Sense; {
	case s == nil:
	case len(s.Operands) > 0:
		// The longest tells most.
		keys = append(keys, key(byWord, slices.MaxFunc(s.Operands, func(a, b string) int { return cmp.Compare(len(a), len(b)) })))
	default:
		keys = append(keys, key(byFlags, s.Flags...))
	}
	return keys
}

func (p *rejectPart) pathKeys(l *pattern.Path, uid uint32) []string {
	b := keyHead(nil, byPath, uid, p.Kind)
	if l.Base == pattern.Project {
		b = append(b, '.')
	}
	b = append(b, '/')
	beginning := len(b)
	// Each folder on the way, with the scope: whoever reaches below it touches
	// the line whatever else it says, so one that holds there is enough.
	var keys []string
	folder := func() {
		f := append(keyHead(nil, byFolder, uid, p.Kind), b[len(keyHead(nil, byPath, uid, p.Kind)):]...)
		keys = append(keys, string(appendScope(append(f, 0), &p.entry.choice.Scope)))
	}
	for depth, name := range l.Parts {
		literal, ok := "", len(name) == 1
		if ok {
			literal = name[0]
		}
		if !ok || depth == maxDepth {
			break
		}
		folder()
		if len(b) > beginning {
			b = append(b, '/')
		}
		b = append(b, literal...)
	}
	folder()
	return append(keys, string(b))
}

func appendScope(b []byte, s *Scope) []byte {
	switch s.Kind {
	case ForUser:
		return append(b, 'u')
	case ForProject:
		return append(append(b, 'p'), s.Key...)
	}
	return append(binary.BigEndian.AppendUint64(append(b, 's'), s.Conn), s.Key...)
}
