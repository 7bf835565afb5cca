package remember

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/shards"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/remember/facts"
)

// rejectIndex finds the parts of rejects that an effect may touch. Each part is
// filed under keys such that every effect that it touches yields one of them;
// candidates are then compared in full. So the time of a search depends on the
// effect and hardly on the number of rejects. It is immutable, like index.
type rejectIndex struct {
	shards shards.Map[string, []*rejectPart]
	// counts holds the number of keys of each class, to avoid useless lookups.
	counts [256]int
	// lengths holds the number of keys of class byValue for values of each
	// length, in bytes.
	lengths map[int]int
	// roots holds the number of keys of the choices for each project, by its root
	// (see reject_roots.go).
	roots map[string]int
}

// The classes of keys, each the first byte of its keys.
const (
	byPath   = 'p' // the literal beginning of a line about files
	byFolder = 'f' // a folder above that, for effects that reach below a folder
	byWords  = 'w' // program and all words of a line about runs
	byWord   = 'o' // program and one operand, or an option that permd does not know
	byValue  = 'v' // program and one value of an option
	byFlags  = 'g' // program, sub-command and one option, or none
	byName   = 'n' // program alone, of lines with a *
	byHost   = 'h'
	byTool   = 't'
	bySum    = 's' // runs, files and tools that no line can name
	byText   = 'x' // the text of calls

	byAnything = 'a' // replacements of lost rejects
)

// maxSame bounds the lines of one person filed under a key that does not
// distinguish them: all of them are compared.
const maxSame = maxAnchored

// maxDepth bounds the folders of a path that are looked up. A deeper line is
// found by its beginning.
const maxDepth = 128

// rejectEdit changes a rejectIndex that is not published yet.
type rejectEdit struct {
	x *rejectIndex
	shards.Edit
	ownLengths bool // x.lengths is a copy
	ownRoots   bool // x.roots is a copy
}

func (r *rejectEdit) shard(key string) map[string][]*rejectPart {
	return shards.Own(&r.Edit, &r.x.shards, shards.Of([]byte(key)))
}

func (r *rejectEdit) add(e *entry) {
	for _, p := range e.parts {
		p.keys = r.x.keysFor(p)
		for _, key := range p.keys {
			shard := r.shard(key)
			// Readers of the earlier list see only up to its length.
			shard[key] = append(shard[key], p)
			r.count(key, 1)
			r.countRoot(e, 1)
		}
	}
}

func (r *rejectEdit) count(key string, n int) {
	r.x.counts[key[0]] += n
	if key[0] != byValue {
		return
	}
	if !r.ownLengths {
		r.ownLengths, r.x.lengths = true, maps.Clone(r.x.lengths)
	}
	if r.x.lengths == nil {
		r.x.lengths = map[int]int{}
	}
	length := len(key) - strings.LastIndexByte(key, 0) - 1
	if r.x.lengths[length] += n; r.x.lengths[length] == 0 {
		delete(r.x.lengths, length)
	}
}

func (r *rejectEdit) remove(e *entry) {
	for _, p := range e.parts {
		for _, key := range p.keys {
			shard := r.shard(key)
			i := slices.Index(shard[key], p)
			if i < 0 {
				continue
			}
			r.count(key, -1)
			r.countRoot(e, -1)
			if len(shard[key]) == 1 {
				delete(shard, key)
				continue
			}
			shard[key] = slices.Delete(slices.Clone(shard[key]), i, i+1)
		}
	}
}

func (x *rejectIndex) at(key []byte) []*rejectPart { return x.shards[shards.Of(key)][string(key)] }

// search looks for the rejects that the effect touches.
func (x *rejectIndex) search(s *search) {
	x.searchHere(s)
	if len(x.roots) > 0 {
		x.searchRoots(s)
	}
}

// searchHere looks for the rejects that the effect touches as part of a call in the
// project of the query.
func (x *rejectIndex) searchHere(s *search) {
	e := s.q.Effect
	var buf [512]byte
	switch e.Detail() {
	case effects.DetailRun:
		x.searchRun(s, buf[:], e.Run)
		if e.Run.Script != nil && x.counts[byWords]+x.counts[byName] > 0 {
			x.searchScript(s, buf[:])
		}
	case effects.DetailFile:
		x.searchFile(s, buf[:], e.File.Path, false)
		if facts.Within(e.File.Path, s.q.Project) {
			x.searchFile(s, buf[:], "/"+strings.TrimPrefix(e.File.Path[len(s.q.Project):], "/"), true)
		} else if e.File.Recursive && facts.Within(s.q.Project, e.File.Path) {
			x.searchFile(s, buf[:], "/", true)
		}
		if tree := e.File.Tree; tree != "" && facts.Within(e.File.Path, tree) {
			// What was said of a file of the project holds for that file of each of its
			// working trees, from whichever of them the call comes.
			s.tree = tree
			x.searchFile(s, buf[:], "/"+strings.TrimPrefix(e.File.Path[len(tree):], "/"), true)
			s.tree = ""
		}
	case effects.DetailConnect:
		if x.counts[byHost] == 0 {
			break
		}
		key := keyHead(buf[:], byHost, s.q.UID, e.Kind)
		for name := e.Connect.Host; ; {
			x.checkTouching(s, append(key, name...))
			_, parent, ok := strings.Cut(name, ".")
			if !ok {
				break
			}
			name = parent
		}
		if e.Tags.Has(effects.Loopback) {
			x.checkTouching(s, append(key, loopbackKey...))
		}
	case effects.DetailUse:
		if x.counts[byTool] == 0 {
			break
		}
		key := keyHead(buf[:], byTool, s.q.UID, e.Kind)
		servers := []string{pattern.FoldTool(e.Use.Server), "*"}
		if e.Use.Server == "" {
			servers = append(servers, effects.UnknownServer)
		}
		for _, server := range servers {
			for _, tool := range toolNames(e.Use) {
				x.checkTouching(s, appendTool(key, server, tool))
			}
		}
	case effects.NoDetail:
	}
	if x.counts[byAnything] > 0 {
		for _, uid := range []uint32{s.q.UID, allUsers} {
			for _, p := range x.at(keyHead(buf[:], byAnything, uid, "")) {
				if p.Kind == "" || p.Kind == e.Kind {
					s.checkPart(p)
				}
			}
		}
	}
	if x.counts[bySum] > 0 {
		for _, absolute := range []bool{false, true} {
			for _, d := range s.key.sumsOf(s.q, absolute) {
				x.checkSums(s, bySum, &d)
			}
		}
	}
	if x.counts[byText] > 0 && s.firstOfText() {
		if d, ok := s.key.textSum(s.q); ok {
			x.checkSums(s, byText, &d)
		}
	}
}

// searchScript looks for rejects of the script that an interpreter runs.
func (x *rejectIndex) searchScript(s *search, buf []byte) {
	script := runOfScript(s.q)
	if script == nil {
		return
	}
	q := *s.q
	q.Effect = script
	as := *s
	as.q = &q
	x.searchRun(&as, buf, script.Run)
	s.reject, s.unsure, s.part = as.reject, as.unsure, as.part
}

// toolNames returns the names that a matching line may have for a tool, * for
// one with a *, as pattern.FoldTool returns them. The name of a tool whose server is not
// named apart may begin with that of the server.
func toolNames(u *effects.Use) []string {
	tool := pattern.FoldTool(u.Tool)
	names := []string{tool, "*"}
	if u.Server == effects.UnknownServer || u.Server == "" {
		for i := range len(tool) {
			if strings.IndexByte(pattern.ServerSeparators, tool[i]) >= 0 {
				names = append(names, tool[i+1:])
			}
		}
	}
	return names
}

// firstOfText reports whether no earlier effect of the call was read from the same
// text: one lookup per call suffices.
func (s *search) firstOfText() bool {
	all := s.q.All
	return len(all) == 0 || &all[0] == s.q.Effect || all[0].From != s.q.Effect.From || all[0].Shell != s.q.Effect.Shell
}

// searchFile looks for lines at a path and at the folders above it and, for an
// effect that reaches below it, for lines below it. inProject means that the
// path is in the project.
func (x *rejectIndex) searchFile(s *search, buf []byte, file string, inProject bool) {
	if x.counts[byPath] == 0 {
		return
	}
	kind := s.q.Effect.Kind
	begin := func(class byte) []byte {
		key := keyHead(buf, class, s.q.UID, kind)
		if inProject {
			key = append(key, '.')
		}
		return append(key, '/')
	}
	key := begin(byPath)
	x.checkTouching(s, key)
	depth, rest := 0, file[1:]
	for rest != "" && depth < maxDepth {
		name, after, _ := strings.Cut(rest, "/")
		if depth > 0 {
			key = append(key, '/')
		}
		key = append(key, name...)
		x.checkTouching(s, key)
		depth, rest = depth+1, after
	}
	if !s.q.Effect.File.Recursive {
		return
	}
	key = append(append(begin(byFolder), strings.TrimPrefix(path.Clean(file), "/")...), 0)
	x.below(s, key, &Scope{Kind: ForUser})
	if s.q.Project != "" {
		x.below(s, key, &Scope{Kind: ForProject, Key: s.q.Key()})
	}
	for _, id := range append([]string{s.q.Session.ID}, s.q.Session.Ancestors...) {
		x.below(s, key, &Scope{Kind: ForSession, Key: id, Conn: s.q.Session.Conn})
	}
}

// below returns the first line in a scope that is in force: all of them are
// below the path that the effect reaches.
func (x *rejectIndex) below(s *search, key []byte, scope *Scope) {
	for _, p := range x.at(appendScope(key, scope)) {
		if !p.unsure && s.touchedBy(p) && s.checkPart(p) {
			return
		}
	}
	for _, p := range x.at(appendScope(key, scope)) {
		if p.unsure && s.touchedBy(p) && s.checkPart(p) {
			return
		}
	}
}

// checkTouching considers the lines under a key that touch the effect.
func (x *rejectIndex) checkTouching(s *search, key []byte) {
	for _, p := range x.at(key) {
		if s.touchedBy(p) {
			s.checkPart(p)
		}
	}
}

func (x *rejectIndex) checkSums(s *search, class byte, d *digest) {
	var key [1 + len(digest{})]byte
	key[0] = class
	copy(key[1:], d[:])
	for _, p := range x.at(key[:]) {
		s.checkPart(p)
	}
}

// touchedBy reports whether the line touches the effect. In another working tree only a
// choice for the project does.
func (s *search) touchedBy(p *rejectPart) bool {
	root := s.q.Project
	if s.tree != "" {
		if root = s.tree; p.entry.choice.Scope.Kind != ForProject {
			return false
		}
	}
	return p.line.Touches(s.q.Effect, pattern.Context{Project: root})
}

// checkPart considers a part that the effect touches, and reports whether it
// applies here. A part that denies precedes one that asks, then the wider
// scope.
func (s *search) checkPart(p *rejectPart) bool {
	e := p.entry
	if e.expiredAt(s.now) || !e.covers(s.q) || s.elsewhere && e.choice.Scope.Kind != ForProject {
		return false
	}
	unsure := p.unsure && (e.accepted.Load() == 0 || p.matchesAll())
	switch {
	case s.reject == nil, s.unsure && !unsure:
	case unsure && !s.unsure, e.choice.Scope.Kind.rank() <= s.reject.choice.Scope.Kind.rank():
		return true
	}
	s.reject, s.unsure, s.part = e, unsure, p
	return true
}

// full reports whether a person has too many lines that share their keys with
// those of a new reject.
func (x *rejectIndex) full(e *entry) (int, bool) {
	for _, p := range e.parts {
		for _, key := range x.keysFor(p) {
			switch key[0] {
			case byName, byHost, byTool, byPath, byFlags, byWord, byValue:
			default:
				continue
			}
			if n := len(x.at([]byte(key))); n >= maxSame {
				return n, true
			}
		}
	}
	return 0, false
}

// sameFirstKey returns the entries with a part filed under the same key as the
// first part of e; any equal entry is among them.
func (x *rejectIndex) sameFirstKey(e *entry) []*entry {
	if len(e.parts) == 0 {
		return nil // of an earlier permd, and known by its digest alone
	}
	p := e.parts[0]
	keys := p.keysOf()
	key := keys[0]
	if p.line != nil && p.line.Path != nil {
		key = keys[len(keys)-1] // the path's own key; those before it are of folders
	}
	var list []*entry
	for _, p := range x.at([]byte(key)) {
		list = append(list, p.entry)
	}
	return list
}
