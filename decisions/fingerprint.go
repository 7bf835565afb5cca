package decisions

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// Fingerprint identifies an effect: two effects with the same fingerprint do the same
// thing. Unlike an effect's text it covers what is masked and shortened there.
type Fingerprint [16]byte

// fingerprints returns those of a call's effects, in order, with what is known of them. An
// effect that is not known before it runs (state, unknown) has the same fingerprint only
// as part of the same text.
func fingerprints(call *effects.Call, effs []effects.Effect, facts []effectFacts) []Fingerprint {
	list, k := make([]Fingerprint, len(effs)), make(keyer, 0, 256)
	for i := range effs {
		e := &effs[i]
		k = k[:0]
		k.text(string(e.Kind))
		switch e.Detail() {
		case effects.DetailRun:
			r := e.Run
			k.texts(r.Program, r.Executable, string(r.Stdin), r.StdinText, r.Cwd, r.Folder)
			k.list(r.Args)
			if len(r.Variables) > 0 {
				k.text("variables")
				k.list(r.Variables)
			}
			if r.Script != nil {
				k.texts(r.Script.Path, r.Script.SHA256)
			}
			if i < len(facts) && facts[i].target != nil {
				k.texts("target", facts[i].target.Path, facts[i].target.SHA256)
			}
		case effects.DetailFile:
			k.text(e.File.Path)
			k.flag(e.File.Recursive)
			k.flag(e.File.HoldsRules)
			// The file may have become another name of a guarded one since.
			k.text(strconv.FormatUint(uint64(e.Guarded()), 16))
		case effects.DetailConnect:
			c := e.Connect
			k.texts(c.Host, strconv.Itoa(c.Port), c.Scheme, c.URL, c.Method)
		case effects.DetailUse:
			k.texts(e.Use.Server, e.Use.Source, e.Use.Tool, e.Use.Version, e.Text)
			k.credentials(&e.Use.Credentials)
			k.text(e.Use.OnBehalfOf)
			k.bytes(e.Use.Arguments)
		case effects.NoDetail:
			k.texts(e.Text, e.Why, source(call, e.From), call.Cwd)
		}
		sum := sha256.Sum256(k)
		list[i] = Fingerprint(sum[:len(Fingerprint{})])
	}
	return list
}

// source returns the text that an effect was read from.
func source(call *effects.Call, from string) string {
	if from == "title" {
		return call.Claims.Title
	}
	name, ok := strings.CutPrefix(from, "rawInput.")
	if !ok {
		return string(call.Input)
	}
	v := strictjson.Find(call.Input, strings.Split(name, ".")...)
	if s, ok := strictjson.ParseString(v); ok {
		return s
	}
	if v == nil {
		return string(call.Input)
	}
	return string(v)
}
