package otc

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/protocoldoc"
	"github.com/permd/permd/socket/sockettest"
)

// TestDocumented compares the tables in docs/protocol.md with what is read and
// answered, and the samples there with the code.
func TestDocumented(t *testing.T) {
	const path = "../../docs/protocol.md"
	doc, err := protocoldoc.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	table := func(head string) []string {
		names, err := doc.Table(MethodCall, head)
		if err != nil {
			t.Error(err)
		}
		return names
	}
	params := append(protocoldoc.Members(reflect.TypeFor[paramsWire]()), protocoldoc.Members(reflect.TypeFor[callWire]())...)
	slices.Sort(params)
	sockettest.Diff(t, "parameters", params, table("parameter"))
	sockettest.Diff(t, "result", protocoldoc.Members(reflect.TypeFor[Answer]()), table("result"))
	sockettest.Diff(t, "outcomes", []string{string(Ask), string(Denied), string(outcomeInvalid), string(Run), string(outcomeUnmet)}, table("outcome"))

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n## "+MethodCall+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if bound := fmt.Sprintf("keeps the newest %d ids", maxCalls); !strings.Contains(section, bound) {
		t.Errorf("it does not say %q", bound)
	}
	_, samples, _ := strings.Cut(section, "```otc\n")
	samples, _, _ = strings.Cut(samples, "```")
	d := newDaemon(t)
	d.verdicts["Send"], d.message = decisions.Deny, "not at night"
	lines := strings.Split(strings.TrimSpace(samples), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d samples", len(lines))
	}
	d.Must(t, "permd/session", `{"sessionId":"s1","cwd":"/home/ana/shop"}`)
	d.call(t, lines[1])
	got := d.Must(t, MethodCall, lines[0])
	_, answer, _ := strings.Cut(section, "```otc result\n")
	answer, _, _ = strings.Cut(answer, "```")
	parts := strings.Split(strings.ReplaceAll(strings.TrimSpace(answer), "d7", "d2"), "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	if !regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(got) {
		t.Errorf("the answer is\n%s, documented is\n%s", got, answer)
	}
}
