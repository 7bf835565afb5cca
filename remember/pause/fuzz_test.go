package pause

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
)

// FuzzFile: what is read of a file is what permd could have stored, whatever the file says
// below a sum that fits.
func FuzzFile(f *testing.F) {
	for _, list := range [][]Setting{
		nil,
		{{Locked: true}},
		{{For: time.Hour, Start: "b", Uptime: time.Minute, Only: []decisions.Activity{decisions.Activities[0]}}},
	} {
		data, err := format(list)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[len(firstLine(nil))+1:])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		list, err := parse(append([]byte(firstLine(body)+"\n"), body...))
		if err != nil {
			return
		}
		for i := range list {
			if !list[i].valid() {
				t.Errorf("read: %+v", list[i])
			}
		}
		data, err := format(list)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parse(data)
		if diff := cmp.Diff(list, again); err != nil || len(list) > 0 && diff != "" {
			t.Errorf("stored and read again: %v (-want +got)\n%s", err, diff)
		}
	})
}
