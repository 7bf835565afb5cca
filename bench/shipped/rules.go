// Package shipped loads the shipped rules and makes engines that decide by them,
// for benchmarks that need no daemon.
package shipped

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/rego"
)

// Rules are the shipped rules of one profile, alone and with those of persons. They
// are safe for concurrent use.
type Rules struct {
	// Compare, if set, is called with each result of an evaluation that was kept, and
	// a new one (see policy.Options). It is set before With is called.
	Compare func(in *decisions.Input, kept, anew []decisions.Finding)

	dir     string // removed by Close
	profile string
	uid     uint32
	now     time.Time

	mu     sync.Mutex
	stores map[bool]*policy.Store // by User.Paths
	snaps  map[User]decisions.Snapshot
}

// User has the rules of a person: a list and a policy, of which either may be "".
type User struct {
	List, Rego string
	Paths      bool // the rules say which files may be read or changed
}

// Open loads the shipped rules of a profile for the person uid. Call Close to
// remove the folder that it makes.
func Open(profile string, uid uint32, now time.Time) (*Rules, error) {
	if !slices.Contains([]string{settings.ProfileCareful, settings.ProfileBalanced, settings.ProfileUnattended}, profile) {
		return nil, fmt.Errorf("there is no profile %q", profile)
	}
	dir, err := os.MkdirTemp("", "permd-shipped-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for rules: %w", err)
	}
	r := &Rules{
		dir: dir, profile: profile, uid: uid, now: now,
		stores: map[bool]*policy.Store{}, snaps: map[User]decisions.Snapshot{},
	}
	if err := os.Mkdir(r.userDir(), 0o700); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Dir returns a folder for databases. Close removes the files in it, so it must not
// have folders.
func (r *Rules) Dir() string { return r.dir }

func (r *Rules) userDir() string { return filepath.Join(r.dir, "policy.d") }

// Close removes the folder and the files in it.
func (r *Rules) Close() error {
	var errs []error
	for _, dir := range []string{r.userDir(), r.dir} {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		errs = append(errs, err)
		for _, e := range entries {
			errs = append(errs, os.Remove(filepath.Join(dir, e.Name())))
		}
		if dir == r.dir {
			errs = append(errs, os.Remove(dir))
		}
	}
	return errors.Join(errs...)
}

// With returns the shipped rules with those of a person. If these say which files
// may be read or changed, the shipped rules do not allow the project's files, so
// that only the person's rules do.
func (r *Rules) With(ctx context.Context, u User) (decisions.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if snap := r.snaps[u]; snap != nil {
		return snap, nil
	}
	// A file without rules must not be empty: an empty file looks as if it is just
	// being written.
	for name, text := range map[string]string{"rules.yaml": cmp.Or(u.List, "# none\n"), "user.rego": cmp.Or(u.Rego, "package permd.user\n")} {
		file := filepath.Join(r.userDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("writing rules: %w", err)
		}
		// The loader would wait for files that have just been written, so make them
		// older.
		if err := errors.Join(os.Chtimes(file, r.now, r.now), os.Chtimes(r.userDir(), r.now, r.now)); err != nil {
			return nil, fmt.Errorf("writing rules: %w", err)
		}
	}
	store, err := r.store(ctx, u.Paths)
	if err != nil {
		return nil, err
	}
	if _, err := store.Reload(ctx); err != nil {
		return nil, fmt.Errorf("loading a person's rules: %w\n%s%s", err, u.List, u.Rego)
	}
	snap, err := store.Snapshot(r.uid, "")
	if err != nil {
		return nil, err
	}
	r.snaps[u] = snap
	return snap, nil
}

// store returns the shipped rules, and loads them the first time. If paths is set,
// they do not allow the project's files. The caller holds the lock.
func (r *Rules) store(ctx context.Context, paths bool) (*policy.Store, error) {
	if s := r.stores[paths]; s != nil {
		return s, nil
	}
	sw := policy.Switches{Profile: r.profile}
	if paths {
		sw.Disable = []string{"base.read-project"}
		if r.profile != settings.ProfileCareful {
			sw.Disable = append(sw.Disable, "base.edit")
		}
	}
	table, err := programs.Shipped()
	if err != nil {
		return nil, fmt.Errorf("reading the program table: %w", err)
	}
	s, err := policy.Open(ctx, policy.Options{
		UserDir: func(uint32) (string, error) { return r.userDir(), nil },
		UID:     uint32(os.Geteuid()), // the user that must own the rules
		Base:    rego.Base(), Schema: rego.InputSchema(), Programs: rego.Programs(), Table: table, Profiles: rego.Profiles(),
		Switches: func() (policy.Switches, error) { return sw, nil }, KeepResults: true, Compare: r.Compare,
	})
	if err == nil {
		r.stores[paths] = s
	}
	return s, err
}
