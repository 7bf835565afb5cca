package rap

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/protocoldoc"
	"github.com/permd/permd/internal/toolschema"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/sockettest"
)

const document = "../../docs/protocol.md"

// TestDocumented compares the tables in docs/protocol.md with what is read and
// answered.
func TestDocumented(t *testing.T) {
	doc, err := protocoldoc.Read(document)
	if err != nil {
		t.Fatal(err)
	}
	table := func(section, head string) []string {
		names, err := doc.Table(section, head)
		if err != nil {
			t.Error(err)
		}
		return names
	}
	sockettest.Diff(t, MethodInvoke, protocoldoc.Members(reflect.TypeFor[invokeParams]()), table(MethodInvoke, "parameter"))
	result := protocoldoc.Members(reflect.TypeFor[invokeResult]())
	result = slices.DeleteFunc(result, func(s string) bool { return s == "" })
	sockettest.Diff(t, "result", result, table(MethodInvoke, "result"))
	sockettest.Diff(t, "outcomes", []string{string(Ask), string(Denied), string(outcomeInvalid), string(Run)}, table(MethodInvoke, "outcome"))
	sockettest.Diff(t, MethodChoice, protocoldoc.Members(reflect.TypeFor[choiceParams]()), table(MethodChoice, "parameter"))
	sockettest.Diff(t, "result of a choice", protocoldoc.Members(reflect.TypeFor[choiceResult]()), table(MethodChoice, "result"))
	sockettest.Diff(t, MethodCloseThread, protocoldoc.Members(reflect.TypeFor[closeParams]()), table(MethodCloseThread, "parameter"))
	sockettest.Diff(t, MethodCancel, protocoldoc.Members(reflect.TypeFor[cancelParams]()), table(MethodCancel, "parameter"))
	sockettest.Diff(t, MethodEnded, protocoldoc.Members(reflect.TypeFor[endedParams]()), table(MethodEnded, "parameter"))
	for _, want := range []string{fmt.Sprintf("at most %d.", maxAncestors), fmt.Sprintf("is over %d KiB long", toolschema.MaxSchemaBytes>>10)} {
		if !strings.Contains(string(doc), want) {
			t.Errorf("%s does not say %q", document, want)
		}
	}
}

// TestDocumentSamples sends the samples in docs/protocol.md, and expects the
// answers that they show; … matches anything.
func TestDocumentSamples(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```rap (\\w+)\n(.*?)\n```").FindAllStringSubmatch(string(text), -1) {
		samples[m[1]] = m[2]
	}
	if len(samples) != 9 {
		t.Fatalf("%d samples", len(samples))
	}
	fits := func(name, got string) {
		t.Helper()
		parts := strings.Split(samples[name], "…")
		for i, p := range parts {
			parts[i] = regexp.QuoteMeta(p)
		}
		if !regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(got) {
			t.Errorf("the sample %s is\n%s\nnot\n%s", name, got, samples[name])
		}
	}
	d := newDaemon(t)
	d.verdicts["list"] = decisions.Allow
	for i := range 6 {
		d.Must(t, MethodInvoke, invoked(fmt.Sprint("c", i), "pick_3", "list", ""))
	}
	fits("asked", ordered(t, d, MethodInvoke, samples["invoke"]))
	d.verdicts["purge_bin"], d.message = decisions.Deny, "bin C-17 is under audit hold"
	denied := strings.Replace(strings.Replace(samples["invoke"], "call_9f31", "call_9f32", 1), `"call_id":null,`, "", 1)
	fits("denied", ordered(t, d, MethodInvoke, denied))
	_, err = d.Call(t, MethodInvoke, strings.NewReplacer("call_9f31", "call_9f33", `"call_id":null,`, "", `"operation":"purge_bin",`, "").Replace(samples["invoke"]))
	refused, ok := errors.AsType[*socket.Error](err)
	if !ok {
		t.Fatalf("without an operation: %v", err)
	}
	fits("unreadable", fmt.Sprintf(`{"code":%d,"message":%q,"data":%s}`, refused.Code, refused.Message, refused.Data))
	d.label = "use warehouse:purge_bin (with these arguments)"
	fits("chosen", ordered(t, d, MethodChoice, samples["choice"]))
	d.verdicts["purge_bin"] = ""
	d.Must(t, MethodInvoke, strings.Replace(samples["invoke"], "call_9f31", "call_9f33", 1))
	if r := d.must(t, MethodCancel, strings.Replace(samples["cancel"], "call_9f31", "call_9f33", 1)); !*r.Cancelled {
		t.Error("not cancelled")
	}
	if got := d.Must(t, MethodEnded, samples["ended"]); got != `{"recorded":true}` {
		t.Error(got)
	}
	if r := d.must(t, MethodCloseThread, samples["close"]); !*r.Closed {
		t.Error("not closed")
	}
}
