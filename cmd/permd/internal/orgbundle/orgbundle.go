// Package orgbundle gives the rules of this machine those that the organisation delivers in
// bundles: it owns the organisation's opa.yaml, has the last good bundles at the start, and in a
// daemon runs what takes new ones, discovers where they are, and reports on them.
package orgbundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/management"
)

// folder is the name of the folder for bundles in the data folder: what was accepted
// must not be forgotten.
const folder = "bundles"

// Delivery is the organisation's opa.yaml with what it names: bundles, the discovery of them, and
// services. A nil Delivery is that of a machine without the file. It is safe for concurrent use.
type Delivery struct {
	dirs    xdg.Dirs
	owners  []uint32 // of opa.yaml and of files that hold secrets, besides root
	files   *mounts.FS
	now     func() time.Time
	daemon  daemon     // what a daemon has besides
	reading sync.Mutex // held while opa.yaml is read again
	// delivering is held while a bundle comes in use, so that one that was kept does not replace a
	// newer one. It is taken before mu.
	delivering sync.Mutex

	mu      sync.Mutex
	in      *inForce // nil if there is no file
	manager *management.Manager
	ended   bool
	failed  string // why nothing is taken at all, "" if it is
	unread  string // why opa.yaml as it is now is not in force, "" if it is
}

// inForce is an opa.yaml that was read, with what is kept of its bundles.
type inForce struct {
	text      []byte // nil if the file was removed
	config    *management.Config
	discovery *management.Discovery // nil if it has none
	bundles   map[bundles.Kind]*kept
}

// kept is the last good bundle of a kind.
type kept struct {
	keeper  *bundles.Keeper
	last    *bundles.Bundle // nil for none
	active  bool            // the rules of last are in use
	damaged string          // why what is kept on the disk is not in force, "" if it is or there is none
}

// Open reads the configuration, and the last good bundles. owners are the uids that may own the
// configuration besides root.
func Open(ctx context.Context, dirs xdg.Dirs, owners []uint32, files *mounts.FS) (*Delivery, error) {
	d := &Delivery{dirs: dirs, owners: owners, files: files, now: time.Now}
	text, config, err := d.read()
	if err != nil {
		return nil, err
	}
	if config != nil {
		d.daemon.id = readID(d.dir())
		d.in = d.keptOf(ctx, text, config, nil)
	}
	return d, nil
}

func (d *Delivery) dir() string { return filepath.Join(d.dirs.Data, folder) }

// keptOf returns a configuration with what is kept of its bundles. What was in force before stays.
func (d *Delivery) keptOf(ctx context.Context, text []byte, config *management.Config, before *inForce) *inForce {
	in := &inForce{text: text, config: config}
	in.discovery = management.OpenDiscovery(ctx, config, d.machine(), d.dir(), d.now)
	d.open(in, before)
	return in
}

// open opens what is kept of the bundles of the configuration in force. What was in force before
// stays, whatever its key is now, and also if rules that are in force come from nowhere any more.
func (d *Delivery) open(in, before *inForce) {
	effective, all := in.discovery.Effective(in.config), make(map[bundles.Kind]*kept)
	for _, kind := range bundles.OfRules() {
		was := before.of(kind)
		k := new(kept)
		if was != nil && in == before {
			k = was // a bundle that is being taken meanwhile is noted in it
		}
		if effective.Sources[kind] == nil {
			if kind != bundles.Shadow && was != nil && was.last != nil {
				k.keeper, k.last, k.active, k.damaged = was.keeper, was.last, was.active, was.damaged
				all[kind] = k
			}
			continue
		}
		k.keeper = bundles.Keep(kind, d.dir(), effective.Verification(kind), d.now)
		if was != nil && was.last != nil {
			k.last, k.active, k.damaged = was.last, was.active, was.damaged
		} else {
			k.load()
		}
		all[kind] = k
	}
	in.bundles = all
}

// load takes the last good bundle from the disk.
func (k *kept) load() {
	var err error
	if k.last, err = k.keeper.Last(); err != nil {
		k.damaged = err.Error()
	}
}

// of returns what is kept of a kind, nil for none.
func (in *inForce) of(kind bundles.Kind) *kept {
	if in == nil {
		return nil
	}
	return in.bundles[kind]
}

// machine returns what this machine says of itself.
func (d *Delivery) machine() management.Machine {
	labels := Labels()
	if host, err := os.Hostname(); err == nil {
		labels["host"] = host
	}
	return management.Machine{ID: d.daemon.id, Version: buildinfo.Version(), Labels: labels}
}

// read reads the organisation's configuration, nil if there is none.
func (d *Delivery) read() (text []byte, c *management.Config, err error) {
	name := filepath.Join(d.dirs.Org, management.ConfigName)
	text, err = mounts.Look(d.files, name, func(name string) ([]byte, error) { return readConfig(name, d.owners) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the configuration of bundles: %w", err)
	}
	c, err = management.Parse(name, text)
	return text, c, err
}

// readConfig reads the configuration, which must be root's: it names whose rules count, and where
// the log is sent.
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

// Labels returns the labels of every machine that a discovery policy knows besides those of the
// configuration, without its host.
func Labels() map[string]string { return map[string]string{"app": "permd"} }

// Configuration returns the organisation's opa.yaml of this machine, nil if there is none. owners
// are as for [Open].
func Configuration(dirs xdg.Dirs, owners []uint32) (*management.Config, error) {
	d := &Delivery{dirs: dirs, owners: owners, files: mounts.New(), now: time.Now}
	_, config, err := d.read()
	return config, err
}

// Verification returns what verifies the bundles of a kind on this machine, nil if none are
// configured, or they need no signature. What was discovered counts.
func Verification(ctx context.Context, dirs xdg.Dirs, owners []uint32, kind bundles.Kind) (*bundles.Verifier, error) {
	d := &Delivery{dirs: dirs, owners: owners, files: mounts.New(), now: time.Now}
	text, config, err := d.read()
	if err != nil || config == nil {
		return nil, err
	}
	d.daemon.id = readID(d.dir())
	effective := config
	if kind != bundles.Discovery {
		in := d.keptOf(ctx, text, config, nil)
		effective = in.discovery.Effective(config)
	}
	if effective.Sources[kind] == nil {
		return nil, nil
	}
	return effective.Verification(kind), nil
}

// LayerOf returns the layer that the rules of bundles of a kind belong to, that of org for those
// that have none.
func LayerOf(kind bundles.Kind) decisions.Layer {
	if kind == bundles.User {
		return decisions.User
	}
	return decisions.Org
}

// Delivered returns what the rules of org begin with, nil if no bundle is configured.
func (d *Delivery) Delivered() *policy.Delivered { return d.delivered(bundles.Org) }

// DeliveredUsers returns what the rules of people begin with, nil if no bundle is configured.
func (d *Delivery) DeliveredUsers() *policy.Delivered { return d.delivered(bundles.User) }

func (d *Delivery) delivered(kind bundles.Kind) *policy.Delivered {
	if d == nil || d.in == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if k := d.in.of(kind); k != nil && k.last != nil {
		k.active = true
		return &policy.Delivered{Files: k.last.Files}
	}
	if why := d.missing(kind); why != "" {
		return &policy.Delivered{Missing: why}
	}
	return nil
}

// missing returns why there are no rules of a bundle, "" if there are, or there should be none.
func (d *Delivery) missing(kind bundles.Kind) string {
	k := d.in.of(kind)
	switch {
	case k == nil && kind == bundles.Org:
		return d.in.discovery.Missing()
	case k == nil, k.last != nil:
		return ""
	case k.damaged != "":
		return k.damaged
	}
	return "no bundle of " + d.in.discovery.Effective(d.in.config).Address(kind) + " was taken yet"
}
