package shadow

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzParse: a report that was kept, and damaged, is an error or one that can be shown and kept
// again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":1,"folder":"/f","layer":"user","rules":2,"since":"2026-01-02T03:04:05Z","compared":3,"different":1,"notCompared":[{"why":"w","count":1}],
		"groups":[{"from":"allow","to":"deny","rule":"r","was":"w","count":1,"first":"2026-01-02T03:04:05Z","last":"2026-01-02T03:04:05Z","examples":[{"decisionId":"1","time":"2026-01-02T03:04:05Z","call":"ls","reason":"no"}]},null]}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`{"version":1,"groups":[null],"notCompared":null,"notKept":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parse(data)
		if err != nil {
			return
		}
		for _, g := range r.Groups {
			if g == nil {
				t.Fatal("a group is missing")
			}
		}
		kept, err := json.Marshal(r)
		if err != nil {
			t.Skip("a time that JSON cannot say, which is written as a failure")
		}
		again, err := parse(kept)
		if err != nil {
			t.Fatalf("%s is read, but not %s: %v", data, kept, err)
		}
		if last, err := json.Marshal(again); err != nil || !reflect.DeepEqual(kept, last) {
			t.Errorf("%s becomes %s", kept, last)
		}
	})
}
