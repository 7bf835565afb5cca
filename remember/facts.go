package remember

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// factsVersion is the version of the encoding below. A change of the encoding
// needs a new one: choices of another version match nothing.
const factsVersion = 1

// digest is a keyed hash of an effect's exact facts.
type digest [sha256.Size]byte

// hashKey is drawn once for each database, so that the digests of one tell
// nothing about another, and a list of guesses cannot be made beforehand.
type hashKey [32]byte

// digestOf hashes the facts of the effect of q; anyArguments leaves out those
// of a named tool. It is false for an effect that no choice can be about.
//
// The hash is over the key and fields that all carry their length, so no two
// sets of facts have the same bytes. Different persons never share a digest.
func (k *hashKey) digestOf(q *decisions.MemoryQuery, anyArguments bool) (digest, bool) {
	var buf [1024]byte // most effects fit, so that matching allocates nothing
	b := append(buf[:0], k[:]...)
	b = append(b, factsVersion)
	b = binary.BigEndian.AppendUint32(b, q.UID)
	b = appendText(b, string(q.Effect.Kind))
	b = appendFlag(b, q.Effect.Claimed)
	b, ok := appendEffect(b, q, anyArguments)
	if !ok {
		return digest{}, false
	}
	return sha256.Sum256(b), true
}

func appendEffect(b []byte, q *decisions.MemoryQuery, anyArguments bool) ([]byte, bool) {
	e := q.Effect
	switch e.Kind {
	case effects.KindRun:
		if e.Run == nil {
			return b, false
		}
		return appendRun(b, e.Run, q.Project), true
	case effects.KindRead, effects.KindWrite, effects.KindDelete:
		if e.File == nil {
			return b, false
		}
		b = appendText(b, e.File.Path)
		return appendFlag(b, e.File.Recursive), true
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
		b = appendFlag(b, anyArguments)
		if !anyArguments {
			b = appendFlag(b, e.Use.Arguments != nil)
			b = appendText(b, string(compact(e.Use.Arguments)))
		}
		return b, true
	}
	return b, false
}

func appendRun(b []byte, r *effects.Run, project string) []byte {
	b = appendText(b, r.Program)
	b = appendText(b, r.Executable)
	b = binary.AppendUvarint(b, uint64(len(r.Args)))
	for _, arg := range r.Args {
		b = appendText(b, arg)
	}
	b = appendText(b, string(stdinOf(r)))
	b = appendText(b, r.StdinText)
	place := placeOf(r, project)
	b = appendText(b, place.project)
	b = appendText(b, place.cwd)
	b = appendFlag(b, r.Script != nil)
	if r.Script != nil {
		b = appendText(b, r.Script.Path)
		b = appendText(b, r.Script.SHA256)
	}
	return b
}

// place is where a run is bound to: the project of its folder, the folder
// itself, or both.
type place struct{ project, cwd string }

func placeOf(r *effects.Run, project string) place {
	var p place
	if project != "" && (r.Cwd == project || strings.HasPrefix(r.Cwd, strings.TrimSuffix(project, "/")+"/")) {
		p.project = project
	} else {
		p.cwd = r.Cwd
	}
	// A relative path names another program in another folder, unless a script
	// pins what it is.
	if r.Executable != "" && !filepath.IsAbs(r.Executable) && r.Script == nil {
		p.cwd = r.Cwd
	}
	return p
}

func stdinOf(r *effects.Run) effects.Stdin {
	if r.Stdin == "" {
		return effects.StdinNone
	}
	return r.Stdin
}

// compact drops white space between tokens, nothing else: numbers keep their
// digits and members their order, so that different arguments stay different.
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

// pinsOf returns the facts that a person sees beside the label.
func pinsOf(q *decisions.MemoryQuery, anyArguments bool) Pins {
	e := q.Effect
	p := Pins{Claimed: e.Claimed}
	switch {
	case e.Run != nil:
		at := placeOf(e.Run, q.Project)
		p.Project, p.Cwd, p.Stdin = at.project, at.cwd, string(stdinOf(e.Run))
		if e.Run.Script != nil {
			p.Script, p.SHA256 = e.Run.Script.Path, e.Run.Script.SHA256
		}
	case e.File != nil:
		p.Below = e.File.Recursive
	case e.Connect != nil:
		p.Method = e.Connect.Method
	case e.Use != nil:
		p.Arguments = !anyArguments
	}
	return p
}

// known says what is missing for an exact answer about the effect. An allow
// needs more than a reject: what is not known may be anything next time.
func known(e *effects.Effect, verdict decisions.Verdict) error {
	why := ""
	switch e.Kind {
	case effects.KindRun:
		why = unknownRun(e.Run, verdict == decisions.Allow)
	case effects.KindRead, effects.KindWrite, effects.KindDelete:
		if e.File == nil || !filepath.IsAbs(e.File.Path) {
			why = "the path is not known"
		}
	case effects.KindConnect:
		if e.Connect == nil || e.Connect.Host == "" {
			why = "the host is not known"
		}
	case effects.KindUse:
		if e.Use == nil || e.Use.Tool == "" {
			why = "the tool is not known"
		}
	default:
		why = fmt.Sprintf("an effect of kind %q is never remembered", e.Kind)
	}
	if why != "" {
		return errors.New(why)
	}
	return nil
}

func unknownRun(r *effects.Run, allow bool) string {
	if r == nil || r.Program == "" {
		return "the program is not known"
	}
	if !allow {
		return ""
	}
	for _, arg := range r.Args {
		if strings.Contains(arg, effects.DynamicWord) {
			return "an argument is only known when the command runs"
		}
	}
	switch {
	case r.Program == effects.DynamicWord:
		return "the program is only known when the command runs"
	case !filepath.IsAbs(r.Cwd):
		return "the folder it runs in is not known"
	case r.Script != nil && (r.Script.SHA256 == "" || r.Script.Path == ""):
		return "the script could not be read"
	}
	return ""
}
