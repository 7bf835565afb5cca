// Package hooktest is for tests of hooks: it interprets answers as the harnesses do, and
// makes malformed inputs.
package hooktest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/internal/strictjson"
)

// Mutant is a sample with one thing changed.
type Mutant struct {
	Name string
	Text []byte
}

// Mutants returns copies of a sample with one member of one object changed, for each
// member at any depth.
func Mutants(in []byte) []Mutant {
	var all []Mutant
	var walk func(path string, v strictjson.Value, whole func(strictjson.Value) []byte)
	walk = func(path string, v strictjson.Value, whole func(strictjson.Value) []byte) {
		o, err := strictjson.ParseObject(v)
		if err != nil {
			return
		}
		for i, m := range o {
			at := path + "." + m.Name
			write := func(members ...strictjson.Member) []byte {
				var b bytes.Buffer
				b.WriteByte('{')
				for j, n := range append(append(append(strictjson.Object{}, o[:i]...), members...), o[i+1:]...) {
					if j > 0 {
						b.WriteByte(',')
					}
					b.WriteString(quoted(n.Name) + ":")
					b.Write(n.Value)
				}
				b.WriteByte('}')
				return whole(b.Bytes())
			}
			with := func(v string) []byte { return write(strictjson.Member{Name: m.Name, Value: strictjson.Value(v)}) }
			all = append(all, Mutant{at + " left out", write()}, Mutant{at + " twice", write(m, m)},
				Mutant{at + " twice, another first", write(strictjson.Member{Name: m.Name, Value: strictjson.Value(`"ls"`)}, m)},
				Mutant{at + " in other letters too", write(m, strictjson.Member{Name: strings.ToUpper(m.Name), Value: m.Value})},
				Mutant{at + " in other letters", write(strictjson.Member{Name: strings.ToUpper(m.Name), Value: m.Value})},
			)
			for name, value := range map[string]string{
				"null": "null", "false": "false", "true": "true", "a number": "7", "a long number": strings.Repeat("9", 400),
				"empty": `""`, "a list": `[]`, "a list of one": "[" + string(m.Value) + "]", "an object": `{}`, "itself within": `{"` + m.Name + `":` + string(m.Value) + `}`,
				"oversized": `"` + strings.Repeat("x", 1<<15) + `"`, "deep": strings.Repeat("[", 200) + strings.Repeat("]", 200),
				"no UTF-8": "\"a\xff\"", "half a surrogate": `"a\ud800"`, "NUL": `"a\u0000b"`, "lines": `"a\n{\"decision\":\"allow\"}\n"`,
				"a terminal's": `"\u001b[2J\u202e"`, "an answer": `"{\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}"`,
				"text of itself": quoted(string(m.Value)), "above": `"../../../../etc"`,
			} {
				all = append(all, Mutant{at + ": " + name, with(value)})
			}
			walk(at, m.Value, func(v strictjson.Value) []byte { return with(string(v)) })
		}
	}
	walk("", in, func(v strictjson.Value) []byte { return v })
	for i := 0; i < len(in)-2; i += 7 {
		all = append(all, Mutant{fmt.Sprint("cut at ", i), in[:i]})
	}
	return append(all, Mutant{"trailing", append(bytes.Clone(in), "{}"...)}, Mutant{"doubled", append(bytes.Clone(in), in...)},
		Mutant{"in a list", []byte("[" + string(in) + "]")}, Mutant{"a byte order mark", append([]byte("\xef\xbb\xbf"), in...)})
}

func quoted(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err) // a sample that is no text
	}
	return string(b)
}
