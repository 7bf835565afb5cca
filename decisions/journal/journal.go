// Package journal is the decision log: it stores every decision in a SQLite
// database before its answer leaves, and reads them back for lists and
// followers. It stores records as it gets them: whoever makes a record masks
// its secrets first.
//
// One goroutine writes. It commits whatever has queued up meanwhile as one
// transaction (group commit without a timer), so a lone request waits for one
// commit and many at once share one. The queue is bounded: when the disk is
// slower than the requests, Append waits.
package journal

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	_ "embed"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/sqlitedb"
)

// Durability says what an appended record survives.
type Durability string

// The durabilities, by their words in permd.toml.
const (
	Process Durability = "process" // the daemon being killed; after a power loss the newest records may be gone
	Power   Durability = "power"   // a power loss; each commit waits for the disk
)

// Bounds of the journal.
const (
	// MaxRecord is the largest record that is stored, in bytes of JSON.
	MaxRecord = 8 << 20
	// queueLength bounds the calls of Append that wait for the writer. It is
	// far above what the connections of one machine keep in flight.
	queueLength = 1024
	// batchRows ends a batch, so that the first in it does not wait for ever.
	batchRows = 512
	// keepBytes and keepRows bound what is kept for reuse.
	keepBytes = 64 << 10
	keepRows  = 64
)

var (
	// ErrClosed is returned by Append after Close.
	ErrClosed = errors.New("journal is closed")
	// ErrRecord means that a record cannot be stored, now or later.
	ErrRecord = errors.New("record cannot be stored")
)

//go:embed schema.sql
var schema string

// applicationID marks the file as a journal of permd: "pmdJ".
const applicationID = 0x706d_644a

// Options say where the journal is and what it survives.
type Options struct {
	// Path is the database's file, absolute, in a folder of the daemon alone.
	Path string
	// Durability is Process if empty.
	Durability Durability
	// Now names files that are set aside; time.Now if nil.
	Now func() time.Time
}

func (o *Options) database() (sqlitedb.Options, error) {
	db := sqlitedb.Options{
		Path: o.Path, ApplicationID: applicationID, Migrations: []string{schema}, Now: o.Now,
	}
	switch o.Durability {
	case Process, "":
		db.Synchronous = sqlitedb.Normal
	case Power:
		db.Synchronous = sqlitedb.Full
	default:
		return db, fmt.Errorf("opening journal: unknown durability %q", o.Durability)
	}
	return db, nil
}

// Journal is an open decision log. It is safe for concurrent use.
type Journal struct {
	*Reader
	damaged string // where a damaged journal was set aside

	requests sync.Pool
	queue    chan *request
	quit     chan struct{} // closed by Close
	stopped  chan struct{} // closed when the writer has ended
	close    sync.Once
	closeErr error

	writer writer
	stats  stats
}

var _ decisions.Journal = (*Journal)(nil)

// Open opens or makes the journal. A damaged one is set aside, never deleted,
// and an empty one takes its place; Status says so. A journal from a newer
// version is left alone: the error is sqlitedb.ErrNewer.
func Open(o Options) (*Journal, error) {
	dbo, err := o.database()
	if err != nil {
		return nil, err
	}
	aside := ""
	db, err := sqlitedb.Open(dbo)
	if sqlitedb.IsDamaged(err) {
		now := time.Now
		if o.Now != nil {
			now = o.Now
		}
		damage := err
		if aside, err = sqlitedb.SetAside(o.Path, now()); err != nil {
			return nil, fmt.Errorf("opening journal: %w", errors.Join(damage, err))
		}
		db, err = sqlitedb.Open(dbo)
	}
	if err != nil {
		return nil, fmt.Errorf("opening journal: %w", err)
	}
	j := &Journal{
		Reader:  newReader(db),
		damaged: aside,
		queue:   make(chan *request, queueLength),
		quit:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	j.requests.New = func() any { return &request{done: make(chan error, 1)} }
	if err := j.writer.prepare(db.Write); err != nil {
		return nil, fmt.Errorf("opening journal: %w", errors.Join(err, db.Close()))
	}
	go j.run()
	return j, nil
}

// Append stores the records and returns when they are durable, with their
// sequence numbers set. It waits while the queue is full. On an error the
// records may or may not be stored, and no allow may leave; a later call tries
// afresh, since a full disk may have been cleared. When ctx ends, Append
// returns at once; the records may still be stored.
func (j *Journal) Append(ctx context.Context, recs ...*decisions.Record) error {
	if len(recs) == 0 {
		return nil
	}
	req := j.requests.Get().(*request)
	// The record is encoded here, so that many callers share the work and the
	// writer only writes.
	if err := req.fill(recs); err != nil {
		j.free(req)
		j.stats.failed.Add(1)
		return fmt.Errorf("appending to journal: %w", err)
	}
	if err := j.wait(ctx, req); err != nil {
		j.stats.failed.Add(1)
		return fmt.Errorf("appending to journal: %w", err)
	}
	for i, rec := range recs {
		rec.Seq = req.first + int64(i)
	}
	j.free(req)
	return nil
}

// free keeps a request for the next Append, unless it has grown large.
func (j *Journal) free(req *request) {
	if req.text.Cap() <= keepBytes && cap(req.rows) <= keepRows {
		clear(req.rows) // or it would keep the records' strings alive
		j.requests.Put(req)
	}
}

// wait queues a request and waits for its commit. After an error the request
// may still be with the writer and must not be used again.
func (j *Journal) wait(ctx context.Context, req *request) error {
	select {
	case <-j.quit: // or else the queue might take it after the writer has ended
		return ErrClosed
	default:
	}
	select {
	case j.queue <- req:
	case <-ctx.Done():
		return ctx.Err()
	case <-j.quit:
		return ErrClosed
	}
	select {
	case err := <-req.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-j.stopped:
	}
	// The writer's last batch may have held it.
	select {
	case err := <-req.done:
		return err
	default:
		return ErrClosed
	}
}

// run is the writer's goroutine.
func (j *Journal) run() {
	defer close(j.stopped)
	batch := make([]*request, 0, queueLength)
	for {
		batch = batch[:0]
		select {
		case req := <-j.queue:
			batch = append(batch, req)
		case <-j.quit:
			// What was queued before Close is still written.
			select {
			case req := <-j.queue:
				batch = append(batch, req)
			default:
				return
			}
		}
		batch = j.more(batch)
		err := j.writer.commit(batch)
		j.stats.committed(batch, err)
		if err == nil {
			j.news.announce()
		}
		for i, req := range batch {
			req.done <- err
			batch[i] = nil
		}
	}
}

// more adds what is queued already, without waiting.
func (j *Journal) more(batch []*request) []*request {
	rows := len(batch[0].rows)
	for rows < batchRows {
		select {
		case req := <-j.queue:
			batch = append(batch, req)
			rows += len(req.rows)
		default:
			return batch
		}
	}
	return batch
}

// Close writes what is queued, refuses what comes later, ends followers and
// closes the database.
func (j *Journal) Close() error {
	j.close.Do(func() {
		close(j.quit)
		<-j.stopped
		err := errors.Join(j.writer.finish(), j.Reader.Close())
		if err != nil {
			j.closeErr = fmt.Errorf("closing journal: %w", err)
		}
	})
	return j.closeErr
}

// Status is what the journal says of itself.
type Status struct {
	Last      int64  `json:"last"`               // newest sequence number, 0 when empty
	Queued    int    `json:"queued"`             // appends that wait for the writer
	Capacity  int    `json:"capacity"`           // of the queue
	Records   uint64 `json:"records"`            // stored since the start
	Commits   uint64 `json:"commits"`            // transactions since the start
	Failed    uint64 `json:"failed"`             // appends that failed since the start
	Failing   string `json:"failing,omitzero"`   // the newest commit's error, "" when it went well
	Damaged   string `json:"setAside,omitzero"`  // where a damaged journal was set aside at the start
	LastBatch int    `json:"lastBatch,omitzero"` // records in the newest commit
}

// Status returns the journal's state. It never blocks.
func (j *Journal) Status() Status {
	s := Status{
		Last: j.stats.last.Load(), Queued: len(j.queue), Capacity: cap(j.queue),
		Records: j.stats.records.Load(), Commits: j.stats.commits.Load(), Failed: j.stats.failed.Load(),
		Damaged: j.damaged, LastBatch: int(j.stats.batch.Load()),
	}
	if p := j.stats.failing.Load(); p != nil {
		s.Failing = (*p).Error()
	}
	if s.Last == 0 {
		s.Last = j.writer.start
	}
	return s
}

type stats struct {
	records, commits, failed atomic.Uint64
	last, batch              atomic.Int64
	failing                  atomic.Pointer[error]
}

func (s *stats) committed(batch []*request, err error) {
	if err != nil {
		s.failing.Store(&err)
		return
	}
	rows := 0
	for _, req := range batch {
		rows += len(req.rows)
	}
	newest := batch[len(batch)-1]
	s.last.Store(newest.first + int64(len(newest.rows)) - 1)
	s.batch.Store(int64(rows))
	s.records.Add(uint64(rows))
	s.commits.Add(1)
	if s.failing.Load() != nil {
		s.failing.Store(nil)
	}
}

// request is the records of one Append on their way through the writer.
type request struct {
	rows  []row
	text  bytes.Buffer // holds the records of all rows
	first int64        // sequence number of the first row, set by the writer
	done  chan error
}

// newest returns the newest sequence number, 0 when the journal is empty.
func newest(q interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) (int64, error) {
	var seq sql.NullInt64
	err := q.QueryRowContext(context.Background(), "SELECT max(seq) FROM decisions").Scan(&seq)
	return seq.Int64, err
}
