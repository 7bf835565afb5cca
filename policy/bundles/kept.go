package bundles

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/open-policy-agent/opa/v1/util"

	"github.com/permd/permd/internal/statefile"
)

// The names in the folder of what is kept of a kind: the last good bundle, and what was accepted
// so far. They are apart, so that who deletes the bundle makes permd forget no revision.
func (k Kind) archiveName() string  { return string(k) + "-bundle.tar.gz" }
func (k Kind) acceptedName() string { return string(k) + "-bundle.json" }

// Accepted is the highest revision that was accepted.
type Accepted struct {
	Revision string    `json:"revision"`
	Digest   string    `json:"digest"`
	At       time.Time `json:"at"` // when it was

	number uint64
}

// Keeper keeps the last good bundle of a kind, and the highest revision that was accepted, in a
// folder. Each kind has an order of revisions of its own. Its methods must not be called
// concurrently.
type Keeper struct {
	kind     Kind
	dir      string
	config   *Verifier // nil if no signature is needed
	now      func() time.Time
	accepted *Accepted // nil for none
	err      error     // what was accepted is not known
}

// Keep returns a keeper for a folder, which need not exist. config verifies bundles; nil is for
// those without a signature.
func Keep(kind Kind, dir string, config *Verifier, now func() time.Time) *Keeper {
	k := &Keeper{kind: kind, dir: dir, config: config, now: now}
	data, err := k.read(kind.acceptedName(), maxAccepted)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		k.err = err
	default:
		a := new(Accepted)
		if err := util.UnmarshalJSON(data, a); err == nil {
			a.number, err = strconv.ParseUint(a.Revision, 10, 64)
			k.accepted, k.err = a, err
		} else {
			k.err = err
		}
	}
	return k
}

const maxAccepted = 4096

func (k *Keeper) read(name string, most int64) ([]byte, error) {
	f, err := statefile.Open(filepath.Join(k.dir, name), uint32(os.Geteuid()))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s is too large", name)
	}
	return data, err
}

// Accepted returns the highest revision that was accepted, nil if there is none.
func (k *Keeper) Accepted() *Accepted { return k.accepted }

// Last returns the last good bundle, verified again, nil if there never was one. It may have
// expired since.
func (k *Keeper) Last() (*Bundle, error) {
	data, err := k.read(k.kind.archiveName(), MaxArchive)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b, err := Read(k.kind, data, k.config)
	if err != nil {
		return nil, fmt.Errorf("the bundle kept in %s: %w", filepath.Join(k.dir, k.kind.archiveName()), err)
	}
	// An archive of before may have been put in its place, also by a restored backup.
	if a := k.accepted; a != nil && b.number < a.number {
		return nil, fmt.Errorf("the bundle kept in %s has revision %s, and %s was accepted before", filepath.Join(k.dir, k.kind.archiveName()), b.Revision, a.Revision)
	}
	if a := k.accepted; a == nil || b.number > a.number { // the process ended between the two files
		k.accepted = &Accepted{Revision: b.Revision, Digest: b.Digest, At: k.now().UTC(), number: b.number}
	}
	return b, nil
}

// Read reads a bundle that was delivered, and returns an error if it may not follow what was
// accepted. known is set if it is what was accepted last.
func (k *Keeper) Read(data []byte) (b *Bundle, known bool, err error) {
	if b, err = Read(k.kind, data, k.config); err != nil {
		return nil, false, err
	}
	if k.err != nil {
		return nil, false, fmt.Errorf("it is not known which revision was accepted last: %w", k.err)
	}
	if a := k.accepted; a != nil {
		switch {
		case b.number < a.number:
			return nil, false, fmt.Errorf("revision %s is lower than %s, which was accepted on %s", b.Revision, a.Revision, a.At.UTC().Format(time.DateOnly))
		case b.number == a.number && b.Digest != a.Digest:
			return nil, false, fmt.Errorf("revision %s was accepted with other contents on %s: another bundle needs a higher revision", b.Revision, a.At.UTC().Format(time.DateOnly))
		}
		known = b.number == a.number
	}
	if b.Expired(k.now()) {
		return nil, false, fmt.Errorf("revision %s expired at %s", b.Revision, b.Expires.UTC().Format(time.RFC3339))
	}
	return b, known, nil
}

// Expired reports whether a bundle must not be accepted any more.
func (b *Bundle) Expired(now time.Time) bool { return !b.Expires.IsZero() && !now.Before(b.Expires) }

// Store keeps a bundle that was read from data as the last good one, and its revision as the
// highest. After an error what was kept before is unchanged.
func (k *Keeper) Store(b *Bundle, data []byte) error {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return err
	}
	a := &Accepted{Revision: b.Revision, Digest: b.Digest, At: k.now().UTC(), number: b.number}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	// The archive first: if the process ends in between, a newer bundle than is known to be
	// accepted is there, and verifies. The other way round there would be none.
	if err := statefile.Replace(filepath.Join(k.dir, k.kind.archiveName()), data); err != nil {
		return err
	}
	if err := statefile.Replace(filepath.Join(k.dir, k.kind.acceptedName()), text); err != nil {
		return err
	}
	k.accepted = a
	return syncDir(k.dir)
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
