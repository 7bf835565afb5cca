package decisions

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSessionsBelongToTheirConnection(t *testing.T) {
	s := &Sessions{FindProject: func(_ uint32, cwd string) string { return cwd + "/.." }}
	mine, other := Owner{UID: 1, Conn: 1}, Owner{UID: 1, Conn: 2}
	ses, err := s.Declare(mine, Declaration{ID: "a", Cwd: "/p"})
	if err != nil {
		t.Fatal(err)
	}
	if ses.Project != "/p/.." {
		t.Errorf("project %q", ses.Project)
	}
	if s.Get(other, "a") != nil {
		t.Error("another connection sees the session")
	}
	if s.Close(other, "a") {
		t.Error("another connection closed the session")
	}
	if s.Get(mine, "a") != ses || s.Len() != 1 {
		t.Error("the session is gone")
	}
	s.Disconnect(mine)
	if s.Get(mine, "a") != nil || s.Len() != 0 {
		t.Error("the session outlived its connection")
	}
}

func TestSessionAncestors(t *testing.T) {
	s := &Sessions{}
	o := Owner{Conn: 1}
	declare := func(id, parent string) (*Session, error) {
		return s.Declare(o, Declaration{ID: id, Parent: parent})
	}
	for i := range maxAncestors + 1 {
		parent := ""
		if i > 0 {
			parent = fmt.Sprint(i - 1)
		}
		if _, err := declare(fmt.Sprint(i), parent); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"1", "0"}, s.Get(o, "2").Ancestors); diff != "" {
		t.Error(diff)
	}
	for name, tt := range map[string][2]string{
		"unknown parent": {"x", "nobody"},
		"own parent":     {"x", "x"},
		"too deep":       {"x", fmt.Sprint(maxAncestors)},
		"a circle":       {"0", "2"},
	} {
		if _, err := declare(tt[0], tt[1]); err == nil {
			t.Errorf("%s: declared", name)
		}
	}
}

func TestSessionBounds(t *testing.T) {
	s := &Sessions{}
	o := Owner{Conn: 1}
	for name, d := range map[string]Declaration{
		"no id":         {},
		"long id":       {ID: strings.Repeat("x", maxName+1)},
		"relative cwd":  {ID: "a", Cwd: "p"},
		"relative root": {ID: "a", Roots: []string{"p"}},
		"long cwd":      {ID: "a", Cwd: "/" + strings.Repeat("x", 4096)},
		"many roots":    {ID: "a", Roots: make([]string, maxRoots+1)},
	} {
		if _, err := s.Declare(o, d); err == nil {
			t.Errorf("%s: declared", name)
		}
	}
	for i := range MaxSessions {
		if _, err := s.Declare(o, Declaration{ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Declare(o, Declaration{ID: "one more"}); !errors.Is(err, ErrSessions) {
		t.Errorf("over the limit: %v", err)
	}
	if _, err := s.Declare(o, Declaration{ID: "0"}); err != nil {
		t.Errorf("declaring one again at the limit: %v", err)
	}
}

// TestFormerPlaces: a session that is declared again with another folder keeps its
// former folders, one for each project, up to a bound.
func TestFormerPlaces(t *testing.T) {
	s := &Sessions{FindProject: func(_ uint32, cwd string) string { return strings.TrimSuffix(cwd, "/src") }}
	o := Owner{Conn: 1}
	declare := func(cwd string) (places []string) {
		ses, err := s.Declare(o, Declaration{ID: "a", Cwd: cwd, Roots: []string{"/r"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range ses.Former {
			places = append(places, f.Cwd)
			if f.Former != nil || f.Roots != nil || f.ID != "a" {
				t.Errorf("what is kept: %+v", f)
			}
		}
		return places
	}
	for _, step := range []struct {
		cwd  string
		want []string
	}{
		{"/p", nil},
		{"/p/src", nil}, // of the same project
		{"/q", []string{"/p/src"}},
		{"/r", []string{"/q", "/p/src"}},
		{"/p", []string{"/r", "/q"}},
	} {
		if diff := cmp.Diff(step.want, declare(step.cwd)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.cwd, diff)
		}
	}
	for i := range 3 * MaxFormer {
		declare(fmt.Sprint("/p", i))
	}
	if got := declare("/last"); len(got) != MaxFormer || got[0] != fmt.Sprint("/p", 3*MaxFormer-1) {
		t.Errorf("%d places are kept, the latest is %s", len(got), got[0])
	}
}
