// Package pause stores which people have paused permd's questions for a time, and which
// have locked it so that everything asks. The daemon that is started again knows both.
//
// A pause can only end too early. Its file is believed as a whole or not at all: if it is
// damaged nothing is paused, and everything asks until a person has looked, because permd may
// have been locked. A pause ends with the time that has gone by since its start, by the time
// of day or by the clock that runs from the start of the machine and while it sleeps,
// whichever shows more. So it ends when the machine is started again, too: nothing can tell
// then what a clock that was set back has hidden.
package pause

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/permd/permd/decisions"
)

// Max is the longest time of a pause, least the shortest.
const (
	Max   = 8 * time.Hour
	least = time.Second
)

// maxWhy bounds the reason that a person gives, in bytes.
const maxWhy = 500

// Refusal is the error for what cannot be set. It may be shown to the person.
type Refusal string

// Error says why.
func (r Refusal) Error() string { return string(r) }

// Options configure a store.
type Options struct {
	// Path is the absolute path of its file, in a folder that only the daemon can access.
	Path string
	// Forbidden reports what org forbids, now; nil if it forbids nothing.
	Forbidden func() (pause, lock bool)
	// Now returns the time of day, Uptime the clock that runs from the start of the
	// machine, with what names that start; those of the system if nil.
	Now    func() time.Time
	Uptime func() (start string, since time.Duration, err error)
}

// Setting is what a person has set.
type Setting struct {
	UID     uint32               `json:"uid"`
	Locked  bool                 `json:"locked,omitzero"` // else it is a pause
	Since   time.Time            `json:"since"`
	For     time.Duration        `json:"-"`
	Project string               `json:"project,omitzero"` // its key in memory
	Only    []decisions.Activity `json:"only,omitzero"`
	Unknown bool                 `json:"unknown,omitzero"`
	Why     string               `json:"why,omitzero"`

	// The clock of the machine when it began.
	Start  string        `json:"start,omitzero"`
	Uptime time.Duration `json:"-"`
}

// Until returns when a pause ends at the latest.
func (s *Setting) Until() time.Time { return s.Since.Add(s.For) }

// Store knows what people have set. It is safe for concurrent use.
type Store struct {
	options Options

	// inForce are the settings by user, nil if there are none. What it points to is not
	// changed.
	inForce atomic.Pointer[map[uint32]Setting]
	damage  atomic.Pointer[string] // why the file cannot be believed, nil if it can

	mu sync.Mutex // for changes
}

// Open reads what has been set. It does not fail: what cannot be read locks.
func Open(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Uptime == nil {
		o.Uptime = uptime
	}
	if o.Forbidden == nil {
		o.Forbidden = func() (pause, lock bool) { return false, false }
	}
	s := &Store{options: o}
	list, err := readFile(o.Path)
	if err != nil {
		why := err.Error()
		s.damage.Store(&why)
		return s
	}
	all := map[uint32]Setting{}
	for _, v := range list {
		all[v.UID] = v
	}
	s.publish(all)
	return s
}

func (s *Store) publish(all map[uint32]Setting) {
	if len(all) == 0 {
		s.inForce.Store(nil)
		return
	}
	s.inForce.Store(&all)
}

// Of returns what is in force for the calls of a user, nil if nothing is. It does not wait.
func (s *Store) Of(uid uint32) *decisions.Pause {
	all, damage := s.inForce.Load(), s.damage.Load()
	if all == nil && damage == nil {
		return nil
	}
	noPause, noLock := s.options.Forbidden()
	if damage != nil && !noLock {
		return &decisions.Pause{Locked: true}
	}
	if all == nil || damage != nil {
		return nil
	}
	v, ok := (*all)[uid]
	switch {
	case !ok:
	case v.Locked:
		if !noLock {
			return &decisions.Pause{Locked: true}
		}
	case !noPause:
		if left := s.left(&v); left > 0 {
			return &decisions.Pause{Project: v.Project, Only: v.Only, Unknown: v.Unknown, Left: left}
		}
	}
	return nil
}

// left returns how much of a pause is left, 0 if it has ended.
func (s *Store) left(v *Setting) time.Duration {
	start, since, err := s.options.Uptime()
	if err != nil || start != v.Start || since < v.Uptime {
		return 0
	}
	gone := max(s.options.Now().Sub(v.Since), since-v.Uptime)
	return max(v.For-gone, 0)
}

// Status is what is in force.
type Status struct {
	Setting
	Left time.Duration // of a pause
}

// Status returns the settings in force, by user, and why the file cannot be believed, "" if it
// can.
func (s *Store) Status() (list []Status, damage string) {
	if why := s.damage.Load(); why != nil {
		return nil, *why
	}
	if all := s.inForce.Load(); all != nil {
		for uid, v := range *all {
			if p := s.Of(uid); p != nil {
				list = append(list, Status{v, p.Left})
			}
		}
	}
	slices.SortFunc(list, func(a, b Status) int { return cmp.Compare(a.UID, b.UID) })
	return list, ""
}

// Set begins a pause or a lock. Before it counts, record is called with it; if that fails,
// a pause does not begin. A lock holds at once, and an error says what of it would not
// outlive the daemon.
func (s *Store) Set(v Setting, record func(*Setting) error) (Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if why := s.check(&v); why != "" {
		return Status{}, why
	}
	v.Since = s.options.Now()
	all := s.with(v)
	if v.Locked {
		s.publish(all)
		return Status{Setting: v}, errors.Join(record(&v), s.write(all))
	}
	var err error
	if v.Start, v.Uptime, err = s.options.Uptime(); err != nil {
		return Status{}, fmt.Errorf("reading the clock of the machine: %w", err)
	}
	all = s.with(v)
	if err := record(&v); err != nil {
		return Status{}, err
	}
	if err := s.write(all); err != nil {
		return Status{}, err
	}
	s.publish(all)
	return Status{v, v.For}, nil
}

// check returns why something cannot be set, "" if it can.
func (s *Store) check(v *Setting) Refusal {
	noPause, noLock := s.options.Forbidden()
	now := s.Of(v.UID)
	switch {
	case v.Locked && noLock:
		return "the organisation does not let permd be locked (no_lock)"
	case !v.Locked && noPause:
		return "the organisation does not let permd be paused (no_pause)"
	case now != nil && now.Locked && !v.Locked:
		return "permd is locked: permd unlock"
	case s.damage.Load() != nil:
		return "permd asks about everything already: permd unlock"
	case !v.Locked && (v.For < least || v.For > Max):
		return Refusal(fmt.Sprintf("a pause lasts from a second to %d hours", int(Max.Hours())))
	case len(v.Why) > maxWhy || !utf8.ValidString(v.Why) || strings.ContainsFunc(v.Why, func(c rune) bool { return !unicode.IsPrint(c) }):
		return Refusal(fmt.Sprintf("the reason has to be text of one line and at most %d bytes", maxWhy))
	case v.Only != nil && len(v.Only) == 0:
		return "no kind of work is named"
	case v.Unknown && v.Only != nil:
		return "what is not understood is none of these kinds of work"
	}
	for _, a := range v.Only {
		if !slices.Contains(decisions.Activities, a) {
			return Refusal(fmt.Sprintf("there is no kind of work called %q", a))
		}
	}
	return ""
}

// End ends the pause or the lock of a user, and reports whether there was one. It holds at
// once. The error says what would be back when the daemon is started again.
func (s *Store) End(uid uint32, locked bool) (was Setting, ended bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.damage.Load() != nil {
		if !locked {
			return Setting{}, false, nil
		}
		if err := setAside(s.options.Path); err != nil {
			return Setting{}, false, err
		}
		s.damage.Store(nil)
		return Setting{UID: uid, Locked: true}, true, nil
	}
	before := s.inForce.Load()
	if before == nil {
		return Setting{}, false, nil
	}
	was, ended = (*before)[uid]
	if !ended || was.Locked != locked {
		return Setting{}, false, nil
	}
	all := s.without(uid)
	s.publish(all)
	if !was.Locked && s.left(&was) == 0 {
		ended = false // it had ended by itself
	}
	return was, ended, s.write(all)
}

// Expired ends the pauses whose time is over, and returns them.
func (s *Store) Expired() (over []Setting, err error) {
	if s.inForce.Load() == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.with()
	for uid, v := range all {
		if !v.Locked && s.left(&v) == 0 {
			over = append(over, v)
			delete(all, uid)
		}
	}
	if over == nil {
		return nil, nil
	}
	s.publish(all)
	return over, s.write(all)
}

// with returns a copy of the settings with further ones.
func (s *Store) with(more ...Setting) map[uint32]Setting {
	all := map[uint32]Setting{}
	if now := s.inForce.Load(); now != nil {
		for uid, v := range *now {
			all[uid] = v
		}
	}
	for _, v := range more {
		all[v.UID] = v
	}
	return all
}

func (s *Store) without(uid uint32) map[uint32]Setting {
	all := s.with()
	delete(all, uid)
	return all
}

// write stores the settings; none are no file.
func (s *Store) write(all map[uint32]Setting) error {
	if len(all) == 0 {
		return remove(s.options.Path)
	}
	list := make([]Setting, 0, len(all))
	for _, v := range all {
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b Setting) int { return cmp.Compare(a.UID, b.UID) })
	return writeFile(s.options.Path, list)
}

// setAside moves a file that cannot be believed out of the way.
func setAside(path string) error {
	err := os.Rename(path, path+".damaged")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("setting the file aside: %w", err)
	}
	return syncFolder(path)
}
