package rap

import (
	"slices"
	"testing"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/toolschema"
	"github.com/permd/permd/socket/sockettest"
)

// FuzzInvocation: what is read from an invocation is within its bounds, and its
// chain is the document's.
func FuzzInvocation(f *testing.F) {
	for _, name := range []string{invokeSample, rootSample} {
		f.Add([]byte(with(`"toolset":`+sockettest.Sample(f, toolsetSample), sockettest.Sample(f, name))))
	}
	f.Add([]byte(invoked("c", "root/pick/pick_2", "purge", `"call_id":null,"width":"w2"`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if strictjson.Check(data) != nil {
			return
		}
		in, err := readInvocation(data)
		if err != nil {
			if len(err.Error()) > 400 {
				t.Errorf("the error is long: %.100s", err)
			}
			return
		}
		if in.Operation == "" || in.ID == "" || in.GroupID == "" || len(in.threads) > maxAncestors+1 || in.threads[len(in.threads)-1] != in.GroupID {
			t.Fatalf("%+v", in)
		}
		if sorted := slices.Sorted(slices.Values(in.threads)); len(slices.Compact(sorted)) != len(in.threads) || sorted[0] == "" {
			t.Fatalf("the chain is %q", in.threads)
		}
		if in.tool != nil && in.tool.Name != in.Operation {
			t.Fatalf("the tool of %q is %q", in.Operation, in.tool.Name)
		}
		invalid, defect := in.check(new(toolschema.Cache))
		r := in.request(nil)
		if invalid != "" && defect == nil || r.Call.Tool.Name != in.Operation || r.Call.Incomplete != "" {
			t.Fatalf("%q, %v, %+v", invalid, defect, r.Call)
		}
		if strictjson.Kind(r.Call.Input) != '{' && defect == nil {
			t.Fatalf("arguments %s", r.Call.Input)
		}
		s := &state{threads: map[string]*thread{}, known: map[callID]*usedID{}}
		l := s.addThreads(in.threads)
		if again := s.addThreads(in.threads); l.inconsistent || again.inconsistent || !slices.Equal(l.ancestors, again.ancestors) {
			t.Fatalf("%+v, then %+v", l, again)
		}
	})
}
