package native

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocumented compares the tables of parameters in docs/protocol.md with
// what the methods read.
func TestDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([a-zA-Z]+)` \\|")
	for method, params := range map[string]reflect.Type{
		MethodSession: reflect.TypeFor[sessionParams](), MethodClose: reflect.TypeFor[closeParams](),
		MethodDecide: reflect.TypeFor[decideParams](), MethodChoose: reflect.TypeFor[chooseParams](),
	} {
		_, section, ok := strings.Cut(string(data), "\n## "+method+"\n")
		if !ok {
			t.Errorf("%s is not documented", method)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		var got, want []string
		for _, m := range row.FindAllStringSubmatch(section, -1) {
			got = append(got, m[1])
		}
		for f := range params.Fields() {
			want = append(want, f.Tag.Get("json"))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: documented are %v, read are %v", method, got, want)
		}
	}
}
