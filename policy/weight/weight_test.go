package weight

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/source"
)

// TestAtTheLimit: what is as large as it may be fits, a byte more does not.
func TestAtTheLimit(t *testing.T) {
	for _, tt := range []struct {
		layer decisions.Layer
		list  bool
		most  int // bytes of text
	}{
		{decisions.Project, true, maxProject / perListByte},
		{decisions.User, false, maxLayer / perByte},
		{decisions.Org, false, maxLayer / perByte},
	} {
		for _, more := range []int{0, 1} {
			name := "a.rego"
			if tt.list {
				name = source.ListName
			}
			var ps diag.List
			e := Of(tt.layer)
			if got := e.AddText(&source.File{Name: name, Rel: name, Data: make([]byte, tt.most+more)}, &ps); got != (more == 0) || got == ps.Failed() {
				t.Errorf("%s, %d bytes more: %v, %v", tt.layer, more, got, ps)
			}
		}
	}
	var ps diag.List
	if !Of(decisions.Base).AddText(&source.File{Data: make([]byte, 1<<26)}, &ps) {
		t.Error("what permd ships is refused")
	}
	for _, more := range []int{0, 1} {
		files := []source.File{{Data: make([]byte, maxProjectText/2)}, {Data: make([]byte, maxProjectText/2+more)}}
		if err := CheckText(decisions.Project, files); (err == nil) != (more == 0) {
			t.Errorf("%d bytes more: %v", more, err)
		}
	}
}

// TestShared: a layer that is read anew takes the place of its former rules, and one that does
// not fit takes none.
func TestShared(t *testing.T) {
	var s Shared
	for i, tt := range []struct {
		layer decisions.Layer
		uid   uint32
		bytes int64
		want  bool
	}{
		{decisions.Org, 0, maxShared / 2, true},
		{decisions.User, 1, maxShared / 4, true},
		{decisions.User, 2, maxShared/4 + 1, false},
		{decisions.User, 2, maxShared / 4, true},
		{decisions.User, 1, maxShared / 8, true},
		{decisions.Project, 1, maxShared * 2, true},
		{decisions.Org, 0, maxShared/2 + maxShared/8, true},
		{decisions.Org, 0, maxShared, false},
	} {
		var ps diag.List
		if got := s.Fits(tt.layer, tt.uid, tt.bytes, &ps); got != tt.want || got == ps.Failed() {
			t.Errorf("%d: %v, %v", i, got, ps)
		}
	}
}

// TestDocumented compares the limits that config.md has with the constants.
func TestDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		fmt.Sprintf("| of the organisation, or of one person | %d MiB:", maxLayer>>20),
		fmt.Sprintf("| of the organisation and of all people | %d MiB |", maxShared>>20),
		fmt.Sprintf("| of one project, with the folders above it | %d MiB, in %d MiB of lists |", maxProject>>20, maxProjectText>>20),
		fmt.Sprintf("| of all projects | %d MiB:", MaxProjects>>20),
	} {
		if !strings.Contains(string(data), row) {
			t.Errorf("config.md does not say %q", row)
		}
	}
}

// TestLeaveFree tests that people who take as much as they can leave some for others.
func TestLeaveFree(t *testing.T) {
	s := Shared{LeaveFree: true}
	take := func(layer decisions.Layer, uid uint32, bytes int64) bool {
		return s.Fits(layer, uid, bytes, new(diag.List))
	}
	for uid, bytes := range []int64{maxShared / 2, maxShared / 4, maxShared / 8, maxShared / 16} {
		if take(decisions.User, uint32(uid), bytes+1) || !take(decisions.User, uint32(uid), bytes) {
			t.Errorf("person %d may not have exactly %d", uid, bytes)
		}
	}
	if !take(decisions.User, 0, maxShared/2) || !take(decisions.Org, 0, maxShared/16) {
		t.Error("what there is of it is not counted as it is")
	}
}
