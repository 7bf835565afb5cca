package docs

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/protocoldoc"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket"
)

const protocolSchema = "protocol.schema.json"

func readSchema(t *testing.T) *protocoldoc.Schema {
	t.Helper()
	s, err := protocoldoc.ReadSchema(protocolSchema)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// otherTables are the tables that are not named after a method, by heading and first
// word of the header.
var otherTables = map[[2]string]string{
	{"The decision", "member"}:          "decision",
	{"A choice", "member"}:              "choice",
	{"One call over HTTP", "parameter"}: "http.data.body",
	{"One call over HTTP", "answer"}:    "http.data.answer",
	{"Calls over HTTP", "parameter"}:    "http.calls.body",
}

// schemaRow is a member of a message.
type schemaRow struct{ name, kind, there string }

// TestProtocolTables compares the tables of protocol.md with the schema: each member has
// a row, and the second and third cells are generated from the schema. -update writes
// them.
func TestProtocolTables(t *testing.T) {
	schema, doc := readSchema(t), read(t, "protocol.md")
	done := map[string]bool{}
	for _, tab := range doc.tables {
		what, isMethod := map[string]string{"parameter": "params", "result": "result"}[tab.header[0]]
		def := otherTables[[2]string{tab.heading, tab.header[0]}]
		if def == "" && isMethod {
			def = protocoldoc.Of(tab.heading, what)
		}
		if def == "" {
			continue
		}
		done[def] = true
		r := schemaRows{schema: schema, params: tab.header[0] == "parameter"}
		root := r.resolve(schema.Def(def))
		if def == "http.data.body" {
			root = r.resolve(root["properties"].(map[string]any)["input"].(map[string]any))
		}
		r.below("", root)
		at := map[string]int{}
		for i, row := range tab.rows {
			name := spans(row[0])[0]
			if at[name] = i; len(row) != 4 {
				t.Fatalf("%s: the row of %s has %d cells", tab.heading, name, len(row))
			}
		}
		for _, want := range r.rows {
			i, ok := at[want.name]
			if !ok {
				t.Errorf("%s: the table of %s has no row of %s", tab.heading, tab.header[0], want.name)
				continue
			}
			delete(at, want.name)
			if got := (schemaRow{want.name, tab.rows[i][1], tab.rows[i][2]}); got != want {
				if !*update {
					t.Errorf("%s: the row is %+v, the schema says %+v", tab.heading, got, want)
				}
				doc.lines[tab.first+2+i] = fmt.Sprintf("| `%s` | %s | %s | %s |", want.name, strings.ReplaceAll(want.kind, "|", `\|`), want.there, tab.rows[i][3])
			}
		}
		for name := range at {
			t.Errorf("%s: the schema has no %s", tab.heading, name)
		}
	}
	for _, name := range schema.Names() {
		if (strings.HasSuffix(name, ".params") || strings.HasSuffix(name, ".result")) && !done[name] && name != "aap.answer.result" {
			t.Errorf("there is no table of %s", name)
		}
	}
	if *update {
		if err := os.WriteFile("protocol.md", []byte(strings.Join(doc.lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// schemaRows collects the rows that a table must have.
type schemaRows struct {
	schema *protocoldoc.Schema
	params bool
	rows   []schemaRow
}

// resolve follows references up to one with a title.
func (r *schemaRows) resolve(s map[string]any) map[string]any {
	for {
		to, ok := s["$ref"].(string)
		if !ok || s["title"] != nil {
			return s
		}
		s = r.schema.Def(strings.TrimPrefix(to, "#/$defs/"))
	}
}

// below adds the members of an object and of the objects in it. Types with a title have
// a table of their own or belong to another protocol.
func (r *schemaRows) below(path string, s map[string]any) {
	all, _ := s["properties"].(map[string]any)
	for name, v := range all {
		member, ok := v.(map[string]any)
		if !ok {
			continue // may not be there
		}
		member = r.resolve(member)
		r.rows = append(r.rows, schemaRow{path + name, r.kind(member), r.there(s, name, member)})
		inner, suffix := member, "."
		if items, ok := member["items"].(map[string]any); ok {
			inner, suffix = r.resolve(items), "[]."
		}
		if inner["title"] == nil {
			r.below(path+name+suffix, inner)
		}
	}
}

func words(list any) (out []string) {
	items, _ := list.([]any)
	for _, item := range items {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

// there returns the cell that says whether a member is required.
func (r *schemaRows) there(of map[string]any, name string, member map[string]any) string {
	if slices.Contains(words(of["required"]), name) {
		if r.params {
			return "**required**"
		}
		return "always"
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		branches, _ := of[key].([]any)
		for _, b := range branches {
			if b, ok := b.(map[string]any); ok && r.params && slices.Contains(words(b["required"]), name) {
				return "**one of**"
			}
		}
	}
	if d, ok := member["default"]; ok && r.params {
		return fmt.Sprintf("`%v`", d)
	}
	return ""
}

// titles are the types that have a table elsewhere.
var titles = map[string]string{
	"decision": "[decision](#the-decision)", "choice": "[choice](#a-choice)", "session": "[session](#permdsession)",
	"call": "object", "response": "object", "tool_result": "`tool_result`", "user_choice": "`user_choice`", "CallToolResponse": "object",
}

// kind returns the cell with a member's type.
func (r *schemaRows) kind(s map[string]any) string {
	title, _ := s["title"].(string)
	if link := titles[title]; link != "" {
		return link
	}
	if c, ok := s["const"]; ok {
		return fmt.Sprintf("`%v`", c)
	}
	if list := words(s["enum"]); list != nil {
		for i, w := range list {
			if list[i] = "`" + w + "`"; w == "" {
				list[i] = "empty"
			}
		}
		return strings.Join(list, ", ")
	}
	types := words(s["type"])
	if one, ok := s["type"].(string); ok {
		types = []string{one}
	}
	name := strings.Join(types, " or ")
	switch {
	case title != "":
		name = title
	case types == nil:
		name = "any JSON"
	}
	if items, ok := s["items"].(map[string]any); ok {
		inner := r.kind(r.resolve(items))
		if slices.Contains(types, "null") {
			inner += ", or null"
		}
		if many := bounds(", ", s["minItems"], s["maxItems"], ""); many != "" {
			return "list" + many + " items, of " + inner
		}
		return "list of " + inner
	}
	switch unit := " bytes"; {
	case slices.Contains(types, "string"):
		return name + bounds(", ", s["minLength"], s["maxLength"], unit)
	default:
		return name + bounds(", ", s["minimum"], s["maximum"], "")
	}
}

// bounds formats the bounds of a number.
func bounds(before string, least, most any, unit string) string {
	switch {
	case least != nil && most != nil:
		return fmt.Sprintf("%s%v–%v%s", before, least, most, unit)
	case most != nil:
		return fmt.Sprintf("%sat most %v%s", before, most, unit)
	case least != nil && unit == "":
		return fmt.Sprintf("%sat least %v", before, least)
	case least != nil:
		return before + "not empty"
	}
	return ""
}

// TestProtocolSchemaValues compares values and members in the schema with the program's
// constants and types.
func TestProtocolSchemaValues(t *testing.T) {
	schema := readSchema(t)
	of := func(def, member string) []string {
		all, _ := schema.Def(def)["properties"].(map[string]any)
		one, _ := all[member].(map[string]any)
		return words(one["enum"])
	}
	text := func(list any) (out []string) {
		v := reflect.ValueOf(list)
		for i := range v.Len() {
			out = append(out, v.Index(i).String())
		}
		return out
	}
	for _, test := range []struct {
		at        string
		got, want []string
	}{
		{"kinds", of("effect", "kind"), text(effects.Kinds)},
		{"layers", of("rule", "layer"), text(decisions.Layers)},
		{"defects", of("defect", "code"), []string{effects.DefectDropped, effects.DefectContradiction, effects.DefectNearMiss, effects.DefectOption, effects.DefectCharacters, effects.DefectChanged}},
		{"needed", of("decision", "needed"), text([]decisions.Needed{decisions.NeededByRule, decisions.NeededByDefault, decisions.NotNeeded})},
		{"decided by", of("decision", "decidedBy"), text([]decisions.DecidedBy{decisions.ByPolicy, decisions.ByMemory, decisions.ByHuman, decisions.ByDefault, decisions.ByFailure, decisions.ByPause, decisions.ByLock})},
		{"outcomes", of("decision", "outcome"), text([]decisions.Outcome{decisions.Passed, decisions.Approved, decisions.RanUnprompted, decisions.RanDespiteDeny, decisions.Gated, decisions.Refused, decisions.Unmet, decisions.Invalid})},
		{"verdicts", words(schema.Def("verdict")["enum"]), text([]decisions.Verdict{decisions.Allow, decisions.Ask, decisions.Deny})},
	} {
		if d := cmp.Diff(test.want, test.got); d != "" {
			t.Errorf("%s (-program +schema):\n%s", test.at, d)
		}
	}
	for def, of := range map[string]reflect.Type{
		"decision": reflect.TypeFor[decisions.Decision](), "effect": reflect.TypeFor[decisions.EffectDecision](), "rule": reflect.TypeFor[decisions.RuleRef](),
		"width": reflect.TypeFor[decisions.Width](), "choice": reflect.TypeFor[decisions.StoredChoice](), "defect": reflect.TypeFor[effects.Defect](),
	} {
		props, _ := schema.Def(def)["properties"].(map[string]any)
		want := slices.DeleteFunc(protocoldoc.Members(of), func(name string) bool { return name == "-" || name == "" })
		var got []string
		for name := range props {
			got = append(got, name)
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-program +schema):\n%s", def, d)
		}
	}
	var codes []string
	variants, _ := schema.Def("error")["oneOf"].([]any)
	for _, v := range variants {
		props := v.(map[string]any)["properties"].(map[string]any)["code"].(map[string]any)
		codes = append(codes, words(props["enum"])...)
		if c := props["const"]; c != nil {
			codes = append(codes, fmt.Sprint(c))
		}
	}
	want := []string{fmt.Sprint(socket.CodeAsk)}
	for _, code := range []int{socket.CodeParse, socket.CodeRequest, socket.CodeMethod, socket.CodeParams, socket.CodeInternal, socket.CodeCancelled, socket.CodeBusy} {
		want = append(want, fmt.Sprint(code))
	}
	slices.Sort(codes)
	slices.Sort(want)
	if !slices.Equal(codes, want) {
		t.Errorf("the schema has the codes %v, the socket %v", codes, want)
	}
}

// TestProtocolExpiry compares the maximum expiry of a choice with the program's.
func TestProtocolExpiry(t *testing.T) {
	maximum, err := strconv.ParseInt(fmt.Sprint(readSchema(t).Def("seconds")["maximum"]), 10, 64)
	if err != nil {
		t.Fatalf("the maximum of seconds: %v", err)
	}
	if _, err := remember.Expiry(maximum); err != nil {
		t.Errorf("%d seconds: %v", maximum, err)
	}
	if _, err := remember.Expiry(maximum + 1); err == nil {
		t.Errorf("%d seconds and one more are taken", maximum)
	}
}

// TestProtocolFeatures compares the features in the schema with the table.
func TestProtocolFeatures(t *testing.T) {
	var listed []string
	for _, tab := range read(t, "protocol.md").find("feature", "what it adds") {
		for _, row := range tab.rows {
			listed = append(listed, spans(row[0])...)
		}
	}
	slices.Sort(listed)
	props := readSchema(t).Def("permd.session.result")["properties"].(map[string]any)
	if want := words(props["features"].(map[string]any)["items"].(map[string]any)["enum"]); !slices.Equal(listed, want) {
		t.Errorf("the table has %v, the schema %v", listed, want)
	}
}

// TestProtocolClosed checks that every object in permd's answers is closed in the
// schema, so that TestProtocolSchema finds missing members.
func TestProtocolClosed(t *testing.T) {
	schema := readSchema(t)
	answer := regexp.MustCompile(`\.(result|answer)$|^(error|decision|choice)$`)
	checked := 0
	var walk func(at string, s map[string]any)
	walk = func(at string, s map[string]any) {
		r := schemaRows{schema: schema}
		s = r.resolve(s)
		props, ok := s["properties"].(map[string]any)
		if ok {
			if checked++; s["additionalProperties"] != false {
				t.Errorf("%s is not closed", at)
			}
		}
		for name, v := range props {
			if v, ok := v.(map[string]any); ok {
				walk(at+"."+name, v)
			}
		}
		if items, ok := s["items"].(map[string]any); ok {
			walk(at+"[]", items)
		}
	}
	for _, name := range schema.Names() {
		if answer.MatchString(name) {
			walk(name, schema.Def(name))
		}
	}
	if checked < 60 {
		t.Errorf("only %d objects", checked)
	}
}
