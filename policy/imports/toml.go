package imports

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// parseTOML reads a TOML file. The library does not report the lines of values,
// so they are found by searching for table headers and keys.
func parseTOML(f File) (*node, error) {
	var doc map[string]any
	if _, err := toml.Decode(string(f.Data), &doc); err != nil {
		line := 0
		if e, ok := errors.AsType[toml.ParseError](err); ok {
			line = e.Position.Line
		}
		return nil, &fileError{at: Place{f.Name, line}, err: err, fix: "mend it, and import it again"}
	}
	l := &tomlLines{lines: strings.Split(string(f.Data), "\n")}
	return l.node(doc, nil, 0), nil
}

type tomlLines struct{ lines []string }

// header finds the nth header of a table from a line on, and key a key in the
// table that begins at a line. Lines count from 1; 0 means not found.
func (l *tomlLines) header(path []string, n int) int {
	re, err := regexp.Compile(`^\s*\[{1,2}\s*"?` + strings.Join(quoteAll(path), `"?\s*\.\s*"?`) + `"?\s*\]{1,2}`)
	if err != nil {
		return 0
	}
	for i, line := range l.lines {
		if re.MatchString(line) {
			if n == 0 {
				return i + 1
			}
			n--
		}
	}
	return 0
}

func (l *tomlLines) key(name string, from int) int {
	re, err := regexp.Compile(`^\s*["']?` + regexp.QuoteMeta(name) + `["']?\s*[=.]`)
	if err != nil {
		return from
	}
	for i := from; i < len(l.lines); i++ {
		if i > from && strings.HasPrefix(strings.TrimSpace(l.lines[i]), "[") && from > 0 {
			break
		}
		if re.MatchString(l.lines[i]) {
			return i + 1
		}
	}
	return from
}

func quoteAll(path []string) []string {
	out := make([]string, len(path))
	for i, p := range path {
		out[i] = regexp.QuoteMeta(p)
	}
	return out
}

func (l *tomlLines) node(v any, path []string, at int) *node {
	n := &node{line: at}
	switch v := v.(type) {
	case map[string]any:
		n.kind = '{'
		for name, value := range v {
			line := l.key(name, at)
			p := append(slices.Clone(path), name)
			switch value.(type) {
			case map[string]any, []map[string]any:
				if h := l.header(p, 0); h > 0 {
					line = h
				}
			}
			n.members = append(n.members, member{name, line, l.node(value, p, line)})
		}
		slices.SortFunc(n.members, func(a, b member) int {
			if a.line != b.line {
				return a.line - b.line
			}
			return strings.Compare(a.name, b.name)
		})
	case []map[string]any:
		n.kind = '['
		for i, item := range v {
			line := l.header(path, i)
			n.items = append(n.items, l.node(item, path, line))
		}
	case []any:
		n.kind = '['
		for _, item := range v {
			n.items = append(n.items, l.node(item, path, at))
		}
	case string:
		n.kind, n.text = '"', v
	case bool:
		n.kind = 'f'
		if v {
			n.kind = 't'
		}
		n.text = fmt.Sprint(v)
	case time.Time:
		n.kind, n.text = '"', v.String()
	default:
		n.kind, n.text = '0', fmt.Sprint(v)
	}
	return n
}
