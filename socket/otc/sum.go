package otc

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/permd/permd/internal/strictjson"
)

// sum is a digest of a value that is independent of its notation.
type sum [sha256.Size]byte

// sumOf is equal for equal values: members may be in another order and strings in
// another notation. Numbers are compared as written: 1 and 1.0 differ, since servers
// distinguish them.
func sumOf(v strictjson.Value) sum { return sha256.Sum256(appendValue(nil, v)) }

// Digest returns a digest that is equal for equal JSON values, whatever their notation; see
// otc/call for what makes two calls one.
func Digest(v strictjson.Value) [sha256.Size]byte { return sumOf(v) }

// appendValue writes a value in a canonical form, the same for all callers with
// the same value.
func appendValue(b []byte, v strictjson.Value) []byte {
	k := strictjson.Kind(v)
	b = append(b, byte(k))
	switch k {
	case '{':
		if o, err := strictjson.ParseObject(v); err == nil {
			slices.SortFunc(o, func(a, b strictjson.Member) int { return strings.Compare(a.Name, b.Name) })
			b = binary.AppendUvarint(b, uint64(len(o)))
			for _, m := range o {
				b = appendValue(appendText(b, m.Name), m.Value)
			}
			return b
		}
	case '[':
		if list, err := strictjson.ParseArray(v); err == nil {
			b = binary.AppendUvarint(b, uint64(len(list)))
			for _, item := range list {
				b = appendValue(b, item)
			}
			return b
		}
	case '"':
		if s, ok := strictjson.ParseString(v); ok {
			return appendText(b, s)
		}
	}
	return appendText(b, strings.TrimSpace(string(v)))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// sum returns the digest of the call's tool and input. Other members may differ in a
// repetition, such as a token that was missing.
func (a *callRequest) sum() sum {
	var b []byte
	for _, s := range []string{a.tool.toolkit, a.tool.name, a.tool.version, a.endpoint} {
		b = appendText(b, s)
	}
	return sha256.Sum256(appendValue(b, a.input))
}
