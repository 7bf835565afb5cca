package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// Bounds of what waits for permd.
const (
	maxActs     = 8192
	maxActBytes = 64 << 20
)

var (
	errFull = errors.New("permd does not keep up")
	// errSlow means that permd runs but does not answer. An agent may be what keeps it
	// busy, so gates do not pass then.
	errSlow = fmt.Errorf("%w: it does not answer", client.ErrUnreachable)
	// errOther means that permd has another protocol version. Since it runs there are
	// rules, so gates do not pass then either.
	errOther = errors.New("its answers are not used")
)

// link is the connection to permd. One goroutine uses it, so that permd gets
// everything in the order in which it happened.
type link struct {
	p    *conversation
	wake chan struct{}

	mu        sync.Mutex
	acts      []action
	bytes     int
	lost      bool // a message for permd was dropped
	ended     bool // nothing more is sent to permd
	roomFreed sync.Cond

	// The following is used by the goroutine alone.
	conn          *client.Client
	release       func() bool       // conn is no longer closed at the end of the conversation
	ids           map[uint64]uint64 // questions that may be withdrawn, by permd's request id
	connectedOnce bool              // there was a connection
	restoring     bool              // a new connection is being given the state it needs
	timedOut      *atomic.Bool      // permd took too long on this connection
	tooSlow       bool              // that is why there is no connection
	version       error             // permd has another version, and nothing is asked of it
	connectedAt   time.Time         // when the connection was made
	reportedDown  bool              // the person was told that there is no connection
	answeredOnce  atomic.Bool       // permd answered something since then
	lastGone      time.Time         // when permd was last found unreachable
	retryAt       time.Time         // permd is not contacted before then
	open          []*openQuestion   // asked on this connection, the oldest first; some are answered
	timer         *time.Timer       // fires when the first of them is too late
	timerSet      bool              // it will fire
}

func newLink(p *conversation) *link {
	l := &link{p: p, wake: make(chan struct{}, 1)}
	l.roomFreed.L = &l.mu
	l.timer = time.NewTimer(time.Hour)
	l.timer.Stop()
	return l
}

// waitForRoom waits until most of what is queued for permd has been sent: fast
// senders are slowed down, so that nothing is lost. The wait is bounded; a
// permd that does not keep up is treated as gone.
func (l *link) waitForRoom() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.ended && (len(l.acts) > maxActs/2 || l.bytes > maxActBytes/2) {
		l.roomFreed.Wait()
	}
}

// finish releases all callers that wait for room.
func (l *link) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.roomFreed.Broadcast()
}

// push queues an action, or reports that it cannot.
func (l *link) push(a action) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.acts) >= maxActs || l.bytes > maxActBytes {
		l.lost = true
		return false
	}
	l.acts = append(l.acts, a)
	l.bytes += len(a.Params)
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return true
}

func (l *link) pop() (a action, lost, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.acts) == 0 {
		return a, false, false
	}
	a = l.acts[0]
	l.acts[0] = action{}
	if l.acts = l.acts[1:]; len(l.acts) == 0 {
		l.acts = nil
	}
	l.bytes -= len(a.Params)
	l.roomFreed.Broadcast()
	lost, l.lost = l.lost, false
	return a, lost, true
}

// run sends to permd until ctx ends.
func (l *link) run(ctx context.Context) {
	defer l.hangUp()
	defer l.timer.Stop()
	defer l.finish()
	retry := time.NewTicker(l.p.cfg.retry())
	defer retry.Stop()
	l.connect(ctx)
	for {
		a, lost, ok := l.pop()
		if ok {
			select {
			case <-l.timer.C:
				l.checkLate()
			default:
			}
			if lost && l.conn != nil {
				for _, missed := range l.p.missedUpdates() {
					l.perform(ctx, missed)
				}
			}
			l.perform(ctx, a)
			continue
		}
		var gone <-chan struct{}
		if l.conn != nil {
			gone = l.conn.Done()
		}
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-gone:
			l.onBroken(ctx)
		case <-l.timer.C:
			l.checkLate()
		case <-retry.C:
			if l.conn == nil {
				l.connect(ctx)
			}
		}
	}
}

// connect connects to permd and sends it the state that it needs.
func (l *link) connect(ctx context.Context) bool {
	if time.Now().Before(l.retryAt) || ctx.Err() != nil {
		return false
	}
	dialling, cancel := context.WithTimeout(ctx, l.p.cfg.timeout())
	defer cancel()
	conn, err := l.p.cfg.Dial(dialling)
	if err != nil {
		l.tooSlow = false
		if ctx.Err() == nil {
			l.onUnreachable(err)
		}
		return false
	}
	l.conn, l.ids, l.timedOut, l.tooSlow = conn, map[uint64]uint64{}, new(atomic.Bool), false
	// Ends a write at the end of the conversation.
	l.release = context.AfterFunc(ctx, func() { conn.Close() })
	again := l.connectedOnce || l.reportedDown // permd may have missed something
	if l.version == nil {
		l.onReachable()
	}
	l.connectedOnce, l.restoring, l.connectedAt = true, true, time.Now()
	defer func() { l.restoring = false }()
	for _, a := range l.p.connected(again) {
		l.perform(ctx, a)
	}
	return l.conn != nil
}

// onReachable tells the person that permd can be asked again, if they were told that it
// cannot.
func (l *link) onReachable() {
	if l.reportedDown {
		l.p.say("permd is there again")
	}
	l.reportedDown = false
}

// checkVersion reads the answer to the declaration of a session. Answers of a permd with
// another version are not used: it is treated like a missing one.
func (l *link) checkVersion(answer strictjson.Value) error {
	_, err := client.ReadHello(answer)
	if err == nil {
		if l.version != nil {
			l.version = nil
			l.onReachable()
		}
		return nil
	}
	err = fmt.Errorf("%w; %w", err, errOther)
	l.hangUp()
	l.version = err
	l.retryAt = time.Now().Add(10 * l.p.cfg.retry())
	l.onUnreachable(err)
	return err
}

// onUnreachable reports once that permd cannot be asked. If it is required, requests
// that need it fail from now on, and the conversation ends if it does not come back.
func (l *link) onUnreachable(why error) {
	required := l.p.cfg.Require
	if !l.reportedDown {
		l.reportedDown = true
		// A permd that closes connections without an answer counts as unreachable all the
		// time.
		if l.answeredOnce.Swap(false) || l.lastGone.IsZero() || time.Since(l.connectedAt) >= l.p.cfg.grace() {
			l.lastGone = time.Now()
		}
		if required {
			l.p.say("what needs a permission fails until permd is there, and the agent ends without it in " + l.p.cfg.grace().String() + ": " + why.Error())
		} else {
			l.p.say("permissions are yours to answer until permd is there: " + why.Error())
		}
	}
	if required && time.Since(l.lastGone) >= l.p.cfg.grace() {
		l.p.stop(fmt.Errorf("permd is required: %w", why))
	}
}

// onBroken handles a broken connection and tries another one, unless this one was broken
// from the start.
func (l *link) onBroken(ctx context.Context) bool {
	l.hangUp()
	switch {
	case ctx.Err() != nil:
		return false
	case l.timedOut.Load():
		l.onTooSlow()
		return false
	case l.restoring || time.Since(l.connectedAt) < l.p.cfg.retry():
		l.retryAt = time.Now().Add(l.p.cfg.retry())
		l.onUnreachable(client.ErrUnreachable)
		return false
	}
	return l.connect(ctx)
}

func (l *link) hangUp() {
	if l.conn != nil {
		l.release()
		l.conn.Close()
		l.conn = nil
	}
}

// onTooSlow is called if permd took too long: the person is not made to wait for it
// again for a while.
func (l *link) onTooSlow() {
	l.hangUp()
	l.tooSlow = true
	l.retryAt = time.Now().Add(10 * l.p.cfg.retry())
	l.onUnreachable(errSlow)
}

// unavailable returns why permd cannot be asked, nil if it can.
func (l *link) unavailable() error {
	if l.tooSlow {
		return errSlow
	}
	if l.version != nil {
		return l.version
	}
	return client.ErrUnreachable
}
