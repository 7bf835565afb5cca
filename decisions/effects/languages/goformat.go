package languages

import (
	"strings"

	"github.com/permd/permd/internal/wordset"
)

// plainGoFields are the fields of go list's formats that are no text of a source file.
var plainGoFields = wordset.Fields("ImportPath Dir Name Module.Path Module.Dir Root Target Standard GoFiles TestGoFiles Imports Deps")

// PlainGoFormat reports whether a template prints nothing but plain fields.
func PlainGoFormat(format string) bool {
	for {
		_, rest, ok := strings.Cut(format, "{{")
		if !ok {
			return true
		}
		action, after, ok := strings.Cut(rest, "}}")
		field, dot := strings.CutPrefix(strings.TrimSpace(action), ".")
		if !ok || !dot || !plainGoFields.Has(field) {
			return false
		}
		format = after
	}
}
