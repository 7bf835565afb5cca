package policy

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/policy/source"
)

// noFiles is a file system that holds nothing that these tests ask for.
type noFiles struct{ *fsfake.FS }

func (noFiles) Stamp(string) (paths.Stamp, error)       { return paths.Stamp{}, os.ErrNotExist }
func (noFiles) Identity(string) (paths.Identity, error) { return paths.Identity{}, os.ErrNotExist }

// other makes a second project with rules.
func (w *world) other(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(w.root, "home/work/other")
	policytest.Write(t, dir, map[string]string{".permd/rules.yaml": "deny:\n  run: [rm]\n"})
	return dir
}

// TestProjectDoesNotAnswer has a project whose folder of rules cannot be read to its
// end. Its calls ask; everything else goes on.
func TestProjectDoesNotAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for seconds; TestWatchStuck is the quick one")
	}
	t.Parallel()
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "allow", "ls", "listing")})
	policytest.Write(t, w.project, map[string]string{".permd/rules.yaml": "deny:\n  run: [rm]\n"})
	other := w.other(t)
	dead, stop := filepath.Join(w.project, ".permd"), make(chan struct{})
	w.opts.Files = mounts.Of(noFiles{fsfake.New()})
	defer func() {
		close(stop)
		eventually.Holds(t, "no reading that hangs", func() bool { return w.opts.Files.Stuck() == nil })
	}()
	w.opts.readDir = func(dir string, rules source.Access) (*source.Tree, error) {
		if dir == dead {
			<-stop
		}
		return source.Read(dir, rules)
	}
	s := w.open(t)
	prepared := make(chan error, 1)
	go func() { prepared <- s.Prepare(t.Context(), s.opts.UID, w.project) }()

	if err := s.Prepare(t.Context(), s.opts.UID, other); err != nil {
		t.Fatal(err)
	}
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "ls", "no more")})
	policytest.Age(t, w.user)
	reloaded := make(chan struct{})
	go func() { defer close(reloaded); _, _ = s.Reload(t.Context()) }()
	eventually.Holds(t, "the new deny", func() bool { return slices.Contains(reasons(t, s, other, "ls"), "user deny no more") })
	if err := <-prepared; err == nil || !strings.Contains(err.Error(), "does not answer: "+dead) {
		t.Errorf("preparing: %v", err)
	}
	got := reasons(t, s, w.project, "ls")
	if len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "error: ") {
		t.Errorf("the project that cannot be read: %q", got)
	}
	stuck := w.opts.Files.Stuck()
	if len(stuck) != 1 || stuck[0].Mount != dead {
		t.Errorf("stuck: %+v", stuck)
	}
	// No further thread waits, and nobody for those that do.
	<-reloaded
	s.delays.load = 10 * time.Millisecond
	for range 5 {
		_ = s.Prepare(t.Context(), s.opts.UID, w.project)
	}
	if stuck := w.opts.Files.Stuck(); stuck[0].Looks > 2 {
		t.Errorf("stuck: %+v", stuck)
	}
}

// bearable is much longer than what is measured takes on a quiet machine, and much
// shorter than it would take if one project delayed the others.
const bearable = 5 * loadTimeout

// TestBusyProject has a project whose rules change all the time.
func TestBusyProject(t *testing.T) {
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "allow", "ls", "listing")})
	policytest.Write(t, w.project, map[string]string{".permd/rules.yaml": "deny:\n  run: [rm]\n"})
	other := w.other(t)
	s := w.watched(t)
	// change prepares the other project and changes the user's rules.
	change := func(reason string, reload bool) (prepared, used time.Duration) {
		begun := time.Now()
		if err := s.Prepare(t.Context(), s.opts.UID, other); err != nil {
			t.Fatal(err)
		}
		prepared = time.Since(begun)
		policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "ls", reason)})
		begun = time.Now()
		if reload {
			go func() { _, _ = s.Reload(t.Context()) }()
		}
		eventually.Holds(t, "the new deny", func() bool { return slices.Contains(reasons(t, s, other, "ls"), "user deny "+reason) })
		return prepared, time.Since(begun)
	}
	prepared, used := change("none", false)
	most := bearable + 10*(prepared+used) // this machine may be busy with other things, too
	ctx, end := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	defer writing.Wait()
	defer end()
	writing.Go(func() {
		often := time.NewTicker(20 * time.Millisecond)
		defer often.Stop()
		for ctx.Err() == nil {
			_ = os.WriteFile(filepath.Join(w.project, ".permd/rules.yaml"), []byte("deny:\n  run: [rm]\n"), 0o600)
			select {
			case <-often.C:
			case <-ctx.Done():
			}
		}
	})
	_ = s.Prepare(t.Context(), s.opts.UID, w.project)
	for n, reason := range []string{"one", "two", "three"} {
		prepared, used := change(reason, n == 2)
		if prepared > most {
			t.Errorf("preparing another project took %v", prepared)
		}
		if used > most {
			t.Errorf("after %v the new rule was in use", used)
		}
	}
}

// TestProjectLink has a folder of rules that is a link: it is not followed, whatever it
// leads to, and the project's calls ask.
func TestProjectLink(t *testing.T) {
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "allow", "ls", "listing")})
	policytest.Write(t, w.root, map[string]string{"elsewhere/rules.yaml": "deny:\n  run: [rm]\n"})
	if err := os.Symlink(filepath.Join(w.root, "elsewhere"), filepath.Join(w.project, ".permd")); err != nil {
		t.Fatal(err)
	}
	s := w.open(t)
	if err := s.Prepare(t.Context(), s.opts.UID, w.project); err == nil || !strings.Contains(err.Error(), "is a link, which is not followed") {
		t.Errorf("preparing: %v", err)
	}
	if got := reasons(t, s, w.project, "ls"); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "error: ") {
		t.Errorf("its calls: %q", got)
	}
	if l := layerStatus(t, s, decisions.Project); l.State != StateDegraded {
		t.Errorf("status %+v", l)
	}
}

// TestOrgChangesMeanwhile: a project that is loaded while org's rules change is loaded
// with the new ones.
func TestOrgChangesMeanwhile(t *testing.T) {
	w := newWorld(t)
	policytest.Write(t, w.project, map[string]string{".permd/rules.yaml": "deny:\n  run: [rm]\n"})
	var s *Store
	once := sync.OnceFunc(func() {
		policytest.Write(t, w.org, map[string]string{"a.rego": rulesFor("org", "deny", "ls", "new")})
		policytest.Age(t, w.org)
		if errs := s.loadShared(t.Context(), loadOptions{deadline: time.Now().Add(loadTimeout)}); errs[0] != nil {
			t.Error(errs)
		}
	})
	w.opts.readDir = func(dir string, rules source.Access) (*source.Tree, error) {
		if dir == filepath.Join(w.project, ".permd") {
			once()
		}
		return source.Read(dir, rules)
	}
	s = w.open(t)
	if err := s.Prepare(t.Context(), s.opts.UID, w.project); err != nil {
		t.Fatal(err)
	}
	st := s.state.Load()
	if got := st.projects[layerKey{s.opts.UID, w.project}]; got.org != st.org {
		t.Error("the project was loaded with the former rules of org")
	}
	if got := reasons(t, s, w.project, "ls"); !slices.Contains(got, "org deny new") {
		t.Errorf("%q", got)
	}
}
