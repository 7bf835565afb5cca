package programs

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/wordset"
)

// TestExtendEveryKey checks what each layer may say with each key, that every key
// has a case, and that a person's entries take no effect away.
func TestExtendEveryKey(t *testing.T) {
	table, err := ParseTable(map[string][]byte{"t.yaml": []byte(knownProgram)})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for key := range keysOf(reflect.TypeFor[programEntry]()) {
		keys = append(keys, key)
	}
	for _, key := range keys {
		c, ok := keyCases[key]
		if !ok || keyEffects()[key] == 0 {
			t.Errorf("%s: nobody decided whether a person may say it of a program that is known", key)
			continue
		}
		refused := func(entry string) (person, org bool) {
			if !strings.HasPrefix(entry, "names:") {
				entry = "names: [known], " + entry
			}
			files := map[string][]byte{"p.yaml": []byte("extend: [{" + entry + "}]")}
			o, errs := table.ParseOverlay(files)
			if errs == nil {
				TakesNothing(t, entry, table, table.With(o, true))
			}
			for _, e := range errs {
				if e.Line != 1 || e.Text == "" {
					t.Errorf("%s: an error without its place: %+v", entry, e)
				}
			}
			_, _, orgErrs := table.Extended(files)
			return errs != nil, orgErrs != nil
		}
		for _, list := range []struct {
			entries     []string
			person, org bool
		}{{c.person, false, false}, {c.org, true, false}, {c.nobody, true, true}} {
			for _, entry := range list.entries {
				if person, org := refused(entry); person != list.person || org != list.org {
					t.Errorf("%s: a person is refused: %t, want %t; org: %t, want %t", entry, person, list.person, org, list.org)
				}
			}
		}
		if len(c.person)+len(c.org)+len(c.nobody) == 0 {
			t.Errorf("%s: no case", key)
		}
	}
	if len(keyCases) != len(keys) || len(keyEffects()) != len(keys) {
		t.Errorf("%d keys, %d cases, %d sayings", len(keys), len(keyCases), len(keyEffects()))
	}
}

// TakesNothing is set by the tests that make effects with a table, and checks that
// an overlay takes no effect away.
var TakesNothing func(t *testing.T, entry string, table, with *Table)

// TestTraits checks that each key that is stored as written declares which layers
// may use it, and that a layer's value is copied without changing the table's.
func TestTraits(t *testing.T) {
	for key, field := range keysOf(reflect.TypeFor[programEntry]()) {
		if layerTags[field.Tag.Get("layer")] == 0 {
			t.Errorf("%s: the tag layer is %q", key, field.Tag.Get("layer"))
		}
	}
	fill := func(tr *traits, key, text string) any {
		v, ok := tr.trait(key)
		if !ok {
			t.Fatalf("no field for %s", key)
		}
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.String:
			v.SetString(text)
		case reflect.Slice:
			v.Set(reflect.Append(v, reflect.ValueOf(text)))
		case reflect.Map:
			value := reflect.ValueOf(text)
			if v.Type().Elem().Kind() == reflect.Slice {
				value = reflect.ValueOf([]string{text})
			}
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf(text), value)
		default:
			t.Fatalf("%s: a trait that cannot be taken over, of the type %s", key, v.Type())
		}
		return v.Interface()
	}
	for key := range traitKeys() {
		var table, layer traits
		was := fill(&table, key, "--table")
		fill(&layer, key, "--layer")
		merged := table
		if !merged.take(&layer, key) {
			t.Fatalf("%s is not taken over", key)
		}
		v, _ := merged.trait(key)
		switch v.Kind() {
		case reflect.Slice, reflect.Map:
			if v.Len() != 2 || reflect.ValueOf(was).Len() != 1 {
				t.Errorf("%s: %v and a layer's became %v", key, was, v)
			}
		case reflect.String:
			if v.String() != "--layer" {
				t.Errorf("%s became %v", key, v)
			}
		}
	}
	if (&traits{}).take(&traits{}, "names") {
		t.Error("a key that is no trait is taken over")
	}
}

// TestEveryRoleIsJudged checks that it was decided for each role whether its words
// always have an effect.
func TestEveryRoleIsJudged(t *testing.T) {
	// Some words of these roles are only text.
	text := wordset.Fields(`text harmless plain format globs types guarded_text ref remote refspec package sed awk git_format git_sort columns jq yq sql number runner_words
		method field form endpoint image repository git_config go_flags command chdir make_target sources name object unfetched socket`)
	for _, name := range slices.Sorted(maps.Keys(roleNames)) {
		if activeRoles[roleNames[name]] == text.Has(name) {
			t.Errorf("%s: nobody decided whether it always does something", name)
		}
	}
}

// TestEveryWrapperKeyIsJudged checks each key of a wrapper: only org may set it for
// a known program, and it makes every other program transparent.
func TestEveryWrapperKeyIsJudged(t *testing.T) {
	judged := wordset.Fields("transparent skip assignments appends dashes elsewhere joined scripts itself")
	table := shipped(t)
	for key, field := range keysOf(reflect.TypeFor[wrapperEntry]()) {
		if !judged.Has(key) {
			t.Errorf("%s: nobody decided whether a person may say it", key)
		}
		value := "true"
		if field.Type.Kind() == reflect.Int {
			value = "1"
		}
		_, errs := table.ParseOverlay(map[string][]byte{"p.yaml": []byte("programs: [{names: [mywrap], wrapper: {" + key + ": " + value + "}}]")})
		if (errs != nil) != (key == "transparent") {
			t.Errorf("%s: %v", key, show(errs))
		}
	}
}

// TestSchemaHasEveryKey compares the schema of the files with the keys that are
// read.
func TestSchemaHasEveryKey(t *testing.T) {
	data, err := os.ReadFile("../../../rego/programs.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties  map[string]any
		Definitions struct {
			Role    struct{ Enum []string }
			Program struct{ Properties map[string]any }
			Wrapper struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	same := func(what string, schema, read []string) {
		slices.Sort(schema)
		slices.Sort(read)
		if diff := cmp.Diff(read, schema); diff != "" {
			t.Errorf("%s of rego/programs.schema.json are not what is read: %s", what, diff)
		}
	}
	same("keys", slices.Collect(maps.Keys(schema.Properties)), slices.Collect(maps.Keys(keysOf(reflect.TypeFor[tableFile]()))))
	same("keys of a program", slices.Collect(maps.Keys(schema.Definitions.Program.Properties)), slices.Collect(maps.Keys(keysOf(reflect.TypeFor[programEntry]()))))
	same("keys of a wrapper", slices.Collect(maps.Keys(schema.Definitions.Wrapper.Properties)), slices.Collect(maps.Keys(keysOf(reflect.TypeFor[wrapperEntry]()))))
	same("roles", schema.Definitions.Role.Enum, slices.Collect(maps.Keys(roleNames)))
}

// TestKeysAreDocumented compares the table of keys in docs/policy.md with the
// layers that may use them.
func TestKeysAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	words := map[keyEffect]string{
		keySelects: "yes", keyAdds: "yes", keyAddsIfTrue: "`true`", keyAddsIfFalse: "`false`", keyAddsIfFewer: "fewer", keyChangesReading: "no", keyDescribes: "no",
		keyAddsRoles: "roles that always do something",
	}
	for key, s := range keyEffects() {
		found := false
		for line := range strings.Lines(string(data)) {
			cells := strings.Split(line, " | ")
			found = found || len(cells) == 3 && cells[0] == "| `"+key+"`" && strings.TrimSuffix(strings.TrimSpace(cells[2]), " |") == words[s]
		}
		if !found {
			t.Errorf("%s: docs/policy.md does not say that a user may: %s", key, words[s])
		}
	}
}

// keyCases has, for each key of an entry, what a person may say with it about a
// known program, what only org may say, and what no layer may say.
var keyCases = map[string]struct{ person, org, nobody []string }{
	"names":                {nobody: []string{"names: []"}},
	"sub":                  {person: []string{"sub: [{names: [two], unknown: no}]", "sub: [{names: [new], unknown: no}]", "sub: [{names: [one], sub: [{names: [deep], options: {writes: [--x=]}}]}]"}, org: []string{"sub: [{names: [two], readonly: true}]", "sub: [{names: [new], open: true}]"}},
	"options":              {person: []string{"options: {changes: [--plain]}", "options: {unknown: [-q]}", "options: {writes: [--out=], executes: [--new=]}"}, org: []string{"options: {harmless: [--out=]}", "options: {harmless: [--new]}", "options: {changes: [--new], harmless: [--out=]}", "options: {plain: [--new=]}"}},
	"operands":             {person: []string{"operands: ['writes...']", "operands: [text, 'deletes...']"}, org: []string{"operands: ['text...']", "operands: ['format...']"}},
	"after_dashes":         {person: []string{"after_dashes: writes"}, org: []string{"after_dashes: text"}},
	"readonly":             {person: []string{"readonly: false"}, org: []string{"readonly: true"}},
	"readonly_operands":    {person: []string{"readonly_operands: 0", "readonly_operands: 2"}, org: []string{"readonly_operands: 3", "readonly_operands: -1"}},
	"readonly_with":        {org: []string{"readonly_with: [--plain]"}},
	"alike":                {org: []string{"alike: true", "alike: false"}},
	"own_data":             {person: []string{"own_data: false"}, org: []string{"own_data: true"}},
	"reformats":            {person: []string{"reformats: false"}, org: []string{"reformats: true"}},
	"reformats_unless":     {org: []string{"reformats_unless: [--plain]"}},
	"readonly_alone":       {org: []string{"readonly_alone: [--plain]"}},
	"open":                 {person: []string{"open: false"}, org: []string{"open: true"}},
	"open_subs":            {person: []string{"open_subs: false"}, org: []string{"open_subs: true"}},
	"plain_options":        {person: []string{"plain_options: false"}, org: []string{"plain_options: true"}},
	"skips_hidden":         {person: []string{"skips_hidden: false"}, org: []string{"skips_hidden: true"}},
	"opens":                {org: []string{"opens: [.go]"}},
	"skips_links":          {person: []string{"skips_links: false"}, org: []string{"skips_links: true"}},
	"skips_linked_folders": {person: []string{"skips_linked_folders: false"}, org: []string{"skips_linked_folders: true"}},
	"skips_links_with":     {org: []string{"skips_links_with: [--plain]"}},
	"follows_with":         {person: []string{"follows_with: [--plain]"}, nobody: []string{"follows_with: [--nosuch]"}},
	"abbreviations":        {person: []string{"abbreviations: true"}, org: []string{"abbreviations: false"}},
	"recursive":            {person: []string{"recursive: true"}, org: []string{"recursive: false"}},
	"pathspecs":            {person: []string{"pathspecs: true"}, org: []string{"pathspecs: false"}},
	"rearranges":           {org: []string{"rearranges: true", "rearranges: false"}},
	"network":              {person: []string{"network: true"}, org: []string{"network: false"}},
	"repository":           {person: []string{"repository: true"}, org: []string{"repository: false"}},
	"obeys_input":          {person: []string{"obeys_input: true"}, org: []string{"obeys_input: false"}},
	"does":                 {org: []string{"does: [looks at things]", "does: ['--plain: looks', looks at things]"}, nobody: []string{"does: ['--none: looks']", "does: ['other: looks']", "does: ['']", "does: [\"two\\nlines\"]", "does: ['{x}']"}},
	"obeys":                {person: []string{"obeys: [team.conf]"}, nobody: []string{"obeys: [/etc/x]"}},
	"recursive_with":       {person: []string{"recursive_with: [--plain]"}},
	"writes_with":          {person: []string{"writes_with: [--plain]"}, nobody: []string{"writes_with: [--nosuch]"}},
	"deletes_with":         {person: []string{"deletes_with: [--plain]"}, nobody: []string{"deletes_with: [--nosuch]"}},
	"parents_with":         {person: []string{"parents_with: [--plain]"}, nobody: []string{"parents_with: [--nosuch]"}},
	"clears_with":          {person: []string{"clears_with: [--plain]"}, nobody: []string{"clears_with: [--nosuch]"}},
	"keeps_paths_with":     {org: []string{"keeps_paths_with: [--plain]"}},
	"unpacks_with":         {person: []string{"unpacks_with: [--plain]"}},
	"implicit":             {person: []string{"implicit: ['writes out.txt']"}},
	"inherent":             {person: []string{"inherent: ['connects https://example.com/']"}, nobody: []string{"inherent: [burns it]"}},
	"unknown":              {person: []string{"unknown: ask us"}},
	"unknown_if_changing":  {person: []string{"unknown_if_changing: ask us"}},
	"completes":            {person: []string{"completes: [.x]"}},
	"style":                {org: []string{"style: words"}},
	"numeric":              {org: []string{"numeric: true", "numeric: false"}},
	"unbundled":            {org: []string{"unbundled: true"}},
	"values_behind":        {org: []string{"values_behind: true"}},
	"dashless":             {org: []string{"dashless: true"}},
	"plus":                 {org: []string{"plus: true"}},
	"stop":                 {org: []string{"stop: true"}},
	"text":                 {org: []string{"text: true"}},
	"sub_optional":         {org: []string{"sub_optional: true"}},
	"aliases":              {org: []string{"aliases: {again: known}"}},
	"implies":              {org: []string{"implies: {--plain: [--dry]}"}},
	"include":              {nobody: []string{"include: [common]"}},
	"include_below":        {nobody: []string{"include_below: [common]"}},
	"archives_with":        {org: []string{"archives_with: [--plain]"}},
	"keeps_with":           {org: []string{"keeps_with: [--plain]"}},
	"unpacks_unless":       {org: []string{"unpacks_unless: [--plain]"}},
	"disturbs_with":        {org: []string{"disturbs_with: [--plain]"}},
	"interpreter":          {org: []string{"readonly: false, interpreter: other"}},
	"modules":              {org: []string{"modules: {x: known}"}},
	"described":            {org: []string{"described: [x]"}},
	"wrapper":              {org: []string{"readonly: false, wrapper: {}"}},
	"targets":              {org: []string{"targets: Makefile"}},
}

const knownProgram = `
groups: {common: {harmless: [--common]}}
programs:
  - names: [known]
    readonly: true
    readonly_operands: 2
    options: {harmless: ["-q --plain", "--dry"], writes: ["-o= --out="], reads: ["--in="]}
    operands: ["reads..."]
    sub_optional: true
    sub:
      - names: [one, uno]
        aliases: {eins: one}
        readonly: true
        options: {harmless: [-x]}
        operands: ["reads..."]
        sub: [{names: [deep], options: {reads: ["--x="]}}]
      - {names: ["two", "tw-*"], operands: ["deletes..."]}
`
