// Package orgbundle gives the rules of this machine those that the organisation delivers
// in a bundle: it reads the organisation's opa.yaml, has the last good bundle at the start,
// and in a daemon takes new ones as they are published.
package orgbundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/management"
)

// Delivery is how the rules of a bundle come to this machine. A nil Delivery is that of a machine
// for which none is configured.
type Delivery struct {
	config *management.Config
	owners []uint32 // of files that hold secrets, besides root and the process's own
	now    func() time.Time

	mu      sync.Mutex
	keeper  *bundles.Keeper
	last    *bundles.Bundle // the last good one, nil for none
	missing string          // why there is none, "" if there is
	failed  string          // why bundles are not taken at all, "" if they are
	manager *management.Manager
}

// folder is the name of the folder for bundles in the data folder: what was accepted
// must not be forgotten.
const folder = "bundles"

// Open reads the configuration, and the last good bundle. It returns nil if no bundle is
// configured. owners are the uids that may own the configuration besides root.
func Open(dirs xdg.Dirs, owners []uint32, files *mounts.FS) (*Delivery, error) {
	config, err := configuration(dirs, owners, files)
	if err != nil || config == nil {
		return nil, err
	}
	d := &Delivery{config: config, owners: owners, now: time.Now, missing: "no bundle of " + config.BundleSource() + " was taken yet"}
	d.keeper = bundles.Keep(filepath.Join(dirs.Data, folder), config.Verification(), d.now)
	if d.last, err = d.keeper.Last(); err != nil {
		d.missing = err.Error()
	} else if d.last != nil {
		d.missing = ""
	}
	return d, nil
}

// configuration reads the organisation's configuration, nil if it has no bundle.
func configuration(dirs xdg.Dirs, owners []uint32, files *mounts.FS) (*management.Config, error) {
	name := filepath.Join(dirs.Org, management.ConfigName)
	data, err := mounts.Look(files, name, func(name string) ([]byte, error) { return readConfig(name, owners) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of bundles: %w", err)
	}
	config, err := management.Parse(name, data)
	if err != nil || config.Bundle == nil {
		return nil, err
	}
	return config, nil
}

// Verification returns what verifies the bundles of this machine, nil if none are configured, or
// they need no signature.
func Verification(dirs xdg.Dirs, owners []uint32) (*bundles.Verifier, error) {
	config, err := configuration(dirs, owners, mounts.New())
	if err != nil || config == nil {
		return nil, err
	}
	return config.Verification(), nil
}

// readConfig reads the configuration, which must be root's: it names whose rules count.
func readConfig(name string, owners []uint32) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case !ok || st.Uid != 0 && !slices.Contains(owners, st.Uid):
		return nil, cli.Failf(cli.ExitError, "give it to root with chown", "%s belongs to uid %d", name, st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return nil, cli.Failf(cli.ExitError, "chmod go-w "+name, "%s can be written by others (mode %04o)", name, info.Mode().Perm())
	}
	return io.ReadAll(io.LimitReader(f, management.MaxConfig+1))
}

// Delivered returns what the rules begin with, nil if no bundle is configured.
func (d *Delivery) Delivered() *policy.Delivered {
	if d == nil {
		return nil
	}
	if d.last == nil {
		return &policy.Delivered{Missing: d.missing}
	}
	return &policy.Delivered{Files: d.last.Files}
}

// Run takes bundles until ctx is done. changed is called when the status has changed.
func (d *Delivery) Run(ctx context.Context, store *policy.Store, log *slog.Logger, changed func()) {
	if d == nil {
		return
	}
	m, err := d.start(ctx, store, log, changed)
	if err != nil {
		d.fail(err)
		log.Error("bundles of org are not taken, what is in force stays", "error", err)
		changed()
		return
	}
	<-ctx.Done()
	m.Stop()
}

// fail notes why bundles are not taken at all.
func (d *Delivery) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed = err.Error()
}

func (d *Delivery) start(ctx context.Context, store *policy.Store, log *slog.Logger, changed func()) (*management.Manager, error) {
	m, err := management.New(d.config, management.Options{ID: uuid.NewString(), Log: log, Owners: d.owners})
	if err != nil {
		return nil, err
	}
	activate := func(ctx context.Context, data []byte) (string, error) { return d.activate(ctx, store, log, data) }
	if err := m.TakeBundles(activate, changed); err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.manager = m
	d.mu.Unlock()
	return m, m.Start(ctx)
}

// activate puts a bundle in force if it may follow the last one, its rules are good, and it could
// be kept.
func (d *Delivery) activate(ctx context.Context, store *policy.Store, log *slog.Logger, data []byte) (revision string, err error) {
	d.mu.Lock()
	b, known, err := d.keeper.Read(data)
	inForce := d.last
	d.mu.Unlock()
	if err != nil {
		return "", err
	}
	if known && inForce != nil && inForce.Digest == b.Digest && store.Missing() == "" {
		return b.Revision, nil
	}
	err = store.Deliver(ctx, b.Files, func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if err := d.keeper.Store(b, data); err != nil {
			return fmt.Errorf("the bundle cannot be kept: %w", err)
		}
		d.last, d.missing = b, ""
		return nil
	})
	if err != nil {
		return "", err
	}
	log.Info("a bundle of org is in force", "source", d.config.BundleSource(), "revision", b.Revision, "key", b.KeyID, "files", len(b.Files), "digest", b.Digest)
	return b.Revision, nil
}

// Status is how the bundle of the organisation is, as `permd status` shows it.
type Status struct {
	management.BundleStatus
	// Revision is in force, "" for none, Accepted since when, and Expires until when it could
	// be accepted, zero for ever.
	Revision string    `json:"revision,omitzero"`
	Accepted time.Time `json:"accepted,omitzero"`
	Expires  time.Time `json:"expires,omitzero"`
	Expired  bool      `json:"expired,omitzero"`
	Unsigned bool      `json:"unsigned,omitzero"` // bundles need no signature
	Highest  string    `json:"highest,omitzero"`  // the highest revision that was accepted
}

// Status returns how the bundle is, nil if none is configured.
func (d *Delivery) Status() *Status {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &Status{Unsigned: d.config.Unsigned}
	if d.manager != nil {
		s.BundleStatus = d.manager.BundleStatus()
	}
	s.Source = d.config.BundleSource()
	if a := d.keeper.Accepted(); a != nil {
		s.Highest, s.Accepted = a.Revision, a.At
	}
	if b := d.last; b != nil {
		s.Revision, s.Expires, s.Expired = b.Revision, b.Expires, b.Expired(d.now())
	} else if s.Error == "" {
		s.Error = d.missing
	}
	if d.failed != "" {
		s.Error = d.failed
	}
	return s
}

// Lines says how the bundle is.
func (s *Status) Lines() []string {
	local := func(t time.Time) string { return t.Local().Format(time.DateTime) }
	first := "no revision is in force"
	if s.Revision != "" {
		first = "revision " + s.Revision
		if !s.Accepted.IsZero() {
			first += " since " + local(s.Accepted)
		}
	}
	lines := []string{first + ", from " + s.Source}
	if s.Unsigned {
		lines[0] += ", unsigned"
	}
	if !s.Checked.IsZero() {
		lines = append(lines, "checked at "+local(s.Checked))
	}
	if s.Expired {
		lines = append(lines, "it expired at "+local(s.Expires)+", and is still in force: publish a newer one")
	}
	if s.Error != "" {
		text := "not taken"
		if !s.Since.IsZero() {
			text += " since " + local(s.Since)
		}
		lines = append(lines, text+": "+cli.Clip(s.Error, maxError))
	}
	return lines
}

// maxError is how much of an error is shown, in characters.
const maxError = 300
