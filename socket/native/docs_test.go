package native

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/protocoldoc"
)

// TestDocumented compares the tables of parameters in docs/protocol.md with
// what the methods read.
func TestDocumented(t *testing.T) {
	doc, err := protocoldoc.Read("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for method, params := range map[string]reflect.Type{
		MethodSession: reflect.TypeFor[sessionParams](), MethodClose: reflect.TypeFor[closeParams](),
		MethodDecide: reflect.TypeFor[decideParams](), MethodChoose: reflect.TypeFor[chooseParams](),
		methodFinished: reflect.TypeFor[finishedParams](), methodDenied: reflect.TypeFor[deniedParams](),
	} {
		got, err := doc.Table(method, "parameter")
		if err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(protocoldoc.Members(params), got); d != "" {
			t.Errorf("%s (-read +documented):\n%s", method, d)
		}
	}
}
