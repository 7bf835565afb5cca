package gateway

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// readObject reads a whole JSON object, strictly at all depths.
func readObject(data []byte) (strictjson.Object, error) {
	data = bytes.TrimSpace(data)
	if strictjson.Kind(data) != '{' {
		return nil, errors.New("it is no JSON object")
	}
	if err := strictjson.Check(data); err != nil {
		return nil, err
	}
	return strictjson.ParseObject(data)
}

// members reads an object in which no member may be mistaken for a known one.
func members(v strictjson.Value, known ...string) (strictjson.Object, error) {
	if strictjson.Kind(v) != '{' {
		return nil, errors.New("an object is expected")
	}
	o, err := strictjson.ParseObject(v)
	if err != nil {
		return nil, err
	}
	return o, nearMiss(o, known...)
}

func nearMiss(o strictjson.Object, known ...string) error {
	if o.NearMiss(known...) != "" {
		return errors.New("a member's name differs from a known one only by case")
	}
	return nil
}

func list(v strictjson.Value) ([]strictjson.Value, error) {
	if strictjson.Kind(v) != '[' {
		return nil, errors.New("a list is expected")
	}
	return strictjson.ParseArray(v)
}

// text returns a member that is a text, "" if there is none.
func text(o strictjson.Object, name string) string {
	v, _ := o.Get(name)
	s, _ := strictjson.ParseString(v)
	return s
}

// nameIn returns a required member that is a text.
func nameIn(o strictjson.Object, name string) (string, error) {
	s := text(o, name)
	if s == "" || len(s) > socket.MaxName {
		return "", fmt.Errorf("%s is missing, no text or too long", name)
	}
	return s, nil
}

// quote writes a text as JSON, on one line for all readers of lines.
func quote(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // it is not UTF-8
		b, _ = jsontext.AppendQuote(nil, string(bytes.ToValidUTF8([]byte(s), []byte("\ufffd"))))
	}
	return string(b)
}

// oneLine returns a value so that it stands on one line for all readers of lines.
func oneLine(v strictjson.Value) strictjson.Value {
	v = v.Clone()
	if v.Format(jsontext.Multiline(false), jsontext.PreserveRawStrings(true), jsontext.SpaceAfterColon(false), jsontext.SpaceAfterComma(false)) != nil {
		return strictjson.Value("null")
	}
	for _, c := range []struct{ raw, escaped string }{{"\u0085", `\u0085`}, {"\u2028", `\u2028`}, {"\u2029", `\u2029`}} {
		v = bytes.ReplaceAll(v, []byte(c.raw), []byte(c.escaped))
	}
	return v
}

// tool is a tool of either side. Rest are its other members.
type tool struct {
	Name  string `json:"name"`
	Trust bool   `json:"trust,omitzero"`
}

// readTools reads a list of tools; nil if there is none.
func readTools(o strictjson.Object, name string) ([]tool, error) {
	v, ok := o.Get(name)
	if !ok || strictjson.Kind(v) == 'n' {
		return nil, nil
	}
	items, err := list(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	tools := make([]tool, 0, len(items))
	for _, it := range items {
		m, err := members(it, "name", "trust")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		t := tool{}
		if t.Name, err = nameIn(m, "name"); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if v, ok := m.Get("trust"); ok {
			switch strictjson.Kind(v) {
			case 't':
				t.Trust = true
			case 'f', 'n':
			default:
				return nil, fmt.Errorf("%s: trust must be true or false", name)
			}
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// withoutTrust returns the member agent of a request without trust in any tool.
func withoutTrust(agent strictjson.Value) (strictjson.Value, error) {
	return rewrite(agent, "tools", func(tools strictjson.Value) (strictjson.Value, error) {
		if strictjson.Kind(tools) != '[' {
			return tools, nil
		}
		items, err := strictjson.ParseArray(tools)
		if err != nil {
			return nil, err
		}
		for i, it := range items {
			if items[i], err = rewrite(it, "trust", func(strictjson.Value) (strictjson.Value, error) { return strictjson.Value("false"), nil }); err != nil {
				return nil, err
			}
		}
		return joined('[', items, ']'), nil
	})
}

// rewrite changes one member of an object, if it is there.
func rewrite(v strictjson.Value, name string, change func(strictjson.Value) (strictjson.Value, error)) (strictjson.Value, error) {
	o, err := strictjson.ParseObject(v)
	if err != nil {
		return nil, err
	}
	for i := range o {
		if o[i].Name == name {
			if o[i].Value, err = change(o[i].Value); err != nil {
				return nil, err
			}
		}
	}
	return encode(o), nil
}

// encode writes an object.
func encode(o strictjson.Object) strictjson.Value {
	items := make([]strictjson.Value, len(o))
	for i, m := range o {
		items[i] = append([]byte(quote(m.Name)+":"), m.Value...)
	}
	return joined('{', items, '}')
}

func joined(begin byte, items []strictjson.Value, end byte) strictjson.Value {
	b := []byte{begin}
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, it...)
	}
	return append(b, end)
}

// set returns an object with one member set.
func set(o strictjson.Object, name string, v strictjson.Value) strictjson.Object {
	o = append(strictjson.Object{}, o...)
	for i := range o {
		if o[i].Name == name {
			o[i].Value = v
			return o
		}
	}
	return append(o, strictjson.Member{Name: name, Value: v})
}
