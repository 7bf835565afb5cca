package remember

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/remember/facts"
)

// factsVersion is the version of the encoding below. A change of the encoding
// needs a new one: allows of another version match nothing, rejects are carried
// over by their line (see migrate.go).
const factsVersion = 1

// The version of choices that have no facts.
const (
	factsLine  = 0  // they are matched by their line
	factsParts = -1 // rejects, matched by their parts
	factsLost  = -2 // never stored: what it was matched by is unreadable
)

// digest is a keyed hash of an effect's exact facts.
type digest [sha256.Size]byte

// hashKey is generated once for each database, so that the digests of one
// reveal nothing about another, and guesses cannot be hashed in advance.
type hashKey [32]byte

// form selects which facts of an effect a digest covers.
type form struct {
	// anyArguments leaves out the arguments of a named tool.
	anyArguments bool
	// absolute identifies files of the project by absolute path; otherwise they
	// are relative to the project, so that all its worktrees share choices.
	absolute bool
	// moved is set for allows of what is moved away.
	moved bool
	// variables counts those that are set for a run: an allow of exactly a run covers no other.
	variables bool
	// earlier takes what a run executes as earlier versions did.
	earlier bool
	// unbound leaves out the content that a run executes. Such a digest is of no choice:
	// it finds those that are bound to another content.
	unbound bool
}

// digestOf hashes the facts of the effect of q. It returns false for an effect
// that no choice can be about.
//
// The hash is over the key and fields that all carry their length, so no two
// sets of facts have the same bytes. Different persons never share a digest.
func (k *hashKey) digestOf(q *decisions.MemoryQuery, f form) (digest, bool) {
	var buf [1024]byte // most effects fit, so that matching allocates nothing
	b := append(buf[:0], k[:]...)
	b = append(b, factsVersion)
	b = binary.BigEndian.AppendUint32(b, q.UID)
	b = appendFlag(b, f.absolute)
	b, ok := appendEffect(b, q, f)
	if !ok {
		return digest{}, false
	}
	return sha256.Sum256(b), true
}

// callOf hashes all effects of a call, so that a reject can be bound to it.
func (k *hashKey) callOf(q *decisions.MemoryQuery) string {
	b := append([]byte(nil), k[:]...)
	b = append(b, factsVersion)
	for i := range q.All {
		other := *q
		other.Effect, other.Target = &q.All[i], nil
		more, ok := appendEffect(b, &other, form{})
		if !ok {
			more = appendText(appendText(appendText(b, string(other.Effect.Kind)), other.Effect.Text), other.Effect.Why)
		}
		b = more
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// form returns the form of the digest of a choice about the effect of q.
func (e *entry) form(q *decisions.MemoryQuery) form {
	return form{
		anyArguments: e.choice.Kind == effects.KindUse && !e.choice.Pins.Arguments,
		absolute:     e.choice.absolute(),
		moved:        e.choice.Verdict == decisions.Allow && movesFile(q.Effect),
		variables:    e.choice.Verdict == decisions.Allow && setsVariables(q.Effect),
	}
}

// movesFile reports whether a file is moved away: an allow of that is none of deleting it.
// Allows of deletes, and those of earlier versions, are also found for what is moved.
func movesFile(e *effects.Effect) bool { return e.File != nil && e.File.Moved != "" }

// setsVariables reports whether variables are set for a run. All may reach what it runs: make and
// scripts see those of the environment.
func setsVariables(e *effects.Effect) bool { return e.Run != nil && len(e.Run.Variables) > 0 }

func appendEffect(b []byte, q *decisions.MemoryQuery, f form) ([]byte, bool) {
	e := q.Effect
	b = appendText(b, string(e.Kind))
	b = appendFlag(b, e.Claimed)
	switch e.Kind {
	case effects.KindRun:
		if e.Run == nil {
			return b, false
		}
		return appendRun(b, e.Run, q, f), true
	case effects.KindRead, effects.KindWrite, effects.KindDelete:
		if e.File == nil {
			return b, false
		}
		b = appendPath(b, e.File.Path, q, f)
		if b = appendFlag(b, e.File.Recursive); f.moved {
			b = append(b, 2) // a byte that no flag uses
		}
		return b, true
	case effects.KindConnect:
		if e.Connect == nil {
			return b, false
		}
		b = appendText(b, e.Connect.Host)
		b = binary.BigEndian.AppendUint32(b, uint32(e.Connect.Port))
		return appendText(b, e.Connect.Method), true
	case effects.KindUse:
		if e.Use == nil {
			return b, false
		}
		b = appendText(b, e.Use.Server)
		b = appendText(b, e.Use.Source)
		b = appendText(b, e.Use.Tool)
		b = appendTerms(b, e.Use)
		b = appendFlag(b, f.anyArguments)
		if !f.anyArguments {
			b = appendFlag(b, e.Use.Arguments != nil)
			b = appendText(b, string(compact(e.Use.Arguments)))
		}
		return b, true
	case effects.KindState, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
	}
	return b, false
}

// appendTerms appends the facts about a tool's use besides its arguments: the
// requested version, the credentials passed to it, and the user it acts for.
// Without any of these it appends nothing, and otherwise a byte that no flag
// uses, so that choices made before these facts existed still match.
func appendTerms(b []byte, u *effects.Use) []byte {
	if u.Version == "" && u.Credentials.Empty() && u.OnBehalfOf == "" {
		return b
	}
	b = append(b, 2)
	b = appendText(b, u.Version)
	b = appendList(b, u.Credentials.Secrets)
	b = binary.AppendUvarint(b, uint64(len(u.Credentials.Authorizations)))
	for _, a := range u.Credentials.Authorizations {
		b = appendList(appendText(b, a.ID), a.Scopes)
	}
	return appendText(b, u.OnBehalfOf)
}

func appendList(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendText(b, s)
	}
	return b
}

func appendRun(b []byte, r *effects.Run, q *decisions.MemoryQuery, f form) []byte {
	b = appendPath(b, r.Program, q, f)
	b = appendText(b, r.Executable)
	b = binary.AppendUvarint(b, uint64(len(r.Args)))
	for _, arg := range r.Args {
		b = appendText(b, arg)
	}
	b = appendText(b, string(stdinOf(r)))
	b = appendText(b, r.StdinText)
	at := facts.LocationOf(r, q)
	b = appendFlag(b, at.InProject)
	b = appendPath(b, at.Cwd, q, f)
	if f.variables {
		b = appendList(append(b, 3), r.Variables) // a byte that no flag uses
	}
	if f.unbound {
		return append(b, 2) // a byte that no flag uses
	}
	for _, s := range []*effects.Script{r.Script, q.Target} {
		if s != nil && s.Unbound != "" {
			s = nil // so that rejects are found as before
		}
		b = appendFlag(b, s != nil)
		if s != nil {
			b = appendPath(b, s.Path, q, f)
			if f.earlier && s.Earlier != "" {
				b = appendText(b, s.Earlier)
				continue
			}
			b = appendText(b, s.SHA256)
		}
	}
	return b
}

// appendPath appends a path with a marker, relative to the project's root if it
// is in the project.
func appendPath(b []byte, p string, q *decisions.MemoryQuery, f form) []byte {
	if !f.absolute && within(p, q.Project) {
		b = append(b, 1)
		return appendText(b, p[len(q.Project):])
	}
	return appendText(append(b, 0), p)
}

// within reports whether a path is a project's root or below it.
func within(p, project string) bool {
	return project != "" && lexpath.In(project, p)
}

func stdinOf(r *effects.Run) effects.Stdin {
	if r.Stdin == "" {
		return effects.StdinNone
	}
	return r.Stdin
}

// compact removes white space between tokens and nothing else: numbers keep
// their digits and members their order, so that different arguments stay
// different.
func compact(raw []byte) []byte {
	v := strictjson.Value(raw).Clone()
	if v.Compact() != nil {
		return raw
	}
	return v
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendFlag(b []byte, f bool) []byte {
	if f {
		return append(b, 1)
	}
	return append(b, 0)
}

// pinsOf returns the facts that a choice is bound to in addition to its rule
// line.
func pinsOf(q *decisions.MemoryQuery, scope ScopeKind) Pins {
	e := q.Effect
	p := Pins{Claimed: e.Claimed}
	inProject := false
	switch e.Detail() {
	case effects.DetailRun:
		at := facts.LocationOf(e.Run, q)
		p.Cwd, p.Stdin, inProject = at.Cwd, string(stdinOf(e.Run)), at.InProject
		if s := scriptOf(q); s != nil {
			p.Script, p.SHA256 = s.Path, s.SHA256
		}
	case effects.DetailFile:
		p.Below = e.File.Recursive
		inProject = within(e.File.Path, q.Project)
	case effects.DetailConnect:
		p.Method = e.Connect.Method
	case effects.DetailUse:
		p.Given, p.For = display.Display(e.Use.Credentials.String()), display.Display(e.Use.OnBehalfOf)
		p.Destructive = e.Use.Destructive
	case effects.NoDetail:
	}
	if inProject && scope != ForUser {
		p.Project = q.Key()
	}
	return p
}

// scriptOf returns the text that a run executes, nil if it is not a script of
// the project.
func scriptOf(q *decisions.MemoryQuery) *effects.Script {
	if q.Effect.Run != nil && q.Effect.Run.Script != nil {
		return q.Effect.Run.Script
	}
	return q.Target
}
