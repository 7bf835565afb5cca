package aap

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/permd/permd/internal/protocoldoc"
	"github.com/permd/permd/socket/sockettest"
)

// TestDocumented compares the tables in docs/protocol.md with what is read.
func TestDocumented(t *testing.T) {
	doc, err := protocoldoc.Read("../../docs/protocol.md")
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
	sockettest.Diff(t, MethodPermissions, protocoldoc.Members(reflect.TypeFor[permissionsParams]()), table(MethodPermissions, "parameter"))
	sockettest.Diff(t, MethodAnswer, protocoldoc.Members(reflect.TypeFor[answerParams]()), table(MethodAnswer, "parameter"))
	sockettest.Diff(t, MethodRan, protocoldoc.Members(reflect.TypeFor[ranParams]()), table(MethodRan, "parameter"))
	sockettest.Diff(t, "result of aap/ran", protocoldoc.Members(reflect.TypeFor[RanResult]()), table(MethodRan, "result"))
	sockettest.Diff(t, "result", protocoldoc.Members(reflect.TypeFor[Result]()), table(MethodPermissions, "result"))
	sockettest.Diff(t, "outcomes", []string{string(Ask), string(Denied), string(Execute), string(Granted), string(Skip)}, table(MethodPermissions, "outcome"))
	for _, bound := range []string{fmt.Sprint("more than ", maxCalls, " waiting calls"), fmt.Sprintf("at most %d and %d MiB", maxBatches, maxBatchBytes>>20)} {
		if !strings.Contains(string(doc), bound) {
			t.Errorf("docs/protocol.md does not say %q", bound)
		}
	}
}
