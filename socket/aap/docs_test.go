package aap

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocumented compares the tables in docs/protocol.md with what is read.
func TestDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([a-zA-Z]+)` \\|")
	table := func(section, head string) (names []string) {
		_, rest, ok := strings.Cut(string(data), "\n## "+section+"\n")
		if ok {
			rest, _, _ = strings.Cut(rest, "\n## ")
			_, rest, ok = strings.Cut(rest, "\n| "+head+" |")
		}
		if !ok {
			t.Errorf("%s has no table of %s", section, head)
		}
		rest, _, _ = strings.Cut(rest, "\n\n")
		for _, m := range row.FindAllStringSubmatch(rest, -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		return names
	}
	members := func(of reflect.Type) (names []string) {
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	diff(t, MethodPermissions, members(reflect.TypeFor[permissionsParams]()), table(MethodPermissions, "parameter"))
	diff(t, MethodAnswer, members(reflect.TypeFor[answerParams]()), table(MethodAnswer, "parameter"))
	result := members(reflect.TypeFor[Result]())
	result = slices.DeleteFunc(result, func(s string) bool { return s == "stored" }) // of aap/answer alone
	diff(t, "result", result, table(MethodPermissions, "result"))
	diff(t, "outcomes", []string{string(Ask), string(Denied), string(Execute), string(Granted), string(Skip)}, table(MethodPermissions, "outcome"))
	for _, bound := range []string{fmt.Sprint("more than ", MaxCalls, " waiting calls"), fmt.Sprintf("At most %d batches and %d MiB", MaxBatches, MaxBatchBytes>>20)} {
		if !strings.Contains(string(data), bound) {
			t.Errorf("docs/protocol.md does not say %q", bound)
		}
	}
}
