package toolschema

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/strictjson"
)

// checked is what is found, or why nothing is.
func checked(t *testing.T, schema, arguments string) string {
	t.Helper()
	for _, v := range []string{schema, arguments} {
		if err := strictjson.Check([]byte(v)); err != nil {
			t.Fatalf("the test's JSON is not valid: %v", err)
		}
	}
	problems, err := Check(strictjson.Value(schema), strictjson.Value(arguments))
	if err != nil {
		if _, ok := errors.AsType[*uncheckedError](err); !ok || problems != nil {
			t.Fatalf("problems %v, error %v", problems, err)
		}
		return "unchecked: " + strings.TrimPrefix(err.Error(), "checking the schema: ")
	}
	return Sentence(problems)
}

const purge = `{"type":"object","properties":{"bin":{"type":"string","pattern":"^[A-Z]-\\d+$"},"force":{"type":"boolean"},
	"mode":{"enum":["soft","hard"]},"list":{"type":"array","items":{"type":"integer","minimum":1},"maxItems":3,"uniqueItems":true}},"required":["bin"],"additionalProperties":false}`

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct{ schema, arguments, want string }{
		"it fits":                  {purge, `{"bin":"C-17","force":true,"mode":"hard","list":[1,2]}`, ""},
		"something is missing":     {purge, `{"force":true}`, `is missing "bin"`},
		"a value of another type":  {purge, `{"bin":7}`, `/bin: must be string`},
		"a pattern":                {purge, `{"bin":"seventeen"}`, `/bin: does not match the schema's pattern`},
		"a list of words":          {purge, `{"bin":"C-1","mode":"sudo"}`, `/mode: must be one of "soft", "hard"`},
		"an item":                  {purge, `{"bin":"C-1","list":[1,0,"x"]}`, `/list/1: is not in the schema's range; /list/2: must be integer`},
		"too many, and one twice":  {purge, `{"bin":"C-1","list":[1,2,3,3.0]}`, `/list: has an item twice; /list: must have at most 3 items`},
		"names of the caller's":    {purge, `{"bin":"C-1","tok_secret":1}`, `has a member that the schema does not have`},
		"values within them":       {`{"additionalProperties":{"type":"string"}}`, `{"tok_secret":1}`, `/*: must be string`},
		"an item of a list":        {`{"items":{"type":"string"}}`, `["a",1]`, `/1: must be string`},
		"one of several forms":     {`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":1}`, `/a: has none of the forms that the schema has for it`},
		"a reference":              {`{"$defs":{"w":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/w"}}}`, `{"a":1}`, `/a: must be string`},
		"a tree":                   {`{"type":"object","properties":{"left":{"$ref":"#"},"n":{"type":"integer"}}}`, `{"left":{"left":{"n":"x"}}}`, `/left/left/n: must be integer`},
		"draft 7":                  {`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"w":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/w"}}}`, `{"a":1}`, `/a: must be string`},
		"formats are not asserted": {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"uri"}}}`, `{"a":"no uri"}`, ""},
		"numbers are exact":        {`{"const":9007199254740993}`, `9007199254740992`, `has none of the values that the schema has for it`},
		"true takes everything":    {`true`, `{"a":1}`, ""},
		"false takes nothing":      {`false`, `{}`, "must not be there"},
		"no text of a number":      {`{"type":"number","multipleOf":0.1}`, `0.35`, "is not in the schema's range"},
		"names of members":         {`{"propertyNames":{"maxLength":3}}`, `{"long_secret":1}`, "has a member whose name the schema excludes"},
		"what depends":             {`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `is missing "b"`},

		"a text":                      {`"object"`, `{}`, "unchecked: it is neither an object nor true or false"},
		"no schema":                   {`{"type":"objekt"}`, `{}`, "unchecked: it is not a schema of a known draft"},
		"a draft's part":              {`{"$schema":"https://json-schema.org/draft/2020-12/meta/core","properties":{"a":{"type":"string"}}}`, `{"a":1}`, "unchecked: it is not a schema of a known draft"},
		"no word at all":              {`{"enum":[]}`, `1`, "has none of the values that the schema has for it"},
		"another draft":               {`{"$schema":"https://schemas.example.org/own"}`, `{}`, "unchecked: it is not a schema of a known draft"},
		"another document":            {`{"properties":{"a":{"$ref":"https://schemas.example.org/t?token=tok_secret"}}}`, `{"a":1}`, "unchecked: it refers to another document"},
		"a file":                      {`{"$ref":"file:///etc/passwd"}`, `{}`, "unchecked: it refers to another document"},
		"a file beside it":            {`{"$ref":"other.json"}`, `{}`, "unchecked: it refers to another document"},
		"a file beside its name":      {`{"$id":"file:///etc/x","properties":{"a":{"$ref":"passwd"}}}`, `{}`, "unchecked: it refers to another document"},
		"nowhere":                     {`{"$ref":"#/$defs/none"}`, `{}`, "unchecked: it is not a schema of a known draft"},
		"itself":                      {`{"$ref":"#"}`, `{}`, "unchecked: it refers to itself"},
		"itself by another":           {`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}`, `{}`, "unchecked: it refers to itself"},
		"a reference to be found out": {`{"$dynamicRef":"#x","$defs":{"x":{"$dynamicAnchor":"x"}}}`, `{}`, "unchecked: it has a reference that is resolved while it is checked"},
		"looking ahead":               {`{"pattern":"^(?=.*[0-9]).{8,}$"}`, `"x"`, "unchecked: it has a pattern that RE2 does not have"},
		"looking back":                {`{"pattern":"(a)\\1"}`, `"x"`, "unchecked: it has a pattern that RE2 does not have"},
		"a pattern of names":          {`{"patternProperties":{"(?!x)":{}}}`, `{}`, "unchecked: it has a pattern that RE2 does not have"},
		"another dialect":             {`{"pattern":"\\Aab\\z"}`, `"Aabz"`, "unchecked: it has a pattern that RE2 does not have"},
		"a class by name":             {`{"pattern":"[[:alpha:]]"}`, `"x"`, "unchecked: it has a pattern that RE2 does not have"},
		"an empty class":              {`{"pattern":"[]a]"}`, `"x"`, "unchecked: it has a pattern that RE2 does not have"},
		"flags":                       {`{"pattern":"(?i)ab"}`, `"x"`, "unchecked: it has a pattern that RE2 does not have"},
		"a pattern with a name":       {`{"pattern":"^(?<year>\\d{4})$"}`, `"2026"`, ""},
		"a class with a bracket":      {`{"pattern":"^[[\\]x-]+$"}`, `"[x]-"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, checked(t, tt.schema, tt.arguments)); d != "" {
				t.Error(d)
			}
		})
	}
}

func times(n int, sep string, f func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = f(i)
	}
	return strings.Join(parts, sep)
}

// ladder is a schema in which each step refers to the next twice.
func ladder(steps int, twice string) string {
	return `{"$ref":"#/$defs/s0","$defs":{` + times(steps, ",", func(i int) string {
		return fmt.Sprintf(`"s%d":%s`, i, strings.ReplaceAll(twice, "NEXT", fmt.Sprintf(`{"$ref":"#/$defs/s%d"}`, i+1)))
	}) + fmt.Sprintf(`,"s%d":{"type":"string"}}}`, steps)
}

func constant(s string) func(int) string { return func(int) string { return s } }

// TestHostile: what somebody may write to keep permd busy, or to have it give up.
// Each would take minutes, or for ever, or a stack without end.
func TestHostile(t *testing.T) {
	long := strings.Repeat("x", 64<<10)
	for name, tt := range map[string]struct{ schema, arguments, want string }{
		"any of two, 40 times":      {ladder(40, `{"anyOf":[NEXT,NEXT]}`), `{}`, "it would take too long"},
		"all of two, 40 times":      {ladder(40, `{"allOf":[NEXT,NEXT]}`), `{}`, "it would take too long"},
		"one of two, 40 times":      {ladder(40, `{"oneOf":[NEXT,NEXT]}`), `{}`, "it would take too long"},
		"not and if, 40 times":      {ladder(40, `{"not":NEXT,"if":NEXT,"else":NEXT}`), `{}`, "it would take too long"},
		"what depends, 40 times":    {ladder(40, `{"dependentSchemas":{"a":NEXT,"b":NEXT}}`), `{"a":1,"b":1}`, "it would take too long"},
		"names twice, 40 deep":      {ladder(40, `{"properties":{"a":NEXT},"patternProperties":{"a":NEXT}}`), strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), "it would take too long"},
		"unevaluated, 40 times":     {ladder(40, `{"allOf":[NEXT,NEXT],"unevaluatedProperties":NEXT}`), `{"a":1}`, "it would take too long"},
		"a chain":                   {ladder(200, `{"allOf":[NEXT]}`), `{}`, "it would take too long"},
		"10,000 forms":              {`{"anyOf":[` + times(10_000, ",", constant(`{}`)) + `]}`, `{}`, "it has more than 2000 schemas"},
		"10,000 values":             {`{"x":[` + times(10_000, ",", constant(`"x"`)) + `]}`, `{}`, "it has more than 10000 values"},
		"a long list of words":      {`{"enum":[` + times(10_000, ",", func(i int) string { return fmt.Sprint(i) }) + `]}`, `7`, "it has more than 10000 values"},
		"many schemas on many":      {`{"items":{"anyOf":[` + times(900, ",", func(i int) string { return fmt.Sprintf(`{"maxLength":%d}`, i) }) + `]}}`, `[` + times(9_000, ",", constant(`"xxxxxxxxxxxxxxxxxxxxx"`)) + `]`, "it would take too long"},
		"words on many":             {`{"items":{"enum":[` + times(5_000, ",", func(i int) string { return fmt.Sprint(i) }) + `]}}`, `[` + times(9_000, ",", constant("1.5")) + `]`, "it would take too long"},
		"depth":                     {strings.Repeat(`{"not":`, 100) + "{}" + strings.Repeat("}", 100), `{}`, "it is nested deeper than 64 levels"},
		"size":                      {`{"title":"` + strings.Repeat(long, 2) + `"}`, `{}`, "it is longer than 128 KiB"},
		"long names":                {`{"` + long[:32<<10] + `":{"properties":{` + times(60, ",", func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}}`, `{}`, "its names are too long"},
		"references":                {`{"allOf":[` + times(300, ",", func(i int) string { return fmt.Sprintf(`{"$ref":"#/x/%d"}`, i) }) + `],"x":[` + times(300, ",", constant(`{}`)) + `]}`, `{}`, "it has more than 256 references"},
		"a long pattern":            {`{"pattern":"` + strings.Repeat("a", 600) + `"}`, `"a"`, "it has a pattern that is longer than 512 bytes"},
		"a repeated pattern":        {`{"pattern":"` + strings.Repeat("a{900}", 20) + `"}`, `"a"`, "it has a pattern that is too large"},
		"patterns":                  {`{"allOf":[` + times(30, ",", constant(`{"pattern":"(ab){500}"}`)) + `]}`, `"a"`, "its patterns are too large"},
		"a pattern and a long text": {`{"pattern":"^(a|b|ab|[a-z]x){100}$"}`, `"` + strings.Repeat(long, 8) + `"`, "it would take too long"},
		"a catastrophic pattern":    {`{"pattern":"^(a+)+$"}`, `"` + strings.Repeat("a", 30_000) + `!"`, "-"},
		"a large exponent":          {`{"maximum":1e999999999}`, `1`, "it has a number of more than 300 digits"},
		"a large number":            {`{"maximum":1}`, strings.Repeat("9", 10_000), "it has a number of more than 300 digits"},
		"an exponent in arguments":  {`{"maximum":1}`, `-1E-400000`, "it has a number of more than 300 digits"},
		"large arguments":           {`{}`, `[` + times(30_000, ",", constant("1")) + `]`, "the arguments have more than 20000 values"},
		"long arguments":            {`{}`, `"` + strings.Repeat(long, 17) + `"`, "the arguments are longer than 1024 KiB"},
		"a name twice":              {`{"$id":"https://a.example/x","$defs":{"a":{"$id":"https://a.example/x"}}}`, `{}`, "it is not a schema of a known draft"},
		"its own draft":             {`{"$schema":"urn:permd:schema"}`, `{}`, "it is not a schema of a known draft"},
	} {
		t.Run(name, func(t *testing.T) {
			want := "unchecked: " + tt.want
			if tt.want == "-" {
				want = "does not match the schema's pattern"
			}
			if d := cmp.Diff(want, checked(t, tt.schema, tt.arguments)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestLarge: what real tools have is checked.
func TestLarge(t *testing.T) {
	schema := `{"type":"object","additionalProperties":false,"properties":{` + times(150, ",", func(i int) string {
		return fmt.Sprintf(`"p%d":{"description":%q,"anyOf":[{"type":"array","items":{"enum":["a","b","c"]}},{"type":"null"}]}`, i, strings.Repeat("words ", 40))
	}) + `}}`
	arguments := `{` + times(150, ",", func(i int) string { return fmt.Sprintf(`"p%d":["a","b"]`, i) }) + `}`
	if got := checked(t, schema, arguments); got != "" {
		t.Error(got)
	}
	if got := checked(t, schema, strings.Replace(arguments, `"b"`, `"x"`, 1)); got != "/p0: has none of the forms that the schema has for it" {
		t.Error(got)
	}
}

// TestBounds: at a bound it is checked, over it not.
func TestBounds(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"not":`, n) + "{}" + strings.Repeat("}", n) }
	if got := checked(t, nested(maxSchemaDepth-3), `1`); strings.HasPrefix(got, "unchecked") {
		t.Error(got)
	}
	number := strings.Repeat("9", maxNumber)
	if got := checked(t, `{"minimum":`+number+`}`, number); got != "" {
		t.Error(got)
	}
	problems, err := Check(strictjson.Value(`{"items":{"type":"string"}}`), strictjson.Value(`[`+times(100, ",", constant("1"))+`]`))
	if err != nil || len(problems) != maxProblems {
		t.Errorf("%d problems, %v", len(problems), err)
	}
}

// TestNothingIsRepeated: of values and names of the arguments nothing is in the
// text, nor of the schema in an error.
func TestNothingIsRepeated(t *testing.T) {
	const canary = "tok_canary"
	for _, schema := range []string{
		`{"type":"string"}`, `{"properties":{"a":{"type":"object"}}}`, `{"properties":{"a":{"const":"x"}}}`, `{"properties":{"a":{"enum":["x"]}}}`,
		`{"properties":{"a":{"pattern":"^x$"}}}`, `{"additionalProperties":false}`, `{"additionalProperties":{"type":"null"}}`, `{"propertyNames":{"maxLength":1}}`,
		`{"patternProperties":{"tok":false}}`, `{"not":{}}`, `{"maxProperties":0}`, `{"properties":{"a":{"maxLength":1}}}`, `{"dependentRequired":{"a":["b"]}}`,
	} {
		got := checked(t, schema, `{"a":"`+canary+`","`+canary+`":{"`+canary+`":1}}`)
		if got == "" || strings.Contains(got, canary) {
			t.Errorf("%s: %s", schema, got)
		}
	}
	for _, schema := range []string{
		`{"type":"` + canary + `"}`, `{"$ref":"https://x.example/?t=` + canary + `"}`, `{"$ref":"#/` + canary + `"}`, `{"pattern":"(?=` + canary + `)"}`,
		`{"$schema":"https://x.example/` + canary + `"}`, `{"$id":"::` + canary + `"}`,
	} {
		if got := checked(t, schema, `{}`); !strings.HasPrefix(got, "unchecked") || strings.Contains(got, canary) {
			t.Errorf("%s: %s", schema, got)
		}
	}
}

// TestPanic: what the library cannot take is not checked.
func TestPanic(t *testing.T) {
	problems, err := recoverPanic(func() ([]Problem, error) { panic("canary") })
	if _, ok := errors.AsType[*uncheckedError](err); !ok || problems != nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("%v, %v", problems, err)
	}
}

// FuzzCheck: whatever it is given, it ends, and says the same again.
func FuzzCheck(f *testing.F) {
	f.Add(purge, `{"bin":"C-17"}`)
	f.Add(ladder(30, `{"anyOf":[NEXT,NEXT]}`), `{}`)
	f.Add(`{"items":{"$ref":"#"},"uniqueItems":true,"contains":{"multipleOf":3}}`, `[[1],[[2]]]`)
	f.Add(`{"$schema":"http://json-schema.org/draft-04/schema#","id":"x","minimum":1,"exclusiveMinimum":true}`, `1`)
	f.Fuzz(func(t *testing.T, schema, arguments string) {
		if strictjson.Check([]byte(schema)) != nil || strictjson.Check([]byte(arguments)) != nil {
			return
		}
		first, err := Check(strictjson.Value(schema), strictjson.Value(arguments))
		again, err2 := Check(strictjson.Value(schema), strictjson.Value(arguments))
		if (err == nil) != (err2 == nil) || !cmp.Equal(first, again) {
			t.Errorf("%v, %v, then %v, %v", first, err, again, err2)
		}
		if err != nil && len(err.Error()) > 200 || len(first) > maxProblems {
			t.Errorf("%v, %v", first, err)
		}
	})
}
