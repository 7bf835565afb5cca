package docs

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/rego"
)

var update = flag.Bool("update", false, "write the examples of the input into policy.md, and what the schema says into protocol.md")

// schemaNode is a node of the input schema.
type schemaNode struct {
	Type                 string
	Enum                 []string
	Properties           json.RawMessage
	Items                *schemaNode
	Required             []string
	Kinds                []string `json:"x-kinds"`
	AdditionalProperties *bool
}

// field is a row in a table of the input's fields.
type field struct {
	Type     string
	Kinds    []string // of effects that have it; nil for all
	Optional bool
	Words    []string // that it may be
}

// members returns the names and values of an object in their order.
func members(t *testing.T, data []byte) strictjson.Object {
	t.Helper()
	if len(data) == 0 {
		return nil
	}
	o, err := strictjson.ParseObject(data)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// schemaFields collects the fields below a node by their path.
func schemaFields(t *testing.T, path string, n *schemaNode, out map[string]field) {
	for _, m := range members(t, n.Properties) {
		var child schemaNode
		if err := json.Unmarshal(m.Value, &child); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(path+"."+m.Name, ".")
		f := field{Kinds: child.Kinds, Words: child.Enum, Optional: !slices.Contains(n.Required, m.Name) && len(child.Kinds) == 0}
		switch child.Type {
		case "":
			f.Type = "any JSON"
		case "boolean":
			f.Type = "true or false"
		case "integer":
			f.Type = "number"
		case "array":
			f.Type, f.Words = "list of strings", child.Items.Enum
			switch child.Items.Type {
			case "integer":
				f.Type = "list of numbers"
			case "object":
				f.Type = "list of objects"
			}
		default:
			f.Type = child.Type
		}
		if name != "effect" && name != "call" && name != "session" && name != "project" && name != "user" {
			out[name] = f
		}
		schemaFields(t, name, &child, out)
	}
}

// TestInputFields compares the tables of the input with the schema: each field has one
// row, under the kinds that have it, with its type and possible values.
func TestInputFields(t *testing.T) {
	var root schemaNode
	if err := json.Unmarshal(rego.InputSchema(), &root); err != nil {
		t.Fatal(err)
	}
	want := map[string]field{}
	schemaFields(t, "", &root, want)
	if len(want) < 60 {
		t.Fatalf("only %d fields in the schema", len(want))
	}
	seen := map[string]bool{}
	for _, tab := range read(t, "policy.md").find("field", "type", "meaning") {
		for _, row := range tab.rows {
			name := strings.Trim(row[0], "`")
			f, ok := want[name]
			if !ok || seen[name] {
				t.Errorf("%s: is no field of the schema, or stands twice", name)
				continue
			}
			seen[name] = true
			if row[1] != f.Type {
				t.Errorf("%s: is a %s, not a %s", name, f.Type, row[1])
			}
			for _, word := range f.Words {
				if !slices.Contains(spans(row[2]), word) {
					t.Errorf("%s: may be %q, which is not said", name, word)
				}
			}
			// The heading says that these members are optional.
			optional := strings.HasPrefix(row[2], "optional: ")
			if strings.Count(name, ".") == 1 && f.Kinds == nil && optional != f.Optional {
				t.Errorf("%s: optional is %v, and the table says %v", name, f.Optional, optional)
			}
			if f.Kinds == nil {
				continue
			}
			kinds := strings.FieldsFunc(strings.ReplaceAll(tab.heading, " and ", ", "), func(c rune) bool { return c == ',' || c == ' ' })
			if diff := cmp.Diff(f.Kinds, kinds); diff != "" {
				t.Errorf("%s: stands under the wrong kinds (-schema +heading):\n%s", name, diff)
			}
		}
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("%s: is not in a table", name)
		}
	}
}

// TestTags compares the table of tags with the code.
func TestTags(t *testing.T) {
	var names []string
	for _, tab := range read(t, "policy.md").find("tag", "means", "guarded for") {
		for _, row := range tab.rows {
			name := strings.Trim(row[0], "`")
			names = append(names, name)
			tag, ok := effects.ParseTag(name)
			if !ok {
				t.Errorf("there is no tag %s", name)
				continue
			}
			var guarded []string
			for _, kind := range effects.Kinds {
				e := effects.Effect{Kind: kind, Tags: effects.TagsOf(tag)}
				if e.Guarded() != 0 {
					guarded = append(guarded, string(kind))
				}
			}
			if got := strings.Join(guarded, ", "); got != row[2] {
				t.Errorf("%s is guarded for %q, not %q", name, got, row[2])
			}
		}
	}
	var all []string
	for _, tag := range effects.AllTags() {
		all = append(all, tag.String())
	}
	if diff := cmp.Diff(all, names); diff != "" {
		t.Errorf("tags (-code +table):\n%s", diff)
	}
}

// dump is a policy that prints its input.
const dump = `package permd.user

import rego.v2

kinds := {"run", "read", "write", "delete", "connect", "use", "state", "mode", "question", "unknown"}

seen := {"effect": {k: v | some k, v in input.effect}, "input": {
	"effect": {}, "call": {k: v | some k, v in input.call},
	"session": input.session, "project": input.project, "user": input.user, "now": input.now,
}}

ask contains {"reason": part, "message": json.marshal(seen[part])} if {
	input.effect.kind in kinds
	some part in {"effect", "input"}
}
`

// TestInputExamples compares the examples of the input with the real input of rules.
func TestInputExamples(t *testing.T) {
	doc := read(t, "policy.md")
	w := newWorld(t, rules{user: folder(t, map[string]string{"dump.rego": dump}), noBase: true})
	var root schemaNode
	if err := json.Unmarshal(rego.InputSchema(), &root); err != nil {
		t.Fatal(err)
	}
	var call, first string
	found := 0
	for i := len(doc.blocks) - 1; i >= 0; i-- {
		if doc.blocks[i].info == "json call" {
			first = doc.blocks[i].text
		}
	}
	type edit struct {
		block
		text string
	}
	var edits []edit
	for _, b := range doc.blocks {
		switch b.info {
		case "json call":
			call = b.text
		case "json effect":
			var shown struct{ Kind string }
			if err := json.Unmarshal([]byte(b.text), &shown); err != nil {
				t.Fatalf("%s:%d: %v", doc.path, b.first, err)
			}
			got := w.seen(t, call, "effect", shown.Kind)
			text := printed(t, got, &root, "effect")
			found++
			if text != b.text {
				edits = append(edits, edit{b, text})
			}
		case "json input":
			text := printed(t, w.seen(t, first, "input", "run"), &root, "")
			found++
			if text != b.text {
				edits = append(edits, edit{b, text})
			}
		}
	}
	if found < 6 {
		t.Errorf("only %d examples", found)
	}
	if *update {
		for _, e := range slices.Backward(edits) {
			doc.lines = slices.Replace(doc.lines, e.first, e.end, strings.Split(strings.TrimSuffix(e.text, "\n"), "\n")...)
		}
		if err := os.WriteFile(doc.path, []byte(strings.Join(doc.lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, e := range edits {
		t.Errorf("%s:%d: rules see something else; update with: go test ./docs -run TestInputExamples -update\n%s",
			doc.path, e.first, cmp.Diff(e.block.text, e.text))
	}
}

// seen returns the input of a rule for the call's effect of that kind.
func (w *world) seen(t *testing.T, call, what, kind string) string {
	t.Helper()
	c := w.call(t, call)
	snap, err := w.store.Snapshot(1000, w.project)
	if err != nil {
		t.Fatal(err)
	}
	made := tools.World{FS: w.fs, Own: w.own, Table: snap.Table(), Profiles: snap.Profiles()}
	res := made.Effects(c)
	for i := range res.Effects {
		if string(res.Effects[i].Kind) != kind {
			continue
		}
		findings, err := snap.Evaluate(t.Context(), &decisions.Input{
			Effect: &res.Effects[i], All: res.Effects, Call: c, Result: &res,
			Session: decisions.SessionRef{ID: "s1", Mode: "default"}, Now: now,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings.Fired {
			if f.Reason == what {
				return f.Message
			}
		}
	}
	t.Fatalf("the call %s has no effect of kind %s", call, kind)
	return ""
}

// printed formats JSON with one member per line, in the order of the schema. The input
// as a whole is formatted two levels deep.
func printed(t *testing.T, data string, root *schemaNode, part string) string {
	t.Helper()
	value := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(data), &value); err != nil {
		t.Fatal(err)
	}
	node := root
	if part != "" {
		v, _ := members(t, root.Properties).Get(part)
		node = new(schemaNode)
		if err := json.Unmarshal(v, node); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	b.WriteString("{\n")
	n := 0
	for _, m := range members(t, node.Properties) {
		v, ok := value[m.Name]
		if !ok {
			continue
		}
		text := spaced(t, v)
		if part == "" && m.Name == "effect" {
			text = `"as above"`
		}
		if n++; n > 1 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "  %q: %s", m.Name, text)
	}
	if n != len(value) {
		t.Errorf("the schema lacks a field of %s", data)
	}
	b.WriteString("\n}\n")
	return b.String()
}

// spaced formats JSON on one line, with spaces as a person would write them.
func spaced(t *testing.T, data []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	s := strings.Join(strings.FieldsFunc(b.String(), func(c rune) bool { return c == '\n' }), "\n")
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	s = strings.Join(lines, " ")
	for _, r := range [][2]string{{"{ ", "{"}, {" }", "}"}, {"[ ", "["}, {" ]", "]"}} {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return strings.TrimSpace(s)
}
