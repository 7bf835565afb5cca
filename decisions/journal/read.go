package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/sqlitedb"
)

// ErrNotFound is returned for an id that no record has.
var ErrNotFound = errors.New("no such decision")

// Reader reads a journal, that of this process or one that another writes.
type Reader struct {
	db   *sqlitedb.DB
	news news
	// live is set when the writer of this process announces what it stores;
	// else followers look by themselves.
	live bool
}

// pageRows is how many records are read at once, so that no read holds up the
// folding of the write-ahead log for long.
const pageRows = 256

// pollEvery is how often a follower looks at a journal that another process
// writes.
const pollEvery = 250 * time.Millisecond

// OpenReadOnly opens a journal to read it, whether a daemon writes it or not.
// The error is fs.ErrNotExist when there is none.
func OpenReadOnly(o Options) (*Reader, error) {
	dbo, err := o.database()
	if err != nil {
		return nil, err
	}
	db, err := sqlitedb.OpenReadOnly(dbo)
	if err != nil {
		return nil, fmt.Errorf("opening journal: %w", err)
	}
	r := newReader(db)
	r.live = false
	return r, nil
}

func newReader(db *sqlitedb.DB) *Reader {
	r := &Reader{db: db, live: true}
	r.news.c = make(chan struct{})
	r.news.end = make(chan struct{})
	return r
}

// Close ends followers and closes the database.
func (r *Reader) Close() error {
	r.news.stop()
	return r.db.Close()
}

// Filter says which records to list. Members that are not set let all pass.
type Filter struct {
	// Limit is the largest number of records; 0 is 100.
	Limit int
	// After and Before bound the sequence number, themselves excluded. With
	// After set, the records that follow it are listed, else the newest ones.
	After, Before int64
	// Since and Until bound the time: at or after, and before.
	Since, Until time.Time
	Verdict      decisions.Verdict
	By           decisions.Decider
	Session      string
	Agent        string
	Tool         string
	UID          *uint32
}

// Bounds of one list, so that large records can be listed all the same.
const (
	defaultLimit = 100
	maxLimit     = 10_000
	maxBytes     = 8 << 20 // of records; the one that exceeds it is the last
)

func (f *Filter) where() (string, []any) {
	var terms []string
	var args []any
	add := func(set bool, term string, arg any) {
		if set {
			terms, args = append(terms, term), append(args, arg)
		}
	}
	add(f.After > 0, "seq > ?", f.After)
	add(f.Before > 0, "seq < ?", f.Before)
	add(!f.Since.IsZero(), "time >= ?", f.Since.UnixNano())
	add(!f.Until.IsZero(), "time < ?", f.Until.UnixNano())
	add(f.Verdict != "", "verdict = ?", string(f.Verdict))
	add(f.By != "", "decided_by = ?", string(f.By))
	add(f.Session != "", "session = ?", column(f.Session))
	add(f.Agent != "", "agent = ?", column(f.Agent))
	add(f.Tool != "", "tool = ?", column(f.Tool))
	if f.UID != nil {
		add(true, "uid = ?", int64(*f.UID))
	}
	if terms == nil {
		return "", nil
	}
	return " WHERE " + strings.Join(terms, " AND "), args
}

// List returns the records that pass the filter, newest last; fewer than the
// limit when they are large (about 8 MiB in all).
func (r *Reader) List(ctx context.Context, f Filter) ([]*decisions.Record, error) {
	limit := min(f.Limit, maxLimit)
	if limit <= 0 {
		limit = defaultLimit
	}
	where, args := f.where()
	order := " ORDER BY seq DESC LIMIT ?"
	if f.After > 0 {
		order = " ORDER BY seq LIMIT ?"
	}
	recs, err := r.query(ctx, where+order, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("listing decisions: %w", err)
	}
	if f.After <= 0 {
		slices.Reverse(recs)
	}
	return recs, nil
}

// nearby is how far, in sequence numbers, a record can stand from where its id
// belongs: those under way together may be stored in any order.
const nearby = 8 * (queueLength + batchRows)

// Get returns the record of a decision, or ErrNotFound. Ids are made in the
// order of time, so it halves the sequence; an id that is out of order is
// found by reading all.
func (r *Reader) Get(ctx context.Context, id string) (*decisions.Record, error) {
	rec, err := r.get(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading decision: %w", err)
	}
	if rec == nil {
		return nil, ErrNotFound
	}
	return rec, nil
}

func (r *Reader) get(ctx context.Context, id string) (*decisions.Record, error) {
	last, err := newest(r.db.Read)
	if err != nil {
		return nil, err
	}
	low, high := int64(1), last
	for low < high {
		middle := low + (high-low)/2
		var there string
		row := r.db.Read.QueryRowContext(ctx, "SELECT id FROM decisions WHERE seq >= ? ORDER BY seq LIMIT 1", middle)
		if err := row.Scan(&there); err != nil {
			return nil, err
		}
		if there < id {
			low = middle + 1
		} else {
			high = middle
		}
	}
	recs, err := r.query(ctx, " WHERE seq BETWEEN ? AND ? AND id = ? LIMIT 1", low-nearby, low+nearby, id)
	if err == nil && len(recs) == 0 {
		recs, err = r.query(ctx, " WHERE id = ? LIMIT 1", id)
	}
	if err != nil || len(recs) == 0 {
		return nil, err
	}
	return recs[0], nil
}

// Last returns the newest sequence number, 0 when the journal is empty.
func (r *Reader) Last(context.Context) (int64, error) {
	seq, err := newest(r.db.Read)
	if err != nil {
		return 0, fmt.Errorf("reading the newest sequence number: %w", err)
	}
	return seq, nil
}

// Count returns the number of records that pass the filter; its Limit does not
// matter.
func (r *Reader) Count(ctx context.Context, f Filter) (int64, error) {
	where, args := f.where()
	var n int64
	if err := r.db.Read.QueryRowContext(ctx, "SELECT count(*) FROM decisions"+where, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting decisions: %w", err)
	}
	return n, nil
}

// Follow yields the records after a sequence number as they are stored, each
// once and in order, until ctx ends or the journal is closed; these two yield
// no error. After an error it ends.
func (r *Reader) Follow(ctx context.Context, after int64) iter.Seq2[*decisions.Record, error] {
	return func(yield func(*decisions.Record, error) bool) {
		r.news.join()
		defer r.news.leave()
		for {
			// Taken before reading: what is stored after the read wakes us.
			next := r.news.next()
			recs, err := r.query(ctx, " WHERE seq > ? ORDER BY seq LIMIT ?", after, pageRows)
			if ctx.Err() != nil || r.news.ended() {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("following decisions: %w", err))
				return
			}
			for _, rec := range recs {
				if !yield(rec, nil) {
					return
				}
				after = rec.Seq
			}
			if len(recs) > 0 {
				continue // there may be more than one read takes
			}
			if !r.sleep(ctx, next) {
				return
			}
		}
	}
}

// sleep waits until there may be something new; false means to end.
func (r *Reader) sleep(ctx context.Context, next <-chan struct{}) bool {
	var tick <-chan time.Time
	if !r.live {
		timer := time.NewTimer(pollEvery)
		defer timer.Stop()
		tick = timer.C
	}
	select {
	case <-next:
	case <-tick:
	case <-ctx.Done():
		return false
	case <-r.news.end:
		return false
	}
	return true
}

func (r *Reader) query(ctx context.Context, rest string, args ...any) (recs []*decisions.Record, err error) {
	rows, err := r.db.Read.QueryContext(ctx, "SELECT seq, format, record, answered_at, answer, answer_info FROM decisions"+rest, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for size := 0; size < maxBytes && rows.Next(); {
		var seq, format int64
		var data sql.RawBytes
		var said answered
		if err := rows.Scan(&seq, &format, &data, &said.at, &said.verdict, &said.info); err != nil {
			return nil, err
		}
		if format != formatJSON {
			return nil, fmt.Errorf("record %d has format %d, which this version does not know", seq, format)
		}
		rec, err := Decode(data)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", seq, err)
		}
		rec.Seq = seq
		if err := said.to(rec); err != nil {
			return nil, fmt.Errorf("record %d: %w", seq, err)
		}
		recs = append(recs, rec)
		size += len(data)
	}
	return recs, rows.Err()
}

// news wakes followers. It costs the writer nothing while nobody follows.
type news struct {
	followers atomic.Int64
	mu        sync.Mutex
	c         chan struct{} // closed at the next announcement
	end       chan struct{} // closed when the journal closes
	stopped   bool
}

func (n *news) join()  { n.followers.Add(1) }
func (n *news) leave() { n.followers.Add(-1) }

func (n *news) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.c
}

// announce wakes all who took next before. A follower that joins after the
// check reads what was committed before it.
func (n *news) announce() {
	if n.followers.Load() == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.c)
	n.c = make(chan struct{})
}

func (n *news) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.stopped {
		n.stopped = true
		close(n.end)
	}
}

func (n *news) ended() bool {
	select {
	case <-n.end:
		return true
	default:
		return false
	}
}
