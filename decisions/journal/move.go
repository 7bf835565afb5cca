package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// moveAfter is how long records wait in the spool, so that many move in one
	// transaction.
	moveAfter = 200 * time.Millisecond
	// moveAt is the number of waiting bytes at which they are moved at once: some hundred
	// records, so that a transaction costs little for each, and that are still in the
	// processor's cache.
	moveAt = 256 << 10
	// retryAfter is how long the mover waits after a failure.
	retryAfter = time.Second
	// upkeepEvery is how often old decisions are looked for while none come.
	upkeepEvery = 10 * time.Second
	// tellEvery is how often the status is brought up to date while much is to be
	// removed.
	tellEvery = 500 * time.Millisecond
	// namesFor is how long the index of names is worked on at once.
	namesFor = 50 * time.Millisecond
	// batchBytes bounds a transaction, in bytes of frames.
	batchBytes = 1 << 20
)

// mover moves the spool to the database, independently of requests.
type mover struct {
	spool  *spool
	writer *writer // used by the mover alone, once it runs

	retention retention
	rejects   rejects
	heads     heads
	names     nameIndex

	wake chan struct{} // capacity 1: something is waiting
	now  chan struct{} // capacity 1: do not delay
	quit chan struct{}
	done sync.WaitGroup

	mu          sync.Mutex
	err         error         // why the latest attempt failed, nil if it succeeded
	nextAttempt chan struct{} // closed at the end of the next attempt
}

func (m *mover) start() {
	m.wake, m.now, m.quit = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	m.nextAttempt = make(chan struct{})
	m.done.Go(m.run)
}

// appended is called after an append: the first one to an empty spool wakes the
// mover, and a large amount makes it move at once.
func (m *mover) appended(waiting, added int64) {
	switch {
	case waiting >= moveAt:
		m.moveNow()
	case waiting == added:
		signal(m.wake)
	}
}

// moveNow makes the mover try now.
func (m *mover) moveNow() {
	signal(m.wake)
	signal(m.now)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // already signalled
	}
}

func (m *mover) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m.done.Go(func() { // so that no step delays the end
		select {
		case <-m.quit:
			cancel()
		case <-ctx.Done():
		}
	})
	pause := time.NewTimer(0)
	defer pause.Stop()
	<-pause.C
	wait := moveAfter
	upkeep := time.NewTicker(upkeepEvery)
	defer upkeep.Stop()
	for {
		m.upkeep()
		_ = m.keepRejects() // it is in the log, and tried again
		m.tellHead(false)
		if m.indexNames(ctx) {
			continue
		}
		select {
		case <-m.wake:
		case <-upkeep.C:
			continue
		case <-m.quit:
			return
		}
		pause.Reset(wait)
		select {
		case <-pause.C:
		case <-m.now:
		case <-m.quit:
			return
		}
		wait = moveAfter
		if err := m.move(); err != nil {
			wait = retryAfter
			signal(m.wake)
		} else if m.spool.waiting.Load() > 0 {
			signal(m.wake)
		}
	}
}

// move moves everything that is waiting, and repairs the spool's files.
func (m *mover) move() error {
	err := m.moveAll()
	m.mu.Lock()
	m.err = err
	close(m.nextAttempt)
	m.nextAttempt = make(chan struct{})
	m.mu.Unlock()
	return err
}

// moveAll moves each segment once. Later appends are left for the next time,
// unless the spool is full.
func (m *mover) moveAll() error {
	for n := 0; n < segments || m.spool.waiting.Load() >= moveAt; n++ {
		all, before := m.spool.next(), m.writer.last
		for len(all) > 0 {
			n := sizeOf(all)
			for n < len(all) && n < batchBytes {
				n += sizeOf(all[n:])
			}
			if err := m.writer.store(all[:n]); err != nil {
				return err
			}
			all = all[n:]
		}
		if err := m.spool.moved(); err != nil {
			return fmt.Errorf("emptying the spool: %w", err)
		}
		m.trim(m.writer.last - before)
	}
	return nil
}

// trim removes old decisions while many new ones come, twice as many as were moved,
// so that the database gets smaller if it is too large. What is in the spool is
// never removed: it is called when a segment is empty.
func (m *mover) trim(moved int64) {
	for n := int64(0); n < 1+2*moved/stepRows; n++ {
		if more, err := m.retention.step(context.Background(), true); !more || err != nil {
			return // upkeep reports the error
		}
	}
}

// upkeep removes old decisions in small steps while nothing else is to be done.
func (m *mover) upkeep() {
	ctx := context.Background()
	more, err, told := true, error(nil), time.Now()
	for more && err == nil {
		more, err = m.retention.step(ctx, false)
		if time.Since(told) > tellEvery {
			m.retention.refresh(ctx, err)
			told = time.Now()
		}
		select {
		case <-m.quit:
			return
		default:
		}
		if m.spool.waiting.Load() >= moveAt {
			break
		}
	}
	m.retention.refresh(ctx, err)
}

// indexNames makes what is missing of the index of names for a short time, while nothing is to
// be moved and ctx is not done. It reports whether it should be called again at once.
func (m *mover) indexNames(ctx context.Context) (again bool) {
	start := time.Now()
	for m.spool.waiting.Load() < moveAt {
		more, err := m.names.step(ctx, m.retention.cut)
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			m.names.fail(err)
		}
		switch {
		case !more:
			return false // what failed is tried again
		case time.Since(start) > namesFor:
			return len(m.wake) == 0
		}
	}
	return false
}

// keepRejects stores which rejects there are.
func (m *mover) keepRejects() error {
	err := m.rejects.store(context.Background(), m.writer)
	if failing := err != nil; failing != m.rejects.failing {
		m.rejects.failing = failing
		if log := m.retention.log; failing && log != nil {
			log.Warn("the journal cannot keep which rejects there are", "error", err)
		}
	}
	return err
}

// state returns a channel that is closed after the next attempt, and why the
// latest one failed.
func (m *mover) state() (<-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nextAttempt, m.err
}

// stop ends the mover after a last attempt.
func (m *mover) stop() error {
	close(m.quit)
	m.done.Wait()
	err := errors.Join(m.move(), m.keepRejects())
	m.tellHead(true)
	return err
}

// tellHead tells the chain's head if that is due; with now, if it is new.
func (m *mover) tellHead(now bool) {
	if !m.writer.stale {
		m.heads.note(&m.writer.chain, now)
	}
}

// statusTimeout is how long a status request waits for a mover that has failed,
// to report whether it still fails.
const statusTimeout = 300 * time.Millisecond

// retriedState is state, after another attempt if the latest one failed.
func (m *mover) retriedState() error {
	tried, err := m.state()
	if err == nil {
		return nil
	}
	m.moveNow()
	late := time.NewTimer(statusTimeout)
	defer late.Stop()
	select {
	case <-tried:
		_, err = m.state()
	case <-late.C:
	case <-m.quit:
	}
	return err
}
