// Package trust keeps which people trust the rules of which projects. A person trusts a list of
// rules by its bytes, at one root, until a day: the project's allows count as long as its list is
// that one, byte for byte.
//
// What is stored can only be trusted less than was meant. Each pin is a file of its own, which is
// believed as a whole or not at all; a damaged one counts as none, and is said.
package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Bounds of what people trust.
const (
	// Default and Max are how long a list is trusted if nothing else is said, and at most.
	Default = 90 * 24 * time.Hour
	Max     = 366 * 24 * time.Hour
	// Least is for how long a list is trusted at least.
	Least = time.Minute
	// MaxText is the maximum length of a list that is trusted, in bytes.
	MaxText = 256 << 10
	// maxPins is how many projects a person trusts at most.
	maxPins = 128
	maxRoot = 4096 // bytes
	// maxAhead is how far the start of a pin may lie ahead of the clock: more means that one of
	// the two is wrong, and nobody knows when the pin ends.
	maxAhead = time.Minute
)

// Refusal is the error for what cannot be trusted. It may be shown to the person.
type Refusal string

// Error says why.
func (r Refusal) Error() string { return string(r) }

// Pin is a list of rules that a person trusts. What it points to is not changed.
type Pin struct {
	UID    uint32    `json:"uid"`
	Root   string    `json:"root"`   // of the project: absolute, clean, links resolved
	Digest string    `json:"digest"` // of Text, see Digest
	Text   []byte    `json:"text"`   // of the list
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
}

// Digest returns the SHA-256 of a list in hexadecimal digits.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// In reports whether the pin is in force.
func (p *Pin) In(now time.Time) bool {
	return now.Before(p.Until) && p.Since.Before(now.Add(maxAhead))
}

// valid reports whether permd could have stored a pin.
func (p *Pin) valid() bool {
	return goodRoot(p.Root) && len(p.Text) <= MaxText && p.Digest == Digest(p.Text) && p.Until.After(p.Since) && p.Until.Sub(p.Since) <= Max
}

func goodRoot(root string) bool {
	return filepath.IsAbs(root) && filepath.Clean(root) == root && root != "/" && len(root) <= maxRoot && utf8.ValidString(root) && !strings.ContainsRune(root, 0)
}

type key struct {
	uid  uint32
	root string
}

// Store knows what people trust. It is safe for concurrent use.
type Store struct {
	dir string
	now func() time.Time

	pins   atomic.Pointer[map[key]*Pin] // what it points to is not changed
	damage []string                     // files that cannot be believed, and why

	mu sync.Mutex // for changes
}

// Open reads what people trust from a folder, which need not exist and only the daemon may access.
// now is the clock, time.Now if nil. It does not fail: what cannot be read is not trusted.
func Open(dir string, now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	s := &Store{dir: dir, now: now}
	pins := map[key]*Pin{}
	list, damage := readAll(dir)
	for _, p := range list {
		pins[key{p.UID, p.Root}] = p
	}
	s.damage = damage
	s.pins.Store(&pins)
	return s
}

// Of returns what a person has pinned of the project with a root, nil for nothing. The pin may
// have ended. It does not wait.
func (s *Store) Of(uid uint32, root string) *Pin { return (*s.pins.Load())[key{uid, root}] }

// List returns the pins of a person by root, also those that have ended.
func (s *Store) List(uid uint32) []*Pin {
	var list []*Pin
	for k, p := range *s.pins.Load() {
		if k.uid == uid {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *Pin) int { return cmp.Compare(a.Root, b.Root) })
	return list
}

// Damage says which files could not be believed at the start, so that what they hold is not trusted.
func (s *Store) Damage() []string { return s.damage }

// Set pins a list for a time, in the place of an earlier one of the project. Before it counts,
// record is called with it and it is stored; if either fails, nothing changes.
func (s *Store) Set(uid uint32, root string, text []byte, lasts time.Duration, record func(*Pin) error) (*Pin, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now().UTC().Round(0)
	p := &Pin{UID: uid, Root: root, Digest: Digest(text), Text: slices.Clone(text), Since: now, Until: now.Add(lasts)}
	pins := *s.pins.Load()
	switch _, again := pins[key{uid, root}]; {
	case lasts < Least || lasts > Max:
		return nil, Refusal("a project is trusted for a minute to 366 days")
	case !goodRoot(root):
		return nil, Refusal("the root of a project is an absolute path")
	case len(text) > MaxText:
		return nil, Refusal(fmt.Sprintf("a list that is trusted has at most %d KiB", MaxText>>10))
	case !again && len(s.List(uid)) >= maxPins:
		return nil, Refusal(fmt.Sprintf("%d projects are trusted already, which is the most: end the trust in one by permd trust --revoke", maxPins))
	}
	if err := record(p); err != nil {
		return nil, err
	}
	if err := s.write(p); err != nil {
		return nil, err
	}
	pins = maps.Clone(pins)
	pins[key{uid, root}] = p
	s.pins.Store(&pins)
	return p, nil
}

// Revoke ends the trust of a project at once, and returns what was pinned, nil for nothing. The
// error says why it would be back when the daemon is started again.
func (s *Store) Revoke(uid uint32, root string) (*Pin, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pins := maps.Clone(*s.pins.Load())
	was := pins[key{uid, root}]
	if was == nil {
		return nil, nil
	}
	delete(pins, key{uid, root})
	s.pins.Store(&pins)
	if err := s.remove(was); err != nil {
		return was, errors.Join(errors.New("removing what is stored"), err)
	}
	return was, nil
}
