package paths

import (
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects/fsfake"
)

// slowFS takes some time for each folder.
type slowFS struct {
	*stampedFS
	clock time.Time
}

const slowness = 100 * time.Millisecond

func (s *slowFS) Stamp(p string) (Stamp, error) {
	s.clock = s.clock.Add(slowness)
	return s.stampedFS.Stamp(p)
}

func (s *slowFS) Names(p string, limit int) ([]fs.DirEntry, error) {
	s.clock = s.clock.Add(slowness)
	return s.stampedFS.Names(p, limit)
}

// TestSurveySlow: a survey of folders on a slow file system ends in time, says that it
// is not complete, and has the rest read in the background.
func TestSurveySlow(t *testing.T) {
	f := &slowFS{&stampedFS{FS: fsfake.New("/p/z/.env"), stamp: Stamp{File: 1}}, time.Unix(1e9, 0)}
	for i := range maxListed / 2 {
		f.Dir(fmt.Sprintf("/p/%03d", i))
	}
	x := NewIndex(f, func() time.Time { return f.clock })
	var tasks []func()
	x.Background = func(task func()) { tasks = append(tasks, task) }
	survey := func(step string) {
		t.Helper()
		began := f.clock
		s := x.Survey("/p", "/p")
		if took := f.clock.Sub(began); !s.Incomplete || took > maxSurvey+2*slowness {
			t.Errorf("%s: it took %v, incomplete %v", step, took, s.Incomplete)
		}
	}
	survey("first")
	if len(tasks) != 1 {
		t.Fatalf("%d tasks", len(tasks))
	}
	tasks[0]()
	survey("when all was read") // it compares the stamps, which takes as long
	if got := x.Survey("/p", "/p").Secrets; len(got) != 1 {
		t.Errorf("secrets %q", got)
	}
}
