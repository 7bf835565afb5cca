package remember

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/remember/facts"
	"github.com/permd/permd/remember/labels"
)

// A reject is stored as parts, one for each effect that the person was asked
// about, and denies whatever touches one of them. A part is a rule line of
// decisions/pattern and matches like a line of a deny list, so another
// spelling, or another command that does the same to the same file, is rejected
// too. Where no line can express it (a secret in the words, text that is not
// understood), it is a keyed digest of words or text.
//
// A part never contains the content of a file: an agent that may edit a script
// could lift its reject. Nor does it depend on how this version of permd
// interprets effects, so rejects survive changes of that.

// Part is one thing that a reject is about.
type Part struct {
	// Kind is that of the effect; KindUnknown for text that is not understood.
	Kind effects.Kind `json:"kind"`
	// Rule is the rule line, or if there is none a description of the part,
	// secrets masked.
	Rule string `json:"rule"`
	// Sums are keyed digests, in hexadecimal; empty for a part that is matched
	// by its line.
	Sums []string `json:"sums,omitzero"`
}

// ByLine reports whether the part is matched by its line.
func (p *Part) ByLine() bool { return len(p.Sums) == 0 && p.Rule != lostRule }

// maxRejectParts bounds the parts of one reject. The rest of a longer call is
// rejected by the call's text alone.
const maxRejectParts = 64

// rejectPart is a Part in matchable form.
type rejectPart struct {
	entry *entry
	Part
	line *pattern.Pattern // nil for one with sums
	sums []digest
	keys []string // index keys it is filed under
	// unsure is set for a part that only asks (see migrate.go).
	unsure bool
	// answer is what Match returns for a part that denies, doubt for one that asks.
	answer, ask decisions.Choice
}

// The domains of digests of parts, so that none is mistaken for another. A new
// way to compute a digest needs a new domain; the old ones stay, or rejects
// would be lost.
const (
	sumWords = "words 1" // words of a run, in order
	sumOrder = "order 1" // words of a run, sorted: options may come in any order
	sumPath  = "path 1"
	sumTool  = "tool 1"
	sumText  = "text 1" // of a call that is not understood
	sumCall  = "call 1" // of a call without input: the agent's claims
)

func (k *hashKey) sum(domain string, uid uint32, fields ...string) digest {
	var buf [1024]byte
	b := append(buf[:0], k[:]...)
	b = binary.BigEndian.AppendUint32(facts.AppendText(b, domain), uid)
	for _, f := range fields {
		b = facts.AppendText(b, f)
	}
	return sha256.Sum256(b)
}

// sumsOf returns the digests of parts that could be about the effect of q.
func (k *hashKey) sumsOf(q *decisions.MemoryQuery, absolute bool) []digest {
	e := q.Effect
	switch e.Detail() {
	case effects.DetailRun:
		r := e.Run
		words := append([]string{labels.PathKey(r.Program, q, absolute)}, r.Args...)
		sum := k.sum(sumWords, q.UID, words...)
		slices.Sort(words[1:])
		return []digest{sum, k.sum(sumOrder, q.UID, words...)}
	case effects.DetailFile:
		return []digest{k.sum(sumPath, q.UID, string(e.Kind), labels.PathKey(e.File.Path, q, absolute))}
	case effects.DetailUse:
		return []digest{k.sum(sumTool, q.UID, e.Use.Server, e.Use.Tool)}
	case effects.DetailConnect, effects.NoDetail:
	}
	return nil
}

// textSum returns the digest of the text that the effect of q was read from.
// For a call without input it covers all claims of the agent.
func (k *hashKey) textSum(q *decisions.MemoryQuery) (digest, bool) {
	c := q.Call
	switch {
	case c == nil:
		return digest{}, false
	case len(bytes.TrimSpace(c.Input)) == 0:
		fields := []string{c.Agent.Name, c.Tool.Server, c.Tool.Name, c.Claims.Kind, c.Claims.Title}
		for _, l := range c.Claims.Locations {
			fields = append(fields, l.Path)
		}
		for _, d := range c.Claims.Diffs {
			fields = append(fields, d.OldPath, d.Path)
		}
		return k.sum(sumCall, q.UID, fields...), true
	case q.Effect.Shell:
		return k.sum(sumText, q.UID, strings.TrimSpace(q.Source())), true
	}
	return k.sum(sumText, q.UID, c.Tool.Server, c.Tool.Name, q.Source()), true
}

// partsOf returns the parts of a reject, and the effect that each came from. Above level 0 a part
// is the line of that level, as for an allow, where the effect has one.
func (k *hashKey) partsOf(r *decisions.Rejection, scope ScopeKind, level int, understand func(*pattern.Pattern) *pattern.Pattern) (parts []*rejectPart, from []int) {
	q := r.Query
	add := func(p *rejectPart, i int) {
		if p == nil || slices.ContainsFunc(parts, func(o *rejectPart) bool {
			return o.Kind == p.Kind && o.Rule == p.Rule && slices.Equal(o.Sums, p.Sums)
		}) {
			return
		}
		if p.line != nil && understand != nil {
			p.line = understand(p.line)
		}
		parts, from = append(parts, p), append(from, i)
	}
	texts := len(r.Asked) == 0 // something about the whole call was asked
	for _, i := range r.Asked {
		q.Effect = &q.All[i]
		p := widerPart(&q, scope, level)
		if p == nil {
			p = k.partOf(&q, scope)
		}
		if p == nil && isOpenEnded(q.Effect) {
			texts = true
		}
		if p == nil {
			continue
		}
		if len(parts) >= maxRejectParts-1 {
			texts = true
			break
		}
		add(p, i)
		if script := runOfScript(&q); script != nil && len(parts) < maxRejectParts-1 {
			q.Effect = script
			if p := k.partOf(&q, scope); p != nil && p.line != nil {
				add(p, i)
			}
		}
	}
	texts = texts || len(parts) == 0 || q.Call != nil && len(q.Call.Input) == 0
	if !texts {
		return parts, from
	}
	asked := r.Asked
	if len(asked) == 0 {
		asked = make([]int, len(q.All))
		for i := range asked {
			asked[i] = i
		}
	}
	for _, i := range asked {
		if q.Effect = &q.All[i]; len(parts) < maxRejectParts {
			add(k.textPart(&q), i)
		}
	}
	return parts, from
}

// runOfScript returns a run of a script by an interpreter as a run of the
// script itself, so that rejecting one rejects the other; nil for every other
// run.
func runOfScript(q *decisions.MemoryQuery) *effects.Effect {
	e := q.Effect
	if e.Run == nil || e.Run.Script == nil || !filepath.IsAbs(e.Run.Script.Path) || e.Run.Script.Path == e.Run.Program {
		return nil
	}
	i := wordOfScript(e.Run, q.All)
	if i < 0 {
		return nil
	}
	run := effects.Run{Program: e.Run.Script.Path, Args: e.Run.Args[i+1:], Stdin: e.Run.Stdin, StdinText: e.Run.StdinText, Cwd: e.Run.Cwd}
	return &effects.Effect{Kind: e.Kind, Text: e.Text, From: e.From, Tags: e.Tags, Shell: e.Shell, Claimed: e.Claimed, Run: &run}
}

// wordOfScript returns the index of the word that names the script of a run, -1
// if unknown. The word may be a link to the script, so the file that was read
// is considered first.
func wordOfScript(r *effects.Run, all []effects.Effect) int {
	for i := range all {
		e := &all[i]
		if e.Kind == effects.KindRead && e.File != nil && e.File.Path == r.Script.Path && e.Via != nil &&
			e.Via.Arg >= 0 && e.Via.Arg < len(r.Args) && e.Via.Effect >= 0 && e.Via.Effect < len(all) && all[e.Via.Effect].Run == r {
			return e.Via.Arg
		}
	}
	name := filepath.Base(r.Script.Path)
	return slices.IndexFunc(r.Args, func(arg string) bool { return filepath.Base(arg) == name })
}

// isOpenEnded reports whether words of a run are only known when it runs, or are not
// its whole input: then no line can express the reject.
func isOpenEnded(e *effects.Effect) bool {
	r := e.Run
	return r != nil && (r.StdinText != "" || r.Program == effects.DynamicWord || slices.Contains(r.Args, effects.DynamicWord) ||
		slices.ContainsFunc(r.Args, func(a string) bool { return strings.Contains(a, effects.DynamicWord) }))
}

// partOf returns the part for one effect, nil if it can only be identified by
// its text.
func (k *hashKey) partOf(q *decisions.MemoryQuery, scope ScopeKind) *rejectPart {
	e := q.Effect
	if facts.CheckKnown(q, decisions.Deny) != nil || isOpenEnded(e) {
		return nil
	}
	ctx := pattern.Context{Project: q.Project}
	if line := labels.Line(q, scope == ForUser); line != "" && labels.IsPlain(e, line) {
		if p, err := pattern.Parse(e.Kind, line); err == nil && p.String() == line && p.Touches(e, ctx) {
			return &rejectPart{Part: Part{Kind: e.Kind, Rule: line}, line: p}
		}
	}
	p := &rejectPart{Part: Part{Kind: e.Kind, Rule: labels.Of(q, true, scope == ForUser)}, sums: k.sumsOf(q, scope == ForUser)}
	if p.sums == nil {
		return nil
	}
	p.spell()
	return p
}

// widerPart returns the part for one effect that is the line of a level, nil if there is none.
func widerPart(q *decisions.MemoryQuery, scope ScopeKind, level int) *rejectPart {
	if level == 0 || facts.CheckKnown(q, decisions.Deny) != nil || isOpenEnded(q.Effect) {
		return nil
	}
	line := lineOf(q, scope, level)
	if line == nil || scope == ForUser && inProjectOnly(line) {
		return nil
	}
	// It is stored as text.
	p, err := pattern.Parse(q.Effect.Kind, line.String())
	if err != nil || p.String() != line.String() || !p.Touches(q.Effect, pattern.Context{Project: q.Project}) {
		return nil
	}
	return &rejectPart{Part: Part{Kind: q.Effect.Kind, Rule: p.String()}, line: p}
}

func (k *hashKey) textPart(q *decisions.MemoryQuery) *rejectPart {
	sum, ok := k.textSum(q)
	if !ok {
		return nil
	}
	what := q.Source()
	if len(bytes.TrimSpace(q.Call.Input)) == 0 {
		what = q.Call.Claims.Title
	}
	p := &rejectPart{Part: Part{Kind: effects.KindUnknown, Rule: labels.Text(what)}, sums: []digest{sum}}
	p.spell()
	return p
}

func (p *rejectPart) spell() {
	for _, d := range p.sums {
		p.Sums = append(p.Sums, hex.EncodeToString(d[:]))
	}
}

// parse converts the stored part to its matchable form.
func (p *rejectPart) parse() error {
	if p.matchesAll() {
		p.unsure = true
		p.Kind = lostKind(&Choice{Kind: p.Kind}) // there are no effects of another
		return nil
	}
	if p.ByLine() {
		var err error
		p.line, err = pattern.Parse(p.Kind, p.Rule)
		return err
	}
	for _, s := range p.Sums {
		b, err := hex.DecodeString(s)
		if err != nil || len(b) != len(digest{}) {
			return fmt.Errorf("a digest of it cannot be read")
		}
		p.sums = append(p.sums, digest(b))
	}
	return nil
}

// partsLabel returns the displayed text of a reject: its parts, one per line.
func partsLabel(parts []*rejectPart) string {
	if len(parts) == 1 {
		return parts[0].Rule
	}
	lines := make([]string, len(parts))
	for i, p := range parts {
		lines[i] = string(p.Kind) + " " + p.Rule
	}
	return strings.Join(lines, "\n")
}
