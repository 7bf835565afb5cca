package programs

import (
	"bytes"
	"errors"
	"io"
	"reflect"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/internal/chars"
)

// ReadDocument reads another file of a layer as strictly as one with programs: maps, lists
// and plain scalars of YAML, each with the keys and types of what into points to, and no key
// twice. It returns the root, nil for an empty file and with errors. The file may have at
// most 256 KiB.
func ReadDocument(file string, data []byte, into any) (*yaml.Node, []*TableError) {
	r := &layerReader{file: file}
	if len(data) > maxTableFile {
		r.fail(0, "", "the file is longer than %d bytes", maxTableFile)
		return nil, r.errs
	}
	if line := chars.HidesLine(data); line > 0 {
		r.fail(line, "take the character out", "it holds a character with which the file shows other lines than it has")
		return nil, r.errs
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		r.syntax(err)
	case !errors.Is(dec.Decode(&more), io.EOF):
		r.fail(0, "", "the file has more than one document")
	case len(doc.Content) == 1:
		if r.check(doc.Content[0], reflect.TypeOf(into).Elem(), "the file", 0); r.errs == nil {
			if err := doc.Content[0].Decode(into); err != nil {
				r.syntax(clarifyYAMLError(err))
			}
		}
	}
	if r.errs != nil || len(doc.Content) != 1 {
		return nil, r.errs
	}
	return doc.Content[0], nil
}
