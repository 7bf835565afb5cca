// Package protocoldoc reads the tables and the schema of docs/protocol.md, for tests
// that compare them with the methods. It is for tests only.
package protocoldoc

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

var row = regexp.MustCompile("(?m)^\\| `([a-zA-Z_$]+)` \\|")

// Document is the text of a document.
type Document string

// Read reads the document at path.
func Read(path string) (Document, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the document: %w", err)
	}
	return Document(data), nil
}

// Table returns the first word of each row of a table, sorted: the first table in the
// second-level section whose heading begins with the word head. It returns an error if
// there is none.
func (d Document) Table(section, head string) ([]string, error) {
	_, rest, ok := strings.Cut(string(d), "\n## "+section+"\n")
	if ok {
		rest, _, _ = strings.Cut(rest, "\n## ")
		_, rest, ok = strings.Cut(rest, "\n| "+head+" |")
	}
	if !ok {
		return nil, fmt.Errorf("%s has no table of %s", section, head)
	}
	rest, _, _ = strings.Cut(rest, "\n\n")
	var names []string
	for _, m := range row.FindAllStringSubmatch(rest, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return names, nil
}

// Members returns the JSON names of a struct's fields, sorted.
func Members(of reflect.Type) []string {
	var names []string
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
