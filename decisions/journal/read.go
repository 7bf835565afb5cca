package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/contents"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/internal/sqlitedb"
)

// ErrNotFound is returned for an id that no record has.
var ErrNotFound = errors.New("no such decision")

// Reader reads a journal written by this process or another.
type Reader struct {
	db   *sqlitedb.DB
	path string // the database's
	// spool is that of this process; nil if another one writes, whose files are
	// read.
	spool *spool
	news  announcer
	// live is set if the writer of this process announces new records;
	// otherwise followers poll.
	live bool
	scan scanning
	// counts are those of decisions that were counted before.
	counts tally.Memo
}

// OpenReadOnly opens a journal for reading, whether a daemon writes it or not.
// The error is fs.ErrNotExist if there is none.
func OpenReadOnly(o Options) (*Reader, error) {
	dbo, err := o.database()
	if err != nil {
		return nil, err
	}
	db, err := sqlitedb.OpenReadOnly(dbo)
	if err != nil {
		return nil, fmt.Errorf("opening journal: %w", err)
	}
	return newReader(db, o.Path, nil), nil
}

func newReader(db *sqlitedb.DB, path string, s *spool) *Reader {
	r := &Reader{db: db, path: path, spool: s, live: s != nil, scan: scanning{scanRows, scanFor}}
	r.news.c = make(chan struct{})
	r.news.end = make(chan struct{})
	return r
}

// Close ends followers and closes the database.
func (r *Reader) Close() error {
	r.news.stop()
	return r.db.Close()
}

// Bounds of one list, which may contain large records.
const (
	defaultLimit = 100
	maxLimit     = 10_000
	maxBytes     = 8 << 20 // of records; the one that exceeds it is the last
)

// filter is a filter in use.
type filter struct{ decisions.RecordFilter }

// outcomeMember returns the text that the JSON of a record with that outcome
// contains.
func outcomeMember(o decisions.Outcome) []byte { return []byte(`"outcome":"` + string(o) + `"`) }

// List returns the records that pass the filter, newest last: those of the first
// [Reader.Page].
func (r *Reader) List(ctx context.Context, f decisions.RecordFilter) ([]*decisions.Record, error) {
	p, err := r.Page(ctx, f)
	return p.Records, err
}

// Page is a part of a list.
type Page struct {
	// Records are in the order of their numbers.
	Records []*decisions.Record
	// Next is where the list goes on: the filter's Before, or its After if the oldest come
	// first. It is 0 if nothing is left.
	Next int64
	// Left is how many decisions there can be from Next on.
	Left int64
}

// Page returns the records that pass the filter, newest last. There are fewer than the
// limit if they are large (about 8 MiB in all). Where records are read to find out, there
// can be fewer, or none, although there are more: they are those that were found in about
// 50 milliseconds.
func (r *Reader) Page(ctx context.Context, f decisions.RecordFilter) (Page, error) {
	selected := filter{f}
	selected.Limit = min(f.Limit, maxLimit)
	if f.Limit <= 0 {
		selected.Limit = defaultLimit
	}
	p := &page{limit: selected.Limit, began: time.Now(), scan: r.scan}
	err := r.withView(ctx, func(v *view) error {
		if f.After > 0 || f.Oldest {
			return v.listAfter(ctx, p, &selected)
		}
		return v.newest(ctx, p, &selected)
	})
	if err != nil {
		return Page{}, fmt.Errorf("listing decisions: %w", err)
	}
	return Page{p.recs, p.next, p.left}, nil
}

// page is a list with bounds.
type page struct {
	recs  []*decisions.Record
	limit int // records
	size  int // bytes so far
	began time.Time
	scan  scanning
	next  int64 // the number that the list ended at before its end, 0 if it did not
	left  int64
}

func (p *page) full() bool { return len(p.recs) >= p.limit || p.size >= maxBytes }

func (p *page) add(rec *decisions.Record, size int) {
	p.recs, p.size = append(p.recs, rec), p.size+size
}

// take adds a record of the spool if it passes the filter.
func (v *view) take(p *page, f *filter, r *frame) error {
	if !f.passes(r) {
		return nil
	}
	rec, err := v.record(r)
	if err == nil && contents.Match(&f.RecordFilter, rec) {
		p.add(rec, len(r.json))
	}
	return err
}

// Get returns the record of a decision, or ErrNotFound. A record that cannot be read is returned
// as in lists, with Unreadable set.
func (r *Reader) Get(ctx context.Context, id string) (*decisions.Record, error) {
	var rec *decisions.Record
	err := r.withView(ctx, func(v *view) (err error) {
		for i := range v.records {
			if string(v.records[i].texts[textID]) == id {
				rec, err = v.record(&v.records[i])
				return err
			}
		}
		rec, err = v.get(ctx, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading decision: %w", err)
	}
	if rec == nil {
		return nil, ErrNotFound
	}
	return rec, nil
}

// selectIDs selects the ids that begin with a text, of one user or, with NULL, all. Ids hold no character after the last
// one of ASCII.
const selectIDs = "SELECT d.id FROM decisions d WHERE substr(d.id, 1, 18) BETWEEN substr(?, 1, 18) AND substr(?, 1, 18) || '~' AND d.id >= ? AND d.id < ? || '~' AND (? IS NULL OR d.uid = ?) LIMIT ?"

// IDs returns at most limit ids that begin with prefix, of a user's decisions or, for nil, of all.
func (r *Reader) IDs(ctx context.Context, uid *uint32, prefix string, limit int) ([]string, error) {
	var ids []string
	err := r.withView(ctx, func(v *view) (err error) {
		rows, err := v.tx.QueryContext(ctx, selectIDs, prefix, prefix, prefix, prefix, uid, uid, limit)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		for i := range v.records {
			if id := string(v.records[i].texts[textID]); strings.HasPrefix(id, prefix) && (uid == nil || *uid == v.records[i].uid) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading ids of decisions: %w", err)
	}
	return ids[:min(len(ids), limit)], nil
}

// byID selects a record by its id.
const byID = " WHERE substr(d.id, 1, 18) = substr(?, 1, 18) AND d.id = ? LIMIT 1"

// get searches the database.
func (v *view) get(ctx context.Context, id string) (*decisions.Record, error) {
	p := &page{limit: 1}
	if err := v.query(ctx, p, byID, id, id); err != nil || len(p.recs) == 0 {
		return nil, err
	}
	return p.recs[0], nil
}

// query adds rows of the database to a page until it is full.
func (v *view) query(ctx context.Context, p *page, rest string, args ...any) (err error) {
	if p.full() {
		return nil
	}
	rows, err := v.tx.QueryContext(ctx, "SELECT "+rowColumns+rowTables+rest, args...) //nolint:gosec // all three are constants of this package
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for !p.full() && rows.Next() {
		rec, size, err := v.next(rows)
		if err != nil {
			return err
		}
		p.add(rec, size)
	}
	return rows.Err()
}

// next returns the record of a row, and its size.
func (v *view) next(rows *sql.Rows) (rec *decisions.Record, size int, err error) {
	var r row
	if err := r.scan(rows.Scan); err != nil {
		return nil, 0, err
	}
	rec, size, err = r.decode()
	if err != nil {
		// The others can be read; this one must be seen to be missing.
		return &decisions.Record{
			Seq: r.seq, Time: time.Unix(0, r.time).UTC(), Decision: decisions.Decision{ID: r.id}, Unreadable: err.Error(),
		}, 0, nil
	}
	return rec, size, v.answer(rec)
}

// View calls do with a transaction that reads the database, which lacks what is in the spool.
func (r *Reader) View(ctx context.Context, do func(*sql.Tx) error) error {
	return r.withView(ctx, func(v *view) error { return do(v.tx) })
}
