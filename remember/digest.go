package remember

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/remember/facts"
)

// factsVersion is the version of the encoding in package facts. A change of the encoding
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

// digestOf hashes the facts of the effect of q. It returns false for an effect
// that no choice can be about.
//
// The hash is over the key and fields that all carry their length, so no two
// sets of facts have the same bytes. Different persons never share a digest.
func (k *hashKey) digestOf(q *decisions.MemoryQuery, f facts.Form) (digest, bool) {
	var buf [1024]byte // most effects fit, so that matching allocates nothing
	b := append(buf[:0], k[:]...)
	b = append(b, factsVersion)
	b = binary.BigEndian.AppendUint32(b, q.UID)
	b = facts.AppendFlag(b, f.Absolute)
	b, ok := facts.Append(b, q, f)
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
		more, ok := facts.Append(b, &other, facts.Form{})
		if !ok {
			more = facts.AppendText(facts.AppendText(facts.AppendText(b, string(other.Effect.Kind)), other.Effect.Text), other.Effect.Why)
		}
		b = more
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// form returns the form of the digest of a choice about the effect of q.
func (e *entry) form(q *decisions.MemoryQuery) facts.Form {
	return facts.Form{
		AnyArguments: e.choice.Kind == effects.KindUse && !e.choice.Pins.Arguments,
		Absolute:     e.choice.absolute(),
		Moved:        e.choice.Verdict == decisions.Allow && facts.Moves(q.Effect),
		Variables:    e.choice.Verdict == decisions.Allow && facts.SetsVariables(q.Effect),
	}
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
		p.Cwd, p.Stdin, inProject = at.Cwd, string(facts.StdinOf(e.Run)), at.InProject
		if s := facts.ScriptOf(q); s != nil {
			p.Script, p.SHA256 = s.Path, s.SHA256
		}
	case effects.DetailFile:
		p.Below = e.File.Recursive
		inProject = facts.Within(e.File.Path, q.Project)
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
