package remember

import (
	"encoding/binary"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/shards"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/decisions/targets"
	"github.com/permd/permd/remember/facts"
)

// Bounds of the choices that are matched by their line.
const (
	// maxAnchored is how many of them may have the same anchor, so that
	// searching them takes no noticeable time.
	maxAnchored = 256
	// maxLineWords bounds the words and the folders used to find lines.
	maxLineWords = 16
)

// lineIndex finds the allows that are matched by a rule line. Each is filed
// under its anchor: the literal beginning of its line, which every effect that
// it matches shares.
type lineIndex struct {
	shards shards.Map[string, []*entry]
	// runs and files count the lines by the number of parts of their anchor, to
	// avoid useless lookups; other counts the lines of hosts and tools.
	runs, files [maxLineWords + 1]int
	other       int
}

// lineEdit changes a lineIndex that is not published yet.
type lineEdit struct {
	x *lineIndex
	shards.Edit
}

func (x *lineIndex) edit() *lineEdit { return &lineEdit{x: x} }

func (l *lineEdit) shard(key string) map[string][]*entry {
	return shards.Own(&l.Edit, &l.x.shards, shards.Of([]byte(key)))
}

func (l *lineEdit) add(e *entry) {
	key, parts := e.anchor()
	shard := l.shard(key)
	shard[key] = append(slices.Clip(shard[key]), e)
	*l.x.counter(e, parts)++
}

func (l *lineEdit) remove(e *entry) {
	key, parts := e.anchor()
	shard := l.shard(key)
	rest := withoutEntry(shard[key], e)
	if len(rest) == len(shard[key]) {
		return
	}
	if shard[key] = rest; len(rest) == 0 {
		delete(shard, key)
	}
	*l.x.counter(e, parts)--
}

func (x *lineIndex) counter(e *entry, parts int) *int {
	switch {
	case e.line.Run != nil:
		return &x.runs[parts]
	case e.line.Path != nil:
		return &x.files[parts]
	}
	return &x.other
}

// at returns the allows filed under an anchor.
func (x *lineIndex) at(key []byte) []*entry { return x.shards[shards.Of(key)][string(key)] }

// anchorHead is the start of every anchor: the owner and the kind.
func anchorHead(buf []byte, uid uint32, kind effects.Kind) []byte {
	return append(append(binary.BigEndian.AppendUint32(buf[:0], uid), kind...), 0)
}

// anchor returns the anchor of a line, and its parts.
func (e *entry) anchor() (string, int) {
	key := anchorHead(make([]byte, 0, 64), e.choice.UID, e.choice.Kind)
	parts := 0
	switch p := e.line; {
	case p.Run != nil:
		key = append(key, p.Run.Program...)
		for _, w := range p.Run.Words {
			word, literal := w.Literal()
			if !literal || parts == maxLineWords {
				break
			}
			key = append(append(key, 0), word...)
			parts++
		}
	case p.Path != nil:
		if p.Path.Base == pattern.Project {
			key = append(key, '.')
		}
		for _, part := range p.Path.Parts {
			if len(part) != 1 || parts == maxLineWords {
				break
			}
			key = append(append(key, '/'), part[0]...)
			parts++
		}
	case p.Host != nil:
		key = append(key, p.Host.Name...)
	case p.Tool != nil:
		key = appendTool(key, literalOf(p.Tool.Server), literalOf(p.Tool.Name))
	}
	return string(key), parts
}

// literalOf returns a name as it appears in the anchor of a tool; a name with a
// star matches all.
func literalOf(g pattern.Glob) string {
	switch {
	case g == nil:
		return ""
	case len(g) == 1:
		return g[0]
	}
	return "*"
}

func appendTool(key []byte, server, tool string) []byte {
	return append(append(append(key, server...), 0), tool...)
}

// search looks for lines that match the effect.
func (x *lineIndex) search(s *search) {
	var buf [512]byte
	e := s.q.Effect
	key := anchorHead(buf[:], s.q.UID, e.Kind)
	switch e.Detail() {
	case effects.DetailRun:
		x.searchRun(s, key, e.Run)
	case effects.DetailFile:
		x.searchFile(s, key, e.File.Path)
		if facts.Within(e.File.Path, s.q.Project) {
			rel := e.File.Path[len(s.q.Project):]
			if s.q.Project == "/" {
				rel = e.File.Path
			}
			x.searchFile(s, append(key, '.'), rel)
		}
	case effects.DetailConnect:
		if x.other == 0 {
			return
		}
		for name := e.Connect.Host; ; {
			x.check(s, append(key, name...))
			_, parent, ok := strings.Cut(name, ".")
			if !ok {
				break
			}
			name = parent
		}
	case effects.DetailUse:
		if x.other == 0 {
			return
		}
		for _, server := range []string{e.Use.Server, "*"} {
			for _, tool := range []string{e.Use.Tool, "*"} {
				x.check(s, appendTool(key, server, tool))
			}
			if v := e.Use.Version; v != "" {
				x.check(s, appendTool(key, server, e.Use.Tool+"@"+v))
				if short, ok := strings.CutSuffix(v, ".0.0"); ok {
					x.check(s, appendTool(key, server, e.Use.Tool+"@"+short))
				}
			}
		}
	case effects.NoDetail:
	}
}

func (x *lineIndex) searchRun(s *search, key []byte, r *effects.Run) {
	key = append(key, r.Program...)
	for parts := 0; ; parts++ {
		if x.runs[parts] > 0 {
			x.check(s, key)
		}
		if parts == maxLineWords || parts == len(r.Args) {
			return
		}
		key = append(append(key, 0), r.Args[parts]...)
	}
}

// searchFile searches for the path and for all folders above it.
func (x *lineIndex) searchFile(s *search, key []byte, p string) {
	end := len(key)
	if p != "/" {
		key = append(key, p...)
	}
	if x.files[0] > 0 {
		x.check(s, key[:end])
	}
	parts := 0
	for i := end + 1; i <= len(key) && parts < maxLineWords; i++ {
		if i < len(key) && key[i] != '/' {
			continue
		}
		if parts++; x.files[parts] > 0 {
			x.check(s, key[:i])
		}
	}
}

// check considers the lines under an anchor that match.
func (x *lineIndex) check(s *search, key []byte) {
	for _, e := range x.at(key) {
		if s.loosely && e.matchesLoosely(s.q) || !s.loosely && e.matches(s.q) {
			one := [1]*entry{e}
			s.check(one[:])
		}
	}
}

// matches reports whether an allow's line and pins cover all of the effect.
// Guarded effects are only matched by a line with the exact path or host.
func (e *entry) matches(q *decisions.MemoryQuery) bool { return e.matchesWith(q, false) }

// matchesLoosely is matches for a choice that is bound to content, whatever that is now.
func (e *entry) matchesLoosely(q *decisions.MemoryQuery) bool {
	return e.choice.Verdict == decisions.Allow && e.choice.Pins.SHA256 != "" && e.choice.Pins.Script != "" && e.matchesWith(q, true)
}

func (e *entry) matchesWith(q *decisions.MemoryQuery, anyContent bool) bool {
	pins, eff := &e.choice.Pins, q.Effect
	if eff.Guarded() != 0 && !e.answer.Exact {
		return false
	}
	if e.choice.DecisionID != "" && pins.Claimed != eff.Claimed {
		return false
	}
	switch {
	case eff.Run != nil:
		if e.choice.Scope.Kind == ForProject && inOtherRoot(q) {
			return false
		}
		if pins.Stdin != "" && pins.Stdin != string(facts.StdinOf(eff.Run)) || eff.Run.Stdin == effects.StdinText && !eff.Run.Readonly {
			return false
		}
		// A script is only matched by its hash, and a target by that of its
		// text.
		if eff.Run.Script != nil || targets.BoundToFiles(eff.Run) && !anyContent && !samePin(pins, q.Target) {
			return false
		}
	case eff.Connect != nil:
		if pins.Method != "" && pins.Method != eff.Connect.Method {
			return false
		}
	case eff.Use != nil && !eff.Use.Credentials.Empty():
		return false // a line does not cover credentials
	case eff.Use != nil && eff.Use.Version != "" && e.line.Tool != nil && e.line.Tool.Name.Match(eff.Use.Tool):
		return false // nor does this one cover versions; a later one is another tool
	case eff.File != nil && e.line.Path != nil && deepLiteral(e.line.Path):
		return true // it is below the anchor, which is all that the line requires
	}
	return e.line.Match(eff, q.All, pattern.Context{Project: q.Project})
}

// inOtherRoot reports whether a run is in a further folder of the session, which is not
// the project.
func inOtherRoot(q *decisions.MemoryQuery) bool {
	cwd := q.Effect.Run.Cwd
	return q.Call != nil && !facts.Within(cwd, q.Project) && slices.ContainsFunc(q.Call.Roots, func(root string) bool {
		return facts.Within(cwd, root) && !facts.Within(q.Call.Cwd, root)
	})
}

func samePin(pins *Pins, s *effects.Script) bool {
	return s != nil && pins.SHA256 != "" && (pins.SHA256 == s.SHA256 || pins.SHA256 == s.Earlier) && path.Base(pins.Script) == path.Base(s.Path)
}

// deepLiteral reports whether a line is the literal path of a folder and **.
func deepLiteral(p *pattern.Path) bool {
	for _, part := range p.Parts[:len(p.Parts)-1] {
		if len(part) != 1 {
			return false
		}
	}
	return p.Deep() && len(p.Parts) <= maxLineWords
}
