package journal

import (
	"fmt"
	"sync"
	"time"

	"github.com/permd/permd/internal/sqlitedb"
)

const (
	// moveAfter is how long records wait in the spool, so that many move in one
	// transaction.
	moveAfter = 200 * time.Millisecond
	// moveAt is from how many waiting bytes on they move at once.
	moveAt = maxWaiting / 4
	// retryAfter is how long the mover rests after it has failed.
	retryAfter = time.Second
	// batchBytes ends a transaction, in bytes of frames.
	batchBytes = 1 << 20
)

// mover brings what is in the spool to the database, apart from the requests.
type mover struct {
	spool  *spool
	writer *writer // its alone, once it runs
	db     *sqlitedb.DB

	wake chan struct{} // of one: something waits
	now  chan struct{} // of one: do not rest
	quit chan struct{}
	done sync.WaitGroup

	mu    sync.Mutex
	err   error         // why the newest attempt failed, nil if it went well
	tried chan struct{} // closed at the end of the next attempt
}

func (m *mover) start() {
	m.wake, m.now, m.quit = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	m.tried = make(chan struct{})
	m.done.Go(m.run)
}

// appended is called when something was appended: the first thing after the spool
// was empty wakes the mover, and much of it hurries it.
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
	default: // it has been told
	}
}

func (m *mover) run() {
	pause := time.NewTimer(0)
	defer pause.Stop()
	<-pause.C
	wait := moveAfter
	for {
		select {
		case <-m.wake:
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

// move moves all that waits, and puts the spool's files in order.
func (m *mover) move() error {
	err := m.moveAll()
	m.mu.Lock()
	m.err = err
	close(m.tried)
	m.tried = make(chan struct{})
	m.mu.Unlock()
	return err
}

// moveAll looks at each segment once. What comes meanwhile is for the next time,
// except that a full spool is not left behind.
func (m *mover) moveAll() error {
	for n := 0; n < segments || m.spool.waiting.Load() >= moveAt; n++ {
		all := m.spool.next()
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
	}
	return nil
}

// state is a channel that is closed after the next attempt, and why the newest
// one failed.
func (m *mover) state() (<-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tried, m.err
}

// stop ends the mover after a last attempt.
func (m *mover) stop() error {
	close(m.quit)
	m.done.Wait()
	return m.move()
}

// statusTimeout is how long a status waits for a mover that has failed, to say
// whether it still does.
const statusTimeout = 300 * time.Millisecond

// retriedState is state, after another attempt when the newest one failed.
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
