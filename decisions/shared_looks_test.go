package decisions

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
)

// looking returns an engine that looks at a file system and asks a clock, and decides
// without a cache.
func looking(t *testing.T, fsys effects.FS, now func() time.Time) *Engine {
	t.Helper()
	_, _, _, e := newFakes(t)
	e, err := e.With(func(c *Config) { c.FS, c.Now = fsys, now })
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func still() time.Time { return time.Unix(1_700_000_000, 0) }

// brief is what is compared of decisions.
func brief(list []*Decision) (out []Decision) {
	for _, d := range list {
		c := *d
		c.ID, c.CallID = "", ""
		out = append(out, c)
	}
	return out
}

const looksAt = "/home/ann/project"

// inProject is a command in looksAt.
func inProject(command string) *Request { return bashIn(looksAt, command) }

// manyCalls are calls whose operands are in a few folders.
func manyCalls(calls, operands int) (reqs []*Request) {
	for c := range calls {
		text := "cat"
		for o := range operands {
			text += fmt.Sprintf(" part%d/deep/file%d", o%4, (c+o)%16)
		}
		reqs = append(reqs, inProject(text))
	}
	return reqs
}

// TestCallsShareLooks: what the calls of one request look at is looked at once, and each is
// decided as by itself.
func TestCallsShareLooks(t *testing.T) {
	const calls, operands = 64, 16
	files := fsfake.New()
	for n := range 64 {
		files.File(fmt.Sprintf(looksAt+"/part%d/deep/file%d", n%4, n/4), "")
	}
	files.Link(looksAt+"/part3/deep/file3", "../../../.ssh/id_rsa")
	e := looking(t, files, still)
	before := files.Calls()
	var alone []*Decision
	for _, r := range manyCalls(calls, operands) {
		alone = append(alone, e.Decide(t.Context(), r)...)
	}
	apart := files.Calls() - before
	together := e.Decide(t.Context(), manyCalls(calls, operands)...)
	shared := files.Calls() - before - apart
	if diff := cmp.Diff(brief(alone), brief(together)); diff != "" {
		t.Errorf("(-alone +together)\n%.2000s", diff)
	}
	one := files.Calls()
	e.Decide(t.Context(), manyCalls(1, operands)...)
	one = files.Calls() - one
	t.Logf("%d looks for one call, %d for all by themselves, %d together", one, apart, shared)
	// 64 files in eight folders are all that there is to look at.
	if shared > 64+one {
		t.Errorf("%d looks of %d calls together, %d of one", shared, calls, one)
	}
}

// changingFS changes something when it has been looked at.
type changingFS struct {
	*fsfake.FS
	looked func(path string)
}

func (f *changingFS) Lstat(path string) (fs.FileMode, error) {
	mode, err := f.FS.Lstat(path)
	f.looked(path)
	return mode, err
}

// TestSharedLooksAreFresh: a call does not start with what another saw long before it, as
// when others went first: a link that somebody made in between is seen.
func TestSharedLooksAreFresh(t *testing.T) {
	const age = 100 * time.Millisecond // of what is shared, see lookups.Shared.ForgetOld
	for after, seen := range map[time.Duration]bool{age + 1: true, -time.Second: true, age: false} {
		files := fsfake.New("/home/ann/.ssh/id_rsa")
		files.Dir(looksAt + "/notes")
		now := still()
		looked := 0
		e := looking(t, &changingFS{files, func(path string) {
			if path == looksAt+"/notes/a" {
				if looked++; looked == 1 {
					files.Link(path, "/home/ann/.ssh/id_rsa")
					now = now.Add(after)
				}
			}
		}}, func() time.Time { return now })
		got := e.Decide(t.Context(), inProject("cat notes/a"), inProject("cat notes/a"))
		sees := func(d *Decision) bool { return strings.Contains(fmt.Sprint(d.Effects), "id_rsa") }
		if sees(got[0]) || sees(got[1]) != seen {
			t.Errorf("%v later: the first call sees the link %v, the second %v, want %v", after, sees(got[0]), sees(got[1]), seen)
		}
	}
}

// failingFS does not answer once.
type failingFS struct {
	*fsfake.FS
	path   string
	err    error
	failed int
}

func (f *failingFS) Lstat(path string) (fs.FileMode, error) {
	if path == f.path && f.failed == 0 {
		f.failed++
		return 0, f.err
	}
	return f.FS.Lstat(path)
}

// TestFailedLooksAreNotShared: only the call asks that could not look.
func TestFailedLooksAreNotShared(t *testing.T) {
	for _, err := range []error{&effects.NoAnswerError{Mount: "/mnt/x"}, syscall.EIO} {
		files := fsfake.New(looksAt + "/a")
		e := looking(t, &failingFS{files, looksAt + "/a", err, 0}, still)
		got := e.Decide(t.Context(), inProject("cat a"), inProject("cat a"))
		if got[0].Verdict != Ask || got[1].Verdict != Allow {
			t.Errorf("%v: %s, %s", err, got[0].Verdict, got[1].Verdict)
		}
	}
}
