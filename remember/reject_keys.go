package remember

import (
	"encoding/binary"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// keysOf returns all keys that a part may be filed under.
func (p *rejectPart) keysOf() []string {
	uid := p.entry.choice.UID
	l := p.line
	if p.matchesAll() {
		return []string{string(keyHead(nil, byAnything, uid, ""))}
	}
	if l == nil {
		class := byte(bySum)
		if p.Kind == effects.KindUnknown {
			class = byText
		}
		keys := make([]string, len(p.sums))
		for i, d := range p.sums {
			keys[i] = string(append([]byte{class}, d[:]...))
		}
		return keys
	}
	switch l.Detail() {
	case effects.DetailRun:
		var keys []string
		for _, k := range runKeys(l.Run, uid) {
			keys = append(append(keys, k.words), k.any...)
		}
		return keys
	case effects.DetailFile:
		return p.pathKeys(l.Path, uid)
	case effects.DetailConnect:
		keys := []string{string(append(keyHead(nil, byHost, uid, l.Kind), l.Host.Name...))}
		if l.Host.Loopback() {
			keys = append(keys, string(append(keyHead(nil, byHost, uid, l.Kind), loopbackKey...)))
		}
		return keys
	case effects.DetailUse:
		server, names := pattern.FoldTool(literalOf(l.Tool.Server)), []string{literalOf(l.Tool.Name)}
		if name, _, ok := l.Tool.Versioned(); ok && names[0] != "*" {
			names = append(names, literalOf(name)) // a version has many forms
		}
		var keys []string
		for _, name := range names {
			name = pattern.FoldTool(name)
			keys = append(keys, string(appendTool(keyHead(nil, byTool, uid, l.Kind), server, name)))
			if server != "" {
				keys = append(keys, string(appendTool(keyHead(nil, byTool, uid, l.Kind), effects.UnknownServer, name)))
			}
		}
		return keys
	case effects.NoDetail: // Parse makes none
	}
	return nil
}

// loopbackKey is used for all names of this machine; no host has that name.
const loopbackKey = "\x00loopback"

func keyHead(buf []byte, class byte, uid uint32, kind effects.Kind) []byte {
	buf = binary.BigEndian.AppendUint32(append(buf[:0], class), uid)
	return append(append(buf, kind...), 0)
}

func (p *rejectPart) pathKeys(l *pattern.Path, uid uint32) []string {
	b := keyHead(nil, byPath, uid, p.Kind)
	if l.Base == pattern.Project {
		b = append(b, '.')
	}
	b = append(b, '/')
	beginning := len(b)
	// Each folder above it, with the scope: an effect that reaches below the
	// folder touches every line there, so one that is in force suffices.
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
	case ForSession, ForChildren:
	}
	return append(binary.BigEndian.AppendUint64(append(b, 's'), s.Conn), s.Key...)
}
