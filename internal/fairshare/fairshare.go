// Package fairshare shares a few slots among many requests. A request holds a slot while
// it uses the processor. Slots are shared equally among users, what a user gets among
// its members (connections), and what a member gets among its requests in the order of
// their arrival.
//
// It is start-time fair queueing with measured instead of announced lengths: each user
// and each member has a virtual time, which advances by the time for which its requests
// have held slots, and whoever has the least goes next. One that was idle continues at
// the least of those that are active. So it waits for at most one more request of each
// of the others, however many of theirs wait, and gains nothing from not having asked
// before. Beside a user of whom others have used much it waits a quantum longer, at most.
//
// A request that computes for long gives its slot up now and then (Turn.Yield). One that
// does not, for it waits for a disk or is in one long computation, loses it after
// quantum to a member without any slot; it goes on, and stops when it yields.
package fairshare

import (
	"cmp"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// quantum is how long a turn may hold a slot before a member that has none gets one
	// in addition.
	quantum = 20 * time.Millisecond
	// slice is how long a turn holds its slot before YieldLong gives it up.
	slice = 2 * time.Millisecond
	// maxDebt bounds how far an entity can be ahead of the one that has used least. A
	// request that cannot be interrupted may use much, and the other requests of its user
	// should not have to wait until everybody has used as much.
	maxDebt = quantum
	// briefWait bounds the wait of BeginBrief.
	briefWait = 250 * time.Millisecond
	// defaultWork is Options.Work if that is zero.
	defaultWork = 16 << 20
	// maxIdleUsers is the number of users without members that are remembered with what
	// they have used.
	maxIdleUsers = 64
)

// Errors of a wait for a slot.
var (
	ErrBusy    = errors.New("too many requests wait to be decided") // it took too long
	ErrStopped = errors.New("no more requests are begun")
)

// Options are the bounds of a Scheduler.
type Options struct {
	// Slots is how many turns compute at a time.
	Slots int
	// Max bounds the turns that were begun and have not ended: they hold slots, have lost
	// or yielded them, or are paused. Of those beyond Slots one user has at most three
	// quarters, and one member a quarter; but each member may have one.
	Max int
	// MaxWait bounds the waits of a turn for a slot, all together. Zero means 20 seconds.
	MaxWait time.Duration
	// Work bounds the memory that the turns use which were begun and have not ended, in
	// bytes (see Turn.Work). One user has at most three quarters, and one member a quarter;
	// but each member may have one turn, however much that uses. Zero means 16 MiB.
	Work int
	// Bytes bounds the memory that all members reserve, beyond 128 KiB of each. Zero
	// means 64 MiB.
	Bytes int
}

// Scheduler shares slots. It is safe for concurrent use.
type Scheduler struct {
	slots, max         int
	maxUser, maxMember int // shares of max
	maxWork            int
	maxWait            time.Duration
	contended          atomic.Bool // somebody waits

	mu      sync.Mutex
	users   map[uint32]*user
	waiting queue[*user]  // the users with turns that wait
	clock   time.Duration // the least virtual time of the active users
	live    list          // the turns that hold a slot, or have lost it
	running int           // those that hold one
	open    int           // turns that were begun and have not ended
	work    int           // bytes that they use
	grants  uint64
	ticking bool // tick will be called

	bytes budget
}

// user shares what one user gets among its members.
type user struct {
	entity
	uid     uint32
	members int
	waiting queue[*Member] // the members with turns that wait
	clock   time.Duration  // the least virtual time of its active members
	bytes   int            // that its members have reserved; guarded by budget.mu
}

// Member is one connection of a user.
type Member struct {
	entity
	scheduler *Scheduler
	user      *user
	turns     list // that wait, in order

	bytes int  // reserved; guarded by budget.mu
	left  bool // Leave was called; guarded by budget.mu
}

// New returns a scheduler without members.
func New(o Options) *Scheduler {
	s := &Scheduler{slots: max(o.Slots, 1), maxWait: o.MaxWait, users: map[uint32]*user{}}
	s.max = max(o.Max, s.slots)
	s.maxUser = s.slots + (s.max-s.slots)*3/4
	s.maxMember = s.slots + (s.max-s.slots)/4
	if s.maxWait == 0 {
		s.maxWait = 20 * time.Second
	}
	s.maxWork = cmp.Or(o.Work, defaultWork)
	s.bytes.max = cmp.Or(o.Bytes, defaultBytes)
	return s
}

// Join adds a member to a user. Leave must be called once.
func (s *Scheduler) Join(uid uint32) *Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[uid]
	if u == nil {
		if len(s.users) >= maxIdleUsers {
			s.forgetIdle()
		}
		u = &user{uid: uid, entity: entity{place: -1}}
		s.users[uid] = u
	}
	u.members++
	return &Member{scheduler: s, user: u, entity: entity{place: -1}}
}

// Leave removes the member, and releases what it has reserved. Its turns need not have
// ended.
func (m *Member) Leave() {
	s := m.scheduler
	s.bytes.leave(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	m.user.members--
	s.forget(m.user)
}

// forget removes a user who has no members, unless it is ahead of the others and might
// come back as if it had used nothing.
func (s *Scheduler) forget(u *user) {
	if u.members == 0 && u.idle() && (u.used <= s.clock || len(s.users) > maxIdleUsers) {
		delete(s.users, u.uid)
	}
}

// forgetIdle removes all users who have no members.
func (s *Scheduler) forgetIdle() {
	for uid, u := range s.users {
		if u.members == 0 && u.idle() {
			delete(s.users, uid)
		}
	}
}

// Waiting returns how many turns wait for a slot.
func (s *Scheduler) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, u := range s.waiting {
		for _, m := range u.waiting {
			n += m.turns.len
		}
	}
	return n
}
