package acp

import (
	"bytes"
	"slices"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// knownOptions are the options of a connection's last request: most agents offer the same
// with every request. The zero value knows none.
type knownOptions struct {
	raw     []byte // as they were read; nil for none
	version version
	list    []Option // never changed
	kinds   []string // of the list
}

// maxKnownOptions bounds options that are kept, in bytes of JSON.
const maxKnownOptions = 2 << 10

// parse reads the options of a request, strictly as the protocol does: a malformed one
// makes the request unreadable. The list must not be changed.
func (k *knownOptions) parse(o strictjson.Object, ver version) ([]Option, []string, error) {
	v, ok := o.Get("options")
	if !ok {
		return nil, nil, socket.Refuse("options is missing")
	}
	if len(v) > maxKnownOptions {
		list, err := parseOptions(v, ver)
		return list, kindsOf(list), err
	}
	if k.raw == nil || k.version != ver || !bytes.Equal(k.raw, v) {
		raw := bytes.Clone(v) // v is a part of the message, and so would the options be
		list, err := parseOptions(raw, ver)
		if err != nil {
			return nil, nil, err
		}
		k.raw, k.version, k.list, k.kinds = raw, ver, list, kindsOf(list)
	}
	return k.list, k.kinds, nil
}

// kindsOf returns the kinds of options, each once.
func kindsOf(list []Option) (kinds []string) {
	for i := range list {
		if kind := string(list[i].Kind); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// parseOptions reads a list of options.
func parseOptions(v strictjson.Value, ver version) ([]Option, error) {
	if strictjson.Kind(v) != '[' {
		return nil, socket.Refuse("options must be an array")
	}
	items, err := strictjson.ParseArray(v)
	if err != nil {
		return nil, socket.Refuse("reading options: %v", err)
	}
	if len(items) > maxOptions {
		return nil, socket.Refuse("more than %d options", maxOptions)
	}
	if len(items) == 0 && ver == version2 {
		return nil, socket.Refuse("options is empty")
	}
	options := make([]Option, len(items))
	for i, item := range items {
		if options[i], err = parseOption(item, optionPlaces.at(i), ver); err != nil {
			return nil, err
		}
		options[i].means = options[i].read()
	}
	return options, nil
}

func parseOption(v strictjson.Value, at string, ver version) (Option, error) {
	var opt Option
	o, err := object(v, at, "optionId", "name", "kind", "_meta")
	if err != nil {
		return opt, err
	}
	if opt.ID, err = identifier(o, "optionId", at); err != nil {
		return opt, err
	}
	name, _ := o.Get("name")
	if opt.Name, _ = strictjson.ParseString(name); strictjson.Kind(name) != '"' || len(opt.Name) > maxName {
		return opt, socket.Refuse("%s.name must be a string of at most %d bytes", at, maxName)
	}
	kind, _ := o.Get("kind")
	word, _ := strictjson.ParseString(kind)
	opt.Kind = OptionKind(word)
	opt.lasts = lasts(o)
	switch opt.Kind {
	case AllowOnce, AllowAlways, RejectOnce, RejectAlways:
		return opt, nil
	}
	if ver == version2 && word != "" && len(word) <= maxName {
		return opt, nil
	}
	return opt, socket.Refuse("%s.kind must be allow_once, allow_always, reject_once or reject_always", at)
}

// lasts reads Codex's _meta of an option, which lists the permissions that choosing it
// changes, each for a turn or longer.
func lasts(o strictjson.Object) bool {
	meta, _ := o.Get("_meta")
	permission := member(meta, "permission")
	if !isPresent(permission) {
		return false
	}
	changes, err := strictjson.ParseArray(orEmptyList(member(permission, "changes")))
	if err != nil {
		return true
	}
	return slices.ContainsFunc(changes, func(c strictjson.Value) bool {
		return text(c, "lifetime", "scope") != "turn" || text(c, "type") == "policy_rule"
	})
}

func orEmptyList(v strictjson.Value) strictjson.Value {
	if v == nil {
		return strictjson.Value("[]")
	}
	return v
}
