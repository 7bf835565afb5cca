package fairshare

import "time"

// entity is what users and members have in common.
type entity struct {
	used    time.Duration // virtual time
	live    int           // turns that hold a slot, or have lost it
	open    int           // turns that were begun and have not ended
	work    int           // bytes that they use
	granted uint64        // number of the last grant, or of when it became active
	place   int           // in its queue, -1 if it is in none
}

// active reports whether the entity has a turn that runs or waits.
func (e *entity) active() bool { return e.live > 0 || e.place >= 0 }

// idle reports whether the entity has no turn.
func (e *entity) idle() bool { return e.open == 0 && !e.active() }

// wake sets the virtual time of an entity that becomes active.
func (e *entity) wake(clock time.Duration, number uint64) {
	e.used, e.granted = min(max(e.used, clock), clock+maxDebt), number
}

// before reports whether a is served before b.
func (a *entity) before(b *entity) bool {
	switch {
	case a.used != b.used:
		return a.used < b.used
	case a.live != b.live:
		return a.live < b.live
	}
	return a.granted < b.granted
}

// node is an element of a queue: a user or a member.
type node interface{ base() *entity }

func (e *entity) base() *entity { return e }

// queue is a heap of entities, the next one first.
type queue[T node] []T

func (q queue[T]) less(i, j int) bool { return q[i].base().before(q[j].base()) }

func (q queue[T]) swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].base().place, q[j].base().place = i, j
}

func (q *queue[T]) add(x T) {
	x.base().place = len(*q)
	*q = append(*q, x)
	q.up(x.base().place)
}

func (q *queue[T]) remove(x T) {
	i, last := x.base().place, len(*q)-1
	q.swap(i, last)
	var none T
	(*q)[last] = none
	*q = (*q)[:last]
	x.base().place = -1
	if i < last {
		q.fix((*q)[i])
	}
}

// fix restores the order after x has changed. It does nothing if x is not in the queue.
func (q queue[T]) fix(x T) {
	if i := x.base().place; i >= 0 && !q.down(i) {
		q.up(i)
	}
}

func (q queue[T]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.less(i, parent) {
			return
		}
		q.swap(i, parent)
		i = parent
	}
}

func (q queue[T]) down(i int) (moved bool) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q); child++ {
			if q.less(child, least) {
				least = child
			}
		}
		if least == i {
			return moved
		}
		q.swap(i, least)
		i, moved = least, true
	}
}

// first returns the first element that may be served; ok is false if there is none.
func (q queue[T]) first(may func(T) bool) (x T, ok bool) {
	if len(q) > 0 && may(q[0]) {
		return q[0], true
	}
	for _, y := range q {
		if (!ok || y.base().before(x.base())) && may(y) {
			x, ok = y, true
		}
	}
	return x, ok
}

// list is a list of turns. A turn is in at most one.
type list struct {
	head, tail *Turn
	len        int
}

func (l *list) pushBack(t *Turn) {
	t.prev, t.next = l.tail, nil
	if l.tail == nil {
		l.head = t
	} else {
		l.tail.next = t
	}
	l.tail = t
	l.len++
}

func (l *list) pushFront(t *Turn) {
	t.prev, t.next = nil, l.head
	if l.head == nil {
		l.tail = t
	} else {
		l.head.prev = t
	}
	l.head = t
	l.len++
}

func (l *list) remove(t *Turn) {
	if t.prev == nil {
		l.head = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		l.tail = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
	l.len--
}
