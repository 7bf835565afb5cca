package settings

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/internal/strictjson"
)

// plainKey reports whether every reader takes a key literally.
func plainKey(key string) bool {
	for _, c := range key {
		if !isWordChar(c) && c != '-' {
			return false
		}
	}
	return key != ""
}

// readNpmrc reads an .npmrc. npm parses quoted keys and values as JSON and expands
// ${NAME} in both, and a bracket at the start of a line begins a section: all of
// these are rejected here.
func readNpmrc(text string) ([]entry, error) {
	var list []entry
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		name, many := strings.CutSuffix(key, "[]")
		if rest, ok := strings.CutPrefix(name, "//"); ok {
			// Credentials of a registry are sent only to it.
			host, what, _ := strings.Cut(rest, "/:")
			if !plainValue(host) || !plainKey(what) {
				return nil, errRejected
			}
			list = append(list, entry{[]string{"//" + host + "/:" + what}, value})
			continue
		}
		if !plainKey(name) || strings.ContainsAny(value, "$\"'\\`") {
			return nil, fmt.Errorf("line %d: %w", len(list)+1, errRejected)
		}
		if many {
			list = append(list, entry{[]string{name, strconv.Itoa(len(list))}, value})
			continue
		}
		list = append(list, entry{[]string{name}, value})
	}
	return rejectDuplicates(list)
}

// readINI reads lines of KEY=VALUE with comments, as in .shellcheckrc, but no
// sections, quotes or continued lines.
func readINI(text string) ([]entry, error) {
	var list []entry
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || !plainKey(strings.ReplaceAll(key, ".", "")) || strings.ContainsAny(value, "$\"'\\`:#;") {
			return nil, errRejected
		}
		list = append(list, entry{strings.Split(key, "."), value})
	}
	return list, nil
}

// otherEditors are the prefixes of the keys of .editorconfig that shfmt does not read. Those that
// are harmless are listed in rego/programs/settings.yaml, too, as PREFIX.**.
var otherEditors = []string{"ij_", "dotnet_", "csharp_", "ktlint_", "resharper_"}

// readEditorConfig reads an .editorconfig, as if all of its sections held for each file. Keys
// and values are in lower case, as shfmt compares them. A key of another program is in two parts.
func readEditorConfig(text string) ([]entry, error) {
	var list []entry
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.ContainsAny(line[:1], "#;[") {
			continue
		}
		key, value, ok := strings.Cut(strings.ToLower(line), "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || !plainKey(strings.ReplaceAll(key, ".", "")) || len(list) >= maxSettings {
			return nil, errRejected
		}
		at := []string{key}
		for _, other := range otherEditors {
			if rest, ok := strings.CutPrefix(key, other); ok {
				at = []string{other, rest}
			}
		}
		list = append(list, entry{at, value})
	}
	return list, nil
}

// readWords reads lines of words, as in .tool-versions: each word but the first is an
// entry named by the first.
func readWords(text string) ([]entry, error) {
	var list []entry
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		// A name with a colon is the program's source (npm:x).
		if len(words) > 0 && !plainKey(words[0]) {
			return nil, errRejected
		}
		for _, w := range words[min(1, len(words)):] {
			list = append(list, entry{[]string{words[0]}, w})
		}
	}
	return list, nil
}

// readLines reads lines of single words, as in .python-version.
func readLines(text string) ([]entry, error) {
	var list []entry
	for _, w := range strings.Fields(text) {
		list = append(list, entry{[]string{"line"}, w})
	}
	return list, nil
}

// readTOML reads TOML. The library rejects duplicate keys and redefined tables, as the
// language requires.
func readTOML(text string) ([]entry, error) {
	var all map[string]any
	if _, err := toml.Decode(text, &all); err != nil {
		return nil, errRejected
	}
	return flatten(nil, nil, all, 0)
}

// readMise reads TOML in which no name is a program's source (npm:x), and no value is
// a template that may run a program ({{ }}).
func readMise(text string) ([]entry, error) {
	if strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, `\`) {
		return nil, errRejected
	}
	list, err := readTOML(text)
	for _, e := range list {
		if slices.Contains(e.path, "_") || e.path[0] != "tasks" && slices.ContainsFunc(e.path, func(name string) bool { return !plainKey(name) }) {
			return nil, errRejected
		}
	}
	return list, err
}

// readJSON reads JSON without comments.
func readJSON(text string) ([]entry, error) {
	data := []byte(text)
	if strictjson.Check(data) != nil {
		return nil, errRejected
	}
	var all any
	if err := strictjson.Unmarshal(data, &all); err != nil {
		return nil, errRejected
	}
	if _, ok := all.(map[string]any); !ok {
		return nil, errRejected
	}
	return flatten(nil, nil, all, 0)
}

// flatten adds the entries of a table. An empty table is an entry too.
func flatten(list []entry, at []string, v any, depth int) ([]entry, error) {
	if depth > maxNested || len(list) > maxSettings {
		return nil, errRejected
	}
	var err error
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 && len(at) > 0 {
			return append(list, entry{at, ""}), nil
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if list, err = flatten(list, append(slices.Clip(at), key), v[key], depth+1); err != nil {
				return nil, err
			}
		}
	case []map[string]any:
		for _, e := range v {
			if list, err = flatten(list, at, e, depth+1); err != nil {
				return nil, err
			}
		}
	case []any:
		if len(v) == 0 {
			return append(list, entry{at, ""}), nil
		}
		for _, e := range v {
			if list, err = flatten(list, at, e, depth+1); err != nil {
				return nil, err
			}
		}
	case string:
		list = append(list, entry{at, v})
	case nil:
		list = append(list, entry{at, ""})
	default:
		list = append(list, entry{at, fmt.Sprint(v)})
	}
	return list, nil
}

// readYAML reads one document of YAML without anchors, aliases, tags, merge keys and
// directives.
func readYAML(text string) ([]entry, error) {
	// After a comment with these words yarn reads its own older format.
	if strings.Contains(strings.ToLower(text), "yarn lockfile") || strings.Contains(text, "\t") || strings.HasPrefix(text, "%") || strings.Contains(text, "\n%") {
		return nil, errRejected
	}
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if strings.TrimSpace(text) == "" {
			return nil, nil
		}
		return nil, errRejected
	}
	// What follows may be a document that others read, even if this library does not.
	if !errors.Is(dec.Decode(&yaml.Node{}), io.EOF) || len(doc.Content) != 1 {
		return nil, errRejected
	}
	if n := doc.Content[0]; n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil, nil
	} else if n.Kind != yaml.MappingNode {
		return nil, errRejected
	}
	return yamlEntries(nil, nil, doc.Content[0], 0)
}

func yamlEntries(list []entry, at []string, n *yaml.Node, depth int) ([]entry, error) {
	if depth > maxNested || len(list) > maxSettings || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return nil, errRejected
	}
	var err error
	switch n.Kind {
	case yaml.MappingNode:
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 || key.Value == "<<" || seen[key.Value] {
				return nil, errRejected
			}
			seen[key.Value] = true
			if list, err = yamlEntries(list, append(slices.Clip(at), key.Value), n.Content[i+1], depth+1); err != nil {
				return nil, err
			}
		}
		if len(n.Content) == 0 && len(at) > 0 {
			list = append(list, entry{at, ""})
		}
	case yaml.SequenceNode:
		for _, e := range n.Content {
			if list, err = yamlEntries(list, at, e, depth+1); err != nil {
				return nil, err
			}
		}
		if len(n.Content) == 0 {
			list = append(list, entry{at, ""})
		}
	case yaml.ScalarNode:
		list = append(list, entry{at, n.Value})
	default: // an alias
		return nil, errRejected
	}
	return list, nil
}

// harmlessComposeEnv reports whether an .env file sets only the project's own
// variables, and none that configure compose or docker.
func harmlessComposeEnv(_ *settingsCheck, text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		upper := strings.ToUpper(key)
		if !ok || !plainKey(key) || strings.HasPrefix(upper, "COMPOSE") || strings.HasPrefix(upper, "DOCKER") {
			return false
		}
		if strings.ContainsAny(value, `"'\`) && (len(value) < 2 || value[0] != value[len(value)-1] || strings.ContainsAny(value[1:len(value)-1], `"'\`)) {
			return false // it may continue on the next line
		}
	}
	return true
}

// Values returns the values of a key of a text in this format, in order; false if readers of the
// format may differ about the text.
func (s *Format) Values(data []byte, key ...string) (values []string, ok bool) {
	text, ok := plainText(data)
	if !ok || s.read == nil {
		return nil, false
	}
	list, err := s.read(text)
	if err != nil {
		return nil, false
	}
	for i := range list {
		if slices.Equal(list[i].path, key) {
			values = append(values, list[i].value)
		}
	}
	return values, true
}
