package arguments

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
)

// Why a call cannot be decided again.
const (
	Missing  = "its arguments were not kept"
	tooLong  = "its arguments are too long to be kept"
	secret   = "its arguments have a secret, which is masked"
	notAlone = "more went into it than its arguments"
	hasMeta  = "its _meta has values, which are not kept"
	ofTool   = "what it gives to a tool that permd cannot look into is not kept"
)

// line is a line of a file: a decision, with its call where it has that first.
type line struct {
	ID     string         `json:"id"`
	Number uint32         `json:"n,omitzero"` // of the call, in its file
	Recent int            `json:"recent,omitzero"`
	Why    string         `json:"why,omitzero"` // it cannot be decided again
	Call   jsontext.Value `json:"call,omitzero"`
}

func (l *line) append(b []byte) []byte {
	text, err := json.Marshal(l)
	if err != nil {
		return b // nothing is known of the decision
	}
	return append(append(b, text...), '\n')
}

// stored are the options of the JSON form of a call. It has the names that Go has, since
// nothing else reads it.
func stored() json.Options {
	return json.JoinOptions(json.OmitZeroStructFields(true), json.FormatNilSliceAsNull(true), json.Deterministic(true))
}

// encodeCall returns the JSON of a call, and why it cannot be decided again, if so. Then
// the JSON is its tool and its masked input, for people, or nil.
func encodeCall(e *entry) (text jsontext.Value, why string) {
	c := e.call
	switch {
	case c == nil:
		return nil, notAlone
	case c.Incomplete == tooLong:
		return nil, tooLong
	case e.of == nil:
		return nil, Missing
	}
	if e.of.secretFile {
		return nil, secret
	}
	c, less := e.of.reduced(c)
	shown, clean := asShown(c.Input)
	plain := !e.of.masked && clean
	for _, t := range append([]string{c.Claims.Title, c.Claims.Prompt}, c.Claims.Texts...) {
		plain = plain && !display.HoldsSecret(t)
	}
	if c.Announced != nil {
		_, ok := asShown(c.Announced.Input)
		plain = plain && ok
	}
	kept, without := &effects.Call{Tool: c.Tool, Input: c.Input}, tooLong
	switch {
	case !plain && e.of.masked && clean: // where it is in the input is not known
		return nil, secret
	case !plain:
		kept.Input, why, without = jsontext.Value(shown), secret, secret
	case less && e.of.uses:
		why = ofTool
	case !onlyToolName(c.Claims.Meta) || c.Announced != nil && !onlyToolName(c.Announced.Claims.Meta):
		why = hasMeta
	default:
		kept = c
	}
	text, err := json.Marshal(kept, stored())
	if err != nil || len(text) > maxCall {
		return nil, without
	}
	return text, why
}

// onlyToolName reports whether _meta has no value but the name of the tool, as Claude's adapter
// says it. The log has no other values of it either, which may be anything.
func onlyToolName(meta jsontext.Value) bool {
	if len(meta) == 0 {
		return true
	}
	for _, name := range []string{"claudeCode", "toolName"} {
		o, err := strictjson.ParseObject(meta)
		if err != nil || len(o) != 1 || o[0].Name != name {
			return false
		}
		meta = o[0].Value
	}
	return meta.Kind() == '"' && !display.HoldsSecret(string(meta))
}

// asShown returns a value as it is shown, and whether nothing in it is masked.
func asShown(v jsontext.Value) (shown string, ok bool) {
	if len(v) == 0 {
		return "", true
	}
	plain, err := jsontext.AppendFormat(nil, v)
	if err != nil {
		return "", false
	}
	shown, ok = display.Arguments(v)
	if !ok || strings.Contains(shown, display.Masked) {
		return shown, false
	}
	// Also the texts by themselves: quotes are escaped in JSON.
	d := jsontext.NewDecoder(bytes.NewReader(plain))
	for {
		t, err := d.ReadToken()
		if err != nil {
			return shown, true
		}
		if t.Kind() == '"' && display.HoldsSecret(t.String()) {
			return "", false
		}
	}
}
