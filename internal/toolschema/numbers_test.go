package toolschema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/strictjson"
)

// TestHostileNumbers: the library converts a number to a fraction each time it uses it,
// which takes seconds for long ones.
func TestHostileNumbers(t *testing.T) {
	large := strings.Repeat("9", 290) + "e299"
	small := strings.Repeat("7", 250) + "e-299"
	many := func(n int) string { return "[" + times(n, ",", constant(large)) + "]" }
	const tooLong = "unchecked: it would take too long"
	for name, tt := range map[string]struct{ schema, arguments, want string }{
		"bounds":              {`{"items":{"allOf":[` + times(20, ",", func(i int) string { return fmt.Sprintf(`{"minimum":%d,"maximum":%s}`, i, large) }) + `]}}`, many(1_500), tooLong},
		"parts":               {`{"items":{"multipleOf":` + small + `}}`, many(3_000), tooLong},
		"parts of short ones": {`{"items":{"allOf":[` + times(40, ",", func(i int) string { return fmt.Sprintf(`{"multipleOf":%d%s}`, i+1, small) }) + `]}}`, `[` + times(600, ",", constant("1")) + `]`, tooLong},
		"a list":              {`{"items":{"enum":[` + times(60, ",", func(i int) string { return fmt.Sprintf("%d%s", i+1, large) }) + `]}}`, many(1_500), tooLong},
		"a list, and short":   {`{"items":{"enum":[` + times(60, ",", func(i int) string { return fmt.Sprintf("%d%s", i+1, large) }) + `]}}`, `[` + times(1_500, ",", constant("1")) + `]`, tooLong},
		"within what is listed": {`{"items":{"enum":[{"a":[` + times(300, ",", constant(large)) + `]}]}}`,
			`[` + times(1_000, ",", constant(`{"a":[1]}`)) + `]`, tooLong},
		"one that is wanted": {`{"items":{"const":[` + times(300, ",", constant(large)) + `]}}`, `[` + times(1_000, ",", constant(`[1]`)) + `]`, tooLong},
		"plain ones":         {`{"items":{"minimum":0,"maximum":100,"multipleOf":0.5,"enum":[1,1.5,2]}}`, `[` + times(9_000, ",", constant("1.5")) + `]`, ""},
		"the largest":        {`{"maximum":1.7976931348623157e308,"exclusiveMinimum":5e-324}`, `5`, ""},
		"texts":              {`{"items":{"enum":["a",` + large + `]}}`, `[` + times(900, ",", constant(`"a"`)) + `]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, checked(t, tt.schema, tt.arguments)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestCacheSize: the computed size of a schema includes all values in it, not only those
// that may be schemas.
func TestCacheSize(t *testing.T) {
	for name, tt := range map[string]struct {
		schema string
		most   int // of them that are kept at a time
	}{
		"words":    {`"enum":[` + times(8_000, ",", func(i int) string { return fmt.Sprintf("%q", fmt.Sprint(i)) }) + `]`, 16},
		"patterns": {`"allOf":[` + times(40, ",", constant(`{"pattern":"(ab){50}"}`)) + `]`, 8},
	} {
		var c Cache
		for i := range 20 {
			schema := fmt.Sprintf(`{"title":"%d",%s}`, i, tt.schema)
			if _, err := c.Check(strictjson.Value(schema), strictjson.Value(`7`)); err != nil {
				t.Fatal(err)
			}
			if len(c.schemas) > tt.most || c.size > maxCacheBytes {
				t.Fatalf("%s: %d are kept, of %d bytes", name, len(c.schemas), c.size)
			}
		}
	}
}

// TestManyProblems: of many problems the first ones are reported, each once.
func TestManyProblems(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it checks values with thousands of problems")
	}
	want := "/a/0: must be string; /a/1: must be string; /a/10: must be string; /a/100: must be string; /a/1000: must be string; /a/1001: must be string; /a/1002: must be string; /a/1003: must be string"
	if d := cmp.Diff(want, checked(t, `{"properties":{"a":{"items":{"allOf":[{"type":"string"},{"type":"string"}]}}}}`, `{"a":[`+times(9_000, ",", constant("1"))+`]}`)); d != "" {
		t.Error(d)
	}
	members := `{` + times(5_000, ",", func(i int) string { return fmt.Sprintf(`"k%d":{"in":1}`, i) }) + `}`
	if d := cmp.Diff("/*/in: must be string", checked(t, `{"additionalProperties":{"properties":{"in":{"type":"string"}}}}`, members)); d != "" {
		t.Error(d)
	}
}
