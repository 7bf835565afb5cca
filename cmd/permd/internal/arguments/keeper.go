// Package arguments keeps the calls of the latest decisions on the disk, masked, so that
// they can be decided again: to explain them after a restart, and to try other rules. The
// journal itself holds no arguments.
package arguments

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// Bounds of what is kept.
const (
	// maxSegment bounds a file, in bytes, and maxSegments their number.
	maxSegment  = 8 << 20
	maxSegments = 8
	// maxCall bounds a call, in bytes of its JSON. Of a longer one nothing is kept but that.
	maxCall = 16 << 10
	// maxQueued and maxQueuedBytes bound what waits to be written. What exceeds them is not
	// kept: no decision waits for a file.
	maxQueued      = 1024
	maxQueuedBytes = 4 << 20
	// maxLatest and maxLatestCall bound the calls that are known to be in the file already.
	maxLatest     = 256
	maxLatestCall = 4 << 10
	// retryAfter is how long nothing is written after an error.
	retryAfter = time.Minute
	// flushEvery is how often what waits is written.
	flushEvery = 200 * time.Millisecond
)

const suffix = ".jsonl"

// Dir returns the folder of the arguments in the data folder.
func Dir(data string) string { return filepath.Join(data, "arguments") }

// Options are the options of a Keeper.
type Options struct {
	Dir    string
	MaxAge time.Duration // of what is kept; 0 means no limit
	Log    *slog.Logger
	Now    func() time.Time
	// Off, if not nil, reports whether nothing may be kept now. What is there is then deleted.
	Off func() bool
}

// Keeper writes calls to the disk in the background.
type Keeper struct {
	o    Options
	in   fs.FileInfo // the data folder at the start, nil if there was none
	wake chan struct{}
	quit chan struct{}
	done chan struct{}
	// flushes are those who wait for what is noted to be written.
	flushes chan chan struct{}
	changed chan struct{} // Off may return something else

	mu     sync.Mutex
	queue  []entry
	spare  []entry // memory for the next queue
	queued int     // bytes
	// latest are calls that were written: those of cached evaluations, which are the same
	// call again.
	latest map[*effects.Call]written
	// kept is why what is there could not be deleted although nothing may be kept, "" if it was.
	kept string

	// The rest belongs to the goroutine that writes.
	file    *os.File
	size    int64
	oldest  time.Time           // of the file
	calls   map[[16]byte]uint32 // in the file
	failed  time.Time
	failing bool
}

// written is a call that the file has.
type written struct {
	number uint32 // in the file
	of     *content
}

// entry is a decision that waits to be written.
type entry struct {
	id     string
	recent int
	at     time.Time
	from   *effects.Call // of a cached evaluation; nil if it is of none
	call   *effects.Call // a copy; nil if from has been written already, or it cannot be decided again by itself
	of     *content      // of call, or of from if that has been written: until this entry is, it may no longer be known
}

// Keep starts a Keeper. An error in its folder is logged, and nothing is kept.
func Keep(o Options) *Keeper {
	k := &Keeper{o: o, wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}), flushes: make(chan chan struct{}), changed: make(chan struct{}, 1)}
	k.in, _ = os.Stat(filepath.Dir(o.Dir)) // else nothing is kept
	go k.run()
	return k
}

// Note keeps the call of a decision. It does not wait for the disk. It must be called
// before d is slim.
func (k *Keeper) Note(d *decisions.Deliberation) {
	if k.off() {
		return
	}
	e := entry{id: d.ID, recent: d.Recent(), at: k.o.Now()}
	size := 256
	c := d.Call()
	if c != nil && d.Cached() { // no other comes again, and the call may be part of a message
		e.from = c
		size += sizeOf(c)
	}
	if e.of = k.written(e.from); c != nil && e.of == nil {
		if n := sizeOf(c); n <= 2*maxCall {
			e.call, e.of = withoutUser(c), contentOf(d)
			size += n
		} else {
			e.call, e.from, size = &effects.Call{Incomplete: tooLong}, nil, 256
		}
	}
	k.add(e, size)
}

// withoutUser returns a copy of a call with raw JSON of its own, and nothing of its user but
// their number.
func withoutUser(c *effects.Call) *effects.Call {
	copied := *c
	copied.Input, copied.Claims.Meta = bytes.Clone(c.Input), bytes.Clone(c.Claims.Meta)
	copied.User = effects.User{UID: c.User.UID}
	if c.Announced != nil {
		copied.Announced = withoutUser(c.Announced)
	}
	return &copied
}

// sizeOf is about how much memory a call keeps, in bytes.
func sizeOf(c *effects.Call) int {
	n := c.Size() + c.Announced.Size()
	for _, d := range c.Claims.Diffs {
		n += len(d.Path) + len(d.OldPath)
	}
	return n
}

// add queues an entry that keeps so many bytes in memory.
func (k *Keeper) add(e entry, size int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.queue) >= maxQueued || k.queued+size > maxQueuedBytes {
		return
	}
	k.queue, k.queued = append(k.queue, e), k.queued+size
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// written returns what a call contains that the file has, nil if it does not have it.
func (k *Keeper) written(c *effects.Call) *content {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.latest[c].of
}

// Flush waits until what was noted is written, or could not be, or ctx has ended. After Close
// it does nothing.
func (k *Keeper) Flush(ctx context.Context) {
	done := make(chan struct{})
	select {
	case k.flushes <- done:
		select {
		case <-done:
		case <-ctx.Done():
		}
	case <-k.done:
	case <-ctx.Done():
	}
}

// Close writes what waits and ends.
func (k *Keeper) Close() {
	close(k.quit)
	<-k.done
}

func (k *Keeper) run() {
	defer close(k.done)
	k.remove()
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	late := time.NewTimer(0)
	defer late.Stop()
	again := time.NewTimer(0)
	defer again.Stop()
	started := true
	for {
		select {
		case <-k.quit:
			k.write()
			if k.file != nil {
				_ = k.file.Close() // it was written
			}
			return
		case <-tick.C:
			k.remove()
		case <-k.changed:
			again.Reset(0)
		case <-again.C:
			if !k.deleteIfOff() {
				again.Reset(retryAfter)
			}
		case done := <-k.flushes:
			k.write()
			close(done)
		case <-k.wake:
			if !started { // one that runs must not begin again, or nothing is written while decisions come
				late.Reset(flushEvery)
				started = true
			}
		case <-late.C:
			started = false
			k.write()
		}
	}
}

// write writes what waits.
func (k *Keeper) write() {
	k.mu.Lock()
	list := k.queue
	k.queue, k.spare, k.queued = k.spare, nil, 0
	k.mu.Unlock()
	defer func() {
		clear(list)
		k.mu.Lock()
		k.spare = list[:0]
		k.mu.Unlock()
	}()
	if len(list) == 0 || k.off() || k.failing && k.o.Now().Sub(k.failed) < retryAfter {
		return
	}
	if err := k.append(list); err != nil {
		if !k.failing {
			k.o.Log.Warn("the arguments of decisions are not kept, so that these cannot be explained after a restart", "error", err)
		}
		k.failing, k.failed = true, k.o.Now()
		k.leave()
		return
	}
	k.failing = false
}

func (k *Keeper) leave() {
	if k.file != nil {
		_ = k.file.Close() // what is not in it cannot be decided again, nothing else
	}
	k.file, k.calls = nil, nil
	k.mu.Lock()
	clear(k.latest)
	k.mu.Unlock()
}

func (k *Keeper) append(list []entry) error {
	var b []byte
	for i := range list {
		e := &list[i]
		if k.file == nil || k.size+int64(len(b)) > maxSegment || k.o.MaxAge > 0 && e.at.Sub(k.oldest) > k.o.MaxAge/maxSegments {
			if err := k.flush(b); err != nil {
				return err
			}
			b = b[:0]
			if err := k.next(e.at); err != nil {
				return err
			}
		}
		b = k.appendEntry(b, e)
	}
	return k.flush(b)
}

func (k *Keeper) flush(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := k.file.Write(b)
	k.size += int64(n)
	if err != nil {
		return fmt.Errorf("keeping arguments: %w", err)
	}
	return nil
}

// appendEntry appends the line of an entry. A call that the file has already is named by
// its number.
func (k *Keeper) appendEntry(b []byte, e *entry) []byte {
	l := line{ID: e.id, Recent: e.recent}
	if e.call == nil && e.from != nil {
		k.mu.Lock()
		known := k.latest[e.from]
		k.mu.Unlock()
		if l.Number = known.number; l.Number != 0 {
			return l.append(b)
		}
		e.call = withoutUser(e.from) // another file, or no longer known; a cached evaluation does not change
	}
	call, why := encodeCall(e)
	if why != "" {
		l.Why, l.Call = why, call
		return l.append(b)
	}
	sum := sha256.Sum256(call)
	key := [16]byte(sum[:])
	number, ok := k.calls[key]
	if !ok {
		number = uint32(len(k.calls) + 1)
		k.calls[key] = number
		l.Call = call
	}
	l.Number = number
	if e.from != nil && len(call) <= maxLatestCall {
		k.mu.Lock()
		if k.latest == nil || len(k.latest) >= maxLatest {
			k.latest = make(map[*effects.Call]written, maxLatest)
		}
		k.latest[e.from] = written{number, e.of}
		k.mu.Unlock()
	}
	return l.append(b)
}

// makeDir makes the folder of the arguments, where the data folder is the one of the start: where
// that was moved away, nothing must take its place.
func (k *Keeper) makeDir() error {
	in, err := os.Stat(filepath.Dir(k.o.Dir))
	if err != nil {
		return err
	}
	if k.in == nil || !os.SameFile(k.in, in) {
		return errors.New("another folder is in the place of the data folder")
	}
	if err := os.Mkdir(k.o.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// next begins a file, and removes the oldest.
func (k *Keeper) next(now time.Time) error {
	k.leave()
	if err := k.makeDir(); err != nil {
		return fmt.Errorf("keeping arguments: %w", err)
	}
	name := now.UTC().Format(timeFormat) + suffix
	f, err := os.OpenFile(filepath.Join(k.o.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("keeping arguments: %w", err)
	}
	k.file, k.size, k.oldest, k.calls = f, 0, now, map[[16]byte]uint32{}
	k.remove()
	return nil
}

// remove removes files beyond the bounds: those with a line that is too old, and the
// oldest of too many.
func (k *Keeper) remove() {
	names, err := segments(k.o.Dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			k.o.Log.Warn("looking for arguments that are too old", "error", err)
		}
		return
	}
	for i, name := range names {
		at, err := beginOf(name)
		old := err == nil && k.o.MaxAge > 0 && k.o.Now().Sub(at) > k.o.MaxAge
		if !old && len(names)-i <= maxSegments {
			continue
		}
		if k.file != nil && filepath.Base(k.file.Name()) == name {
			k.leave()
		}
		if err := os.Remove(filepath.Join(k.o.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			k.o.Log.Warn("removing arguments that are too old", "error", err)
		}
	}
}
