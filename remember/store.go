package remember

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "embed"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/sqlitedb"
	"github.com/permd/permd/remember/history"
	"github.com/permd/permd/remember/lives"
	"github.com/permd/permd/remember/pending"
)

//go:embed schema.sql
var schema string

// schema2 adds the parts of rejects.
//
//go:embed schema2.sql
var schema2 string

// schema3 adds what allows are bound to.
//
//go:embed schema3.sql
var schema3 string

// schema4 adds what people have changed.
//
//go:embed schema4.sql
var schema4 string

// schema5 adds the checksum of a row.
//
//go:embed schema5.sql
var schema5 string

// applicationID marks the file as a memory of permd: "pmdR".
const applicationID = 0x706d_6452

// Options configure where the memory is and what must not be stored in it.
type Options struct {
	// Path is the absolute path of the database, in a folder that only the
	// daemon can access.
	Path string
	// Allowable returns why an allow of the effect must not be remembered (a
	// shell, code given inline, a wrapper), nil if it may be. A nil function
	// allows all.
	Allowable func(q *decisions.MemoryQuery) error
	// Refuse returns why an allow does not apply to the effect of q, or to any if q is nil; "" if
	// it does, and if Refuse is nil. Times are nanoseconds since 1970, confirmed is 0 for not yet.
	Refuse func(c *Choice, confirmed, now int64, q *decisions.MemoryQuery) string
	// KeepNoText leaves out the text of what choices are bound to: people who share a daemon
	// could read files of others through it.
	KeepNoText bool
	// ConfirmAll makes all allows that a client reports wait for confirmation;
	// without it only those for guarded tags wait.
	ConfirmAll bool
	// Understand adds the meaning of options to a line (pattern.Resolved), so
	// that a reject matches their other spellings; may be nil.
	Understand func(*pattern.Pattern) *pattern.Pattern
	// Known are ids of rejects that there were, as other files have kept them
	// (Rejects). If the database has never had one of them, rejects were lost.
	Known []string
	// Changed, if not nil, is called when rejects were added or dropped. It must
	// return at once, and not call the store.
	Changed func()
	// Touched, if not nil, is called when choices of a person were added, dropped or
	// confirmed; with nil for what replaces lost choices of everybody. It must return at
	// once, and not call the store.
	Touched func(uid *uint32)
	// Now returns the time; time.Now if nil.
	Now func() time.Time
}

// Store is an open memory. It is safe for concurrent use; Match takes no lock.
type Store struct {
	options Options
	key     hashKey
	db      *sqlitedb.DB
	now     func() time.Time

	state atomic.Pointer[state]
	// misplaced is why the database is not in its place, nil if it is (gone.go).
	misplaced atomic.Pointer[error]
	detached  atomic.Bool // Close was called: its place does not matter any more
	// newest is the latest time observed, in nanoseconds since 1970 (clock.go).
	newest atomic.Int64

	mu     sync.Mutex // guards the fields below, and changes of state
	byID   map[string]*entry
	ofUser map[uint32]int // number of choices
	// covered is what coveredOf found since the last of touches, by person.
	covered map[uint32]map[*entry]*entry
	touches int
	// ordered are the entries as they are listed, since the same of touches.
	ordered     []*entry
	orderedAt   int
	pending     pending.File
	problems    []string // problems since the start
	loss        string   // why rejects may be lost, "" if that is not known
	missing     []string // ids of rejects that were lost
	accepted    []string // those whose loss a person has accepted, which is not stored yet
	lostEntry   *entry   // the reject that replaces the whole memory of every person, nil if there is none
	writeErr    string   // why the newest write failed, "" if it did not
	setAside    string
	numSalvaged int
	// unstored are rejects in force that could not be written so far.
	unstored []*entry
	// unrecorded are changes by people that could not be written so far.
	unrecorded []history.Change
	// uncounted are choices that have ended, whose counts may not be stored.
	uncounted []*entry
	lives     lives.Lives
	revoking  atomic.Bool // a goroutine waits to revoke the choices of ended sessions
	// held are the lives of sessions whose choices people have ended, by the ids of these:
	// a choice may come back only while its session goes on.
	held   map[string]*lives.Life
	closed bool
}

// state is what Match uses.
type state struct {
	index *index
	off   error // why allows do not count, nil if they do
}

var _ decisions.Memory = (*Store)(nil)

// Open opens or creates a memory.
//
// A damaged database is set aside, never deleted. The rejects that can be read
// from it are kept; allows are off until the next start, which then begins with
// none. A database from a newer version is not touched: the error is
// sqlitedb.ErrNewer.
func Open(o Options) (*Store, error) {
	s := &Store{options: o, now: o.Now, byID: map[string]*entry{}, ofUser: map[uint32]int{}, covered: map[uint32]map[*entry]*entry{}, held: map[string]*lives.Life{}}
	if s.now == nil {
		s.now = time.Now
	}
	s.state.Store(&state{index: &index{confirmAll: o.ConfirmAll, refuse: o.Refuse}})
	missing := wasDeleted(o.Path)
	err := s.open()
	if sqlitedb.IsDamaged(err) {
		err = s.replaceDamaged(err)
	}
	if err != nil {
		return nil, fmt.Errorf("opening memory: %w", err)
	}
	now := s.now().UnixNano()
	if err := s.pending.Open(o.Path+".revoked", now, s.latest(now)); err != nil {
		return nil, fmt.Errorf("opening memory: %w", errors.Join(err, s.db.Close()))
	}
	s.dropPending()
	s.findMissing()
	switch {
	case missing:
		s.askForLost("the memory that was here is gone")
	case len(s.missing) > 0 && s.loss == "":
		s.askForLost("rejects that were made are not in the memory: it was deleted, or replaced by another or an earlier one")
	}
	return s, nil
}

func (s *Store) database() sqlitedb.Options {
	return sqlitedb.Options{
		Path: s.options.Path, ApplicationID: applicationID, Migrations: []string{schema, schema2, schema3, schema4, schema5},
		Synchronous: sqlitedb.Full, SecureDelete: true, Now: s.now,
	}
}

// open opens the database and reads all choices.
func (s *Store) open() error {
	db, err := sqlitedb.Open(s.database())
	if err != nil {
		return err
	}
	if err := s.load(db); err != nil {
		return errors.Join(err, db.Close())
	}
	s.db = db
	return nil
}

// replaceDamaged sets a damaged database aside and continues with a new one.
func (s *Store) replaceDamaged(damage error) error {
	aside, err := sqlitedb.SetAside(s.options.Path, s.now())
	if err != nil {
		return errors.Join(damage, err)
	}
	found := salvage(aside)
	s.key = found.key
	if err := s.open(); err != nil {
		return errors.Join(damage, err)
	}
	s.setAside, s.numSalvaged = aside, len(found.rejects)
	s.turnOff(fmt.Errorf("%w: the database was damaged (%w); it was set aside as %s", ErrOff, damage, aside))
	s.addSalvaged(found.rejects...)
	s.askForLost(fmt.Sprintf("the memory was damaged and %d rejects could be read from it", len(found.rejects)))
	return nil
}

// addSalvaged adds rejects that do not come from a request.
func (s *Store) addSalvaged(entries ...*entry) {
	if err := s.insertAll(entries); err != nil {
		s.writeErr = err.Error()
		s.unstored = append(s.unstored, entries...)
	}
	s.add(entries...)
}

// turnOff stops allows from counting. Rejects still do.
func (s *Store) turnOff(why error) {
	s.state.Store(&state{index: s.state.Load().index, off: why})
	s.problems = append(s.problems, why.Error())
}

// understand adds their meaning to the lines of a reject.
func (s *Store) understand(e *entry) {
	for _, p := range e.parts {
		if p.line != nil && s.options.Understand != nil {
			p.line = s.options.Understand(p.line)
		}
	}
}

// add adds entries to RAM.
func (s *Store) add(entries ...*entry) {
	for _, e := range entries {
		s.understand(e)
		s.addToSession(e)
	}
	defer s.changed(entries)
	st := s.state.Load()
	s.state.Store(&state{index: st.index.with(entries...), off: st.off})
	for _, e := range entries {
		s.byID[e.choice.ID] = e
		s.ofUser[e.choice.UID] += e.weight()
		if e.choice.UID == allUsers {
			s.lostEntry = e
		}
	}
	if anyEnded(entries) {
		s.revokeSoon()
	}
}

// drop removes entries from RAM; from then on they match nothing.
func (s *Store) drop(entries ...*entry) {
	defer s.changed(entries)
	st := s.state.Load()
	s.state.Store(&state{index: st.index.without(entries...), off: st.off})
	for _, e := range entries {
		delete(s.byID, e.choice.ID)
		s.lives.Release(e.life)
		s.ofUser[e.choice.UID] -= e.weight()
		if e == s.lostEntry {
			s.lostEntry = s.anyLost()
		}
	}
}

// weight is how much a choice counts towards maxChoices.
func (e *entry) weight() int { return max(1, len(e.parts)) }

// Match returns the choices that match an effect: the widest reject and the
// narrowest allow. It takes no lock. Before an allow it makes sure that the
// database is in its place, with a system call that reads nothing from the disk.
// After damage it returns no allow and an error that explains it.
func (s *Store) Match(q *decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	st := s.state.Load()
	now := q.Now.UnixNano()
	if q.Now.IsZero() {
		now = s.now().UnixNano() // without a time nothing would ever expire
	}
	found := st.index.match(&s.key, q, now, s.latest(now))
	r, a := found.reject, found.allow
	if r != nil {
		r.countMatch(now)
		reject = found.answer()
	}
	if st.off != nil {
		return reject, nil, st.off
	}
	if gone := s.checkPlace(a != nil); gone != nil {
		return reject, nil, gone
	}
	if a != nil {
		if r == nil {
			a.countMatch(now)
		}
		allow = &a.answer
	}
	return reject, allow, nil
}

// Get returns a choice in force, or ErrNotFound.
func (s *Store) Get(id string) (Choice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byID[id]
	if e == nil || s.expired(e) {
		return Choice{}, ErrNotFound
	}
	return e.snapshot(), nil
}

// Status returns the memory's state.
func (s *Store) Status() Status {
	gone := s.Look()
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{
		Degraded: slices.Clone(s.problems), AllowsOff: s.state.Load().off != nil || gone != nil,
		Pending: len(s.pending.IDs), SetAside: s.setAside, Salvaged: s.numSalvaged,
	}
	if gone != nil {
		st.Gone, st.Degraded = gone.Error(), append(st.Degraded, gone.Error())
	}
	if lost := s.lostEntry; lost != nil {
		st.Lost = lost.choice.ID
		st.Degraded = append(st.Degraded, s.lossText(lost))
	}
	if st.Pending > 0 {
		st.Degraded = append(st.Degraded, fmt.Sprintf("%d revocations hold, but are not in the database yet", st.Pending))
	}
	if s.writeErr != "" {
		st.Degraded = append(st.Degraded, "writing failed: "+s.writeErr)
	}
	for _, e := range s.byID {
		if !s.expired(e) && e.whyChanged() != "" {
			st.Changed++
		}
		switch {
		case s.expired(e):
		case e.changed && e.choice.Verdict == decisions.Allow:
		case !e.inForce(s.options.ConfirmAll, false):
			st.Unconfirmed++
		case e.choice.Verdict == decisions.Allow:
			st.Allows++
		default:
			st.Rejects++
		}
	}
	return st
}

// Close stores what is not stored yet and closes the database. Match continues
// to work.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	// Before nothing can be written any more. What fails, flush tries again.
	_ = s.revokeEnded()
	s.closed = true
	s.detached.Store(true)
	err := errors.Join(s.flush(), s.pending.Close(), s.db.Close())
	if err != nil {
		return fmt.Errorf("closing memory: %w", err)
	}
	return nil
}

// newID returns an id that a person can type: 60 random bits in base 32.
func newID() string { return strings.ToLower(rand.Text()[:12]) }
