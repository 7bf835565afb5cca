package native

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// callKey identifies a call by its content.
type callKey [sha256.Size]byte

// keyOf returns the key of a call that was left to the person: the call as the harness
// sent it, all its effects, and the content of files that it runs and reads, so that a
// link with a new target or a rewritten script makes it another call. The text of an effect
// may mask a path, so its fingerprint counts as well. It returns false if the call runs a
// file that cannot be compared.
func (l *PersistentSessions) keyOf(req *decisions.Request, d *decisions.Decision) (key callKey, ok bool) {
	type effect struct {
		Kind, Text, From, Reason string
		Tags                     []string
		Row                      int
		Claimed, Declared        bool
	}
	c := &req.Call
	call := struct {
		Session, Mode, Agent, Cwd string
		Roots                     []string
		Tool, Server, Source      string
		Version                   string
		Claimed                   [2]string
		Input                     []strictjson.Member
		Raw                       string
		Effects                   []effect
		Fingerprints              []decisions.Fingerprint
		Contents                  []string
		Defects                   []effects.Defect
	}{
		Session: req.Session.ID, Mode: req.Session.Mode, Agent: c.Agent.Name, Cwd: c.Cwd, Roots: c.Roots,
		Tool: c.Tool.Name, Server: c.Tool.Server, Source: c.Tool.Source, Version: c.Tool.Version,
		Fingerprints: d.Fingerprints, Defects: d.Defects,
	}
	described := true
	for i := range d.Effects {
		e := &d.Effects[i]
		call.Effects = append(call.Effects, effect{string(e.Kind), e.Text, e.From, e.Reason, e.Tags, e.Row, e.Claimed, e.Declared})
		described = described && e.Kind != effects.KindUse
		if e.Claimed {
			// The sources of effects, which their texts may mask or shorten.
			call.Claimed = [2]string{c.Claims.Kind, c.Claims.Title}
		}
	}
	left := int64(maxContent)
	for _, f := range d.Contents {
		said, known := f.Sum, f.Sum != ""
		if !known {
			said, known = l.content(f.Path, &left)
		}
		if f.Code && (!known || f.Path == "") {
			return key, false
		}
		call.Contents = append(call.Contents, f.Path, said)
	}
	if o, err := strictjson.ParseObject(c.Input); err == nil {
		for _, m := range o {
			// Models vary the description of a command. In the input of another tool the
			// member may mean anything.
			if m.Name == "description" && described && strictjson.Kind(m.Value) == '"' {
				continue
			}
			call.Input = append(call.Input, m)
		}
		slices.SortFunc(call.Input, func(a, b strictjson.Member) int { return strings.Compare(a.Name, b.Name) })
	} else {
		call.Raw = string(c.Input)
	}
	text, err := json.Marshal(call, json.Deterministic(true))
	if err != nil {
		return key, false
	}
	return sha256.Sum256(text), true
}

// content identifies a file's content; it is not known if the file cannot be read, or is
// longer than what is left to hash.
func (l *PersistentSessions) content(path string, left *int64) (said string, known bool) {
	if l.Digest == nil {
		return "", false
	}
	sum, n, err := l.Digest(path, *left)
	*left -= n
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "nothing", true
	case errors.Is(err, decisions.ErrNoContent):
		return "no content", true // a folder: what is run in it is not named
	case err != nil:
		return "", false
	}
	return sum, true
}
