package fairshare

import "time"

// All functions of this file are called with Scheduler.mu held.

// wake prepares a member and its user for becoming active.
func (s *Scheduler) wake(m *Member, now time.Time) {
	if m.active() {
		return
	}
	s.chargeAll(now)
	s.setClocks(m.user)
	s.grants++
	if !m.user.active() {
		m.user.wake(s.clock, s.grants)
	}
	m.wake(m.user.clock, s.grants)
}

// enqueue lets a turn wait.
func (s *Scheduler) enqueue(t *Turn, now time.Time, push func(*list, *Turn)) {
	m := t.member
	s.wake(m, now)
	t.state = waiting
	push(&m.turns, t)
	if m.place < 0 {
		m.user.waiting.add(m)
	}
	if m.user.place < 0 {
		s.waiting.add(m.user)
	}
	s.contended.Store(true)
	if !s.ticking {
		s.ticking = true
		time.AfterFunc(quantum, s.tick)
	}
}

// dequeue removes a turn that waits.
func (s *Scheduler) dequeue(t *Turn) {
	m := t.member
	t.state = stopped
	m.turns.remove(t)
	if m.turns.len == 0 {
		m.user.waiting.remove(m)
		if len(m.user.waiting) == 0 {
			s.waiting.remove(m.user)
		}
	}
	s.contended.Store(len(s.waiting) > 0)
}

// may reports whether a turn may have a slot when there is one.
func (s *Scheduler) may(t *Turn) bool {
	m := t.member
	return t.open || t.brief || m.open == 0 ||
		s.open < s.max && m.user.open < s.maxUser && m.open < s.maxMember &&
			s.work+t.Work <= s.maxWork && m.user.work+t.Work <= s.maxWork*3/4 && m.work+t.Work <= s.maxWork/4
}

// mayServe reports whether the first turn of a member that waits may have a slot. Those
// that were begun are first.
func (s *Scheduler) mayServe(m *Member) bool { return s.may(m.turns.head) }

// mayOvertake reports whether a member that waits may have a slot in addition to those
// that there are.
func (s *Scheduler) mayOvertake(m *Member) bool {
	return m.live == 0 && s.live.len < s.max && m.user.live < s.maxUser && s.mayServe(m)
}

// next returns the member that is served next, of those that qualify.
func (s *Scheduler) next(qualifies func(*Member) bool) (*Member, bool) {
	u, ok := s.waiting.first(func(u *user) bool {
		_, any := u.waiting.first(qualifies)
		return any
	})
	if !ok {
		return nil, false
	}
	return u.waiting.first(qualifies)
}

// grant gives a slot to a turn that is in no list.
func (s *Scheduler) grant(t *Turn, now time.Time) {
	m := t.member
	t.state, t.began, t.charged = running, now, now.Add(-t.before)
	t.before = 0
	s.live.pushBack(t)
	s.running++
	s.grants++
	if !t.open && !t.brief {
		t.open = true
		s.count(t, 1)
	}
	for _, e := range [...]*entity{&m.entity, &m.user.entity} {
		e.live++
		e.granted = s.grants
	}
	m.user.waiting.fix(m)
	s.waiting.fix(m.user)
}

// halt takes the slot of a turn.
func (s *Scheduler) halt(t *Turn, now time.Time) {
	m := t.member
	s.charge(t, now)
	s.setClocks(m.user)
	if t.state == running {
		s.running--
	}
	t.state = stopped
	s.live.remove(t)
	m.live--
	m.user.live--
	m.user.waiting.fix(m)
	s.waiting.fix(m.user)
}

// close ends a turn that was begun.
func (s *Scheduler) close(t *Turn) {
	if !t.open {
		return
	}
	t.open = false
	s.count(t, -1)
	s.forget(t.member.user)
}

// count counts a turn that was begun, or with -1 one that has ended.
func (s *Scheduler) count(t *Turn, n int) {
	s.open += n
	s.work += n * t.Work
	for _, e := range [...]*entity{&t.member.entity, &t.member.user.entity} {
		e.open += n
		e.work += n * t.Work
	}
}

// charge counts the time of a turn up to now.
func (s *Scheduler) charge(t *Turn, now time.Time) {
	m, d := t.member, now.Sub(t.charged)
	if d <= 0 {
		return
	}
	t.charged = now
	m.used = min(m.used+d, max(m.used, m.user.clock+maxDebt))
	m.user.used = min(m.user.used+d, max(m.user.used, s.clock+maxDebt))
	m.user.waiting.fix(m)
	s.waiting.fix(m.user)
}

// setClocks advances the clocks to the least virtual time of who is active: of all
// users, and of the members of one.
func (s *Scheduler) setClocks(u *user) {
	const none = time.Duration(1<<63 - 1)
	users, members := none, none
	for t := s.live.head; t != nil; t = t.next {
		users = min(users, t.member.user.used)
		if t.member.user == u {
			members = min(members, t.member.used)
		}
	}
	if len(s.waiting) > 0 {
		users = min(users, s.waiting[0].used)
	}
	if len(u.waiting) > 0 {
		members = min(members, u.waiting[0].used)
	}
	if users != none {
		s.clock = max(s.clock, users)
	}
	if members != none {
		u.clock = max(u.clock, members)
	}
}

// dispatch gives free slots to turns that wait.
func (s *Scheduler) dispatch(now time.Time) {
	if len(s.waiting) == 0 || s.running >= s.slots {
		return
	}
	s.chargeAll(now)
	for s.running < s.slots {
		m, ok := s.next(s.mayServe)
		if !ok {
			return
		}
		s.serve(m, now)
	}
}

// chargeAll counts the time of all turns up to now.
func (s *Scheduler) chargeAll(now time.Time) {
	for t := s.live.head; t != nil; t = t.next {
		s.charge(t, now)
	}
}

// serve grants the first turn of a member that waits.
func (s *Scheduler) serve(m *Member, now time.Time) {
	t := m.turns.head
	s.dequeue(t)
	s.grant(t, now)
	s.setClocks(m.user)
	if t.parked {
		t.parked = false
		t.ready <- struct{}{}
	}
}

// tick lets members without any turn overtake turns that have held their slots for
// quantum. It is called every quantum while somebody waits.
func (s *Scheduler) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.chargeAll(now)
	for t := s.live.head; t != nil; {
		next := t.next // grants are appended
		if t.state == running && now.Sub(t.began) >= quantum {
			m, ok := s.next(s.mayOvertake)
			if !ok {
				break
			}
			t.state = overdue
			s.running--
			s.serve(m, now)
		}
		t = next
	}
	if s.ticking = len(s.waiting) > 0; s.ticking {
		time.AfterFunc(quantum, s.tick)
	}
}
