package management

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/policy/bundles"
)

// shape is what a value of the configuration may be. Exactly one of its members is set.
type shape struct {
	scalar string            // the kind of a scalar, as a person calls it
	keys   map[string]*shape // an object with these keys
	names  *shape            // an object with any keys
	list   *shape            // a list
}

var (
	text, number, truth = &shape{scalar: "text"}, &shape{scalar: "a whole number"}, &shape{scalar: "true or false"}

	polling = &shape{keys: map[string]*shape{
		"min_delay_seconds": number, "max_delay_seconds": number, "long_polling_timeout_seconds": number,
	}}
	everything = &shape{keys: map[string]*shape{
		"labels": {names: text},
		"services": {names: &shape{keys: map[string]*shape{
			"url": text, "type": text, "headers": {names: text}, "response_header_timeout_seconds": number,
			"tls": {keys: map[string]*shape{"ca_cert": text, "system_ca_required": truth}},
			"credentials": {keys: map[string]*shape{
				"bearer":     {keys: map[string]*shape{"token_path": text, "scheme": text}},
				"client_tls": {keys: map[string]*shape{"cert": text, "private_key": text, "cert_reread_interval_seconds": number}},
			}},
		}}},
		"keys": {names: &shape{keys: map[string]*shape{"key": text, "algorithm": text, "scope": text}}},
		"bundles": {names: &shape{keys: map[string]*shape{
			"service": text, "resource": text, "persist": truth, "size_limit_bytes": number, "polling": polling,
			"signing": {keys: map[string]*shape{"keyid": text, "scope": text}},
		}}},
		"discovery": {keys: map[string]*shape{
			"service": text, "resource": text, "decision": text, "persist": truth, "polling": polling,
			"signing": {keys: map[string]*shape{"keyid": text, "scope": text}},
		}},
		"status": {keys: map[string]*shape{"service": text, "partition_name": text}},
		"decision_logs": {keys: map[string]*shape{
			"service": text, "partition_name": text, "resource": text, "mask_decision": text, "drop_decision": text,
			"reporting": {keys: map[string]*shape{
				"upload_size_limit_bytes": number, "min_delay_seconds": number, "max_delay_seconds": number,
			}},
		}},
		"plugins": {keys: map[string]*shape{"permd": {keys: map[string]*shape{"unsigned_bundles": truth}}}},
	}}
)

// notHonoured is what to do instead of keys of OPA that permd does not honour.
var notHonoured = map[string]string{ //nolint:gosec // names of keys, and no secrets
	"token":                 "put it into a file and name that with token_path",
	"private_key":           "leave it out: permd only verifies",
	"allow_insecure_tls":    "name the server's certificate authority with tls.ca_cert",
	"exclude_files":         "leave it out: each file must be signed",
	"bundle":                "use bundles." + string(bundles.Org),
	"persistence_directory": "leave it out: permd keeps bundles in its state folder",
}

// check compares the whole configuration with its shape. lines are those of paths.
func check(v map[string]any, lines map[string]int) error {
	return everything.check("", v, lines)
}

func (s *shape) check(path string, v any, lines map[string]int) error {
	wrong := func(at, fix, format string, args ...any) error {
		e := problem(at, fix, format, args...)
		e.Line = lines[at]
		return e
	}
	var kind string
	switch v := v.(type) {
	case map[string]any:
		if s.keys == nil && s.names == nil {
			return wrong(path, "", "is an object, not %s", s.wants())
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := strings.TrimPrefix(path+"."+key, ".")
			of, ok := s.keys[key]
			if s.names != nil {
				of, ok = s.names, true
			}
			if fix, known := notHonoured[key]; !ok && known {
				return wrong(at, fix, "is not honoured by permd")
			}
			if !ok {
				return wrong(at, "the keys here are "+strings.Join(slices.Sorted(maps.Keys(s.keys)), ", "), "is not known, or not honoured by permd")
			}
			if err := of.check(at, v[key], lines); err != nil {
				return err
			}
		}
		return nil
	case []any:
		if s.list == nil {
			return wrong(path, "", "is a list, not %s", s.wants())
		}
		for _, e := range v {
			if err := s.list.check(path, e, lines); err != nil {
				return err
			}
		}
		return nil
	case string:
		kind = text.scalar
	case int:
		kind = number.scalar
		if v < 0 {
			return wrong(path, "", "is %d, not %s", v, s.wants())
		}
	case json.Number: // of a discovered configuration
		kind = number.scalar
		if n, err := strconv.ParseInt(v.String(), 10, 64); err != nil || n < 0 {
			return wrong(path, "", "is %s, not %s", v, s.wants())
		}
	case bool:
		kind = truth.scalar
	default:
		kind = "nothing"
	}
	if s.scalar != kind {
		return wrong(path, "", "is %v, not %s", v, s.wants())
	}
	return nil
}

func (s *shape) wants() string {
	switch {
	case s.scalar != "":
		return s.scalar
	case s.list != nil:
		return "a list"
	}
	return "an object"
}

// parseYAML reads one document of YAML, which may be JSON, and returns the line of each path of
// keys. Anchors, aliases and merges are errors, and so are keys that occur twice.
func parseYAML(data []byte) (map[string]any, map[string]int, error) {
	var doc yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	if err := dec.Decode(&doc); err != nil {
		return nil, nil, err
	}
	var more yaml.Node
	if dec.Decode(&more) == nil {
		return nil, nil, &configError{Line: more.Line, Text: "there is more than one document"}
	}
	lines := map[string]int{}
	v, err := value(doc.Content[0], "", lines, 0)
	if err != nil {
		return nil, nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, nil, &configError{Line: doc.Content[0].Line, Text: "is no object"}
	}
	return m, lines, nil
}

// maxNesting bounds how deep values are nested: more than OPA's configuration ever is.
const maxNesting = 12

func value(n *yaml.Node, path string, lines map[string]int, depth int) (any, error) {
	wrong := func(format string, args ...any) error {
		return &configError{Line: n.Line, Text: fmt.Sprintf(format, args...)}
	}
	if n.Anchor != "" || n.Kind == yaml.AliasNode {
		return nil, wrong("anchors and aliases are not read")
	}
	if depth > maxNesting {
		return nil, wrong("values are nested more than %d deep", maxNesting)
	}
	switch n.Kind {
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" || k.Tag == "!!null" {
				return nil, &configError{Line: k.Line, Text: "a key is no text"}
			}
			if _, twice := out[k.Value]; twice {
				return nil, &configError{Line: k.Line, Text: fmt.Sprintf("the key %q occurs twice", k.Value)}
			}
			at := strings.TrimPrefix(path+"."+k.Value, ".")
			lines[at] = k.Line
			v, err := value(n.Content[i+1], at, lines, depth+1)
			if err != nil {
				return nil, err
			}
			out[k.Value] = v
		}
		return out, nil
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := value(c, path, lines, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!str":
			return n.Value, nil
		case "!!int":
			var i int
			if err := n.Decode(&i); err != nil {
				return nil, wrong("%s is no whole number", n.Value)
			}
			return i, nil
		case "!!bool":
			return n.Value == "true", nil
		case "!!null":
			return nil, nil
		}
		return n.Value, nil
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return nil, wrong("is no value")
}
