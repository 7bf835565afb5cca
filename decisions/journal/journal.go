// Package journal is the decision log: it stores every decision before its
// answer is sent, and reads them back for lists and followers. It stores
// records unmodified: the caller masks secrets.
//
// A record is first appended to the spool, a file format of permd's own, and is
// durable then. The mover later transfers records to the SQLite database in the
// background, many in one transaction. Readers see both.
//
// One caller writes at a time. A caller that finds the journal idle writes its
// own records at once, without switching goroutines, which would cost as much
// as the write. Callers that arrive meanwhile queue up; when the write is done,
// the first of them writes everything in the queue (group commit without a
// timer). Queue and spool are bounded: if the disk is slower than the requests,
// Append waits.
package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"embed"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/chain"
	"github.com/permd/permd/decisions/journal/names"
	"github.com/permd/permd/internal/sqlitedb"
)

// Durability is what an appended record survives.
type Durability string

// The durabilities, as written in permd.toml.
const (
	Process Durability = "process" // the daemon being killed; after a power loss the newest records may be gone
	Power   Durability = "power"   // a power loss; each commit waits for the disk
)

// Bounds of the journal.
const (
	// MaxRecord is the maximum size of a record, in bytes of JSON.
	MaxRecord = 8 << 20
	// queueLength bounds the calls of Append that wait for the writer. It is
	// far above what the connections of one machine keep in flight.
	queueLength = 1024
	// batchRows bounds a batch, so that its first caller does not wait for
	// ever.
	batchRows = 512
	// promptWrite is how long a write may take for the next one to be expected to end at
	// once. To the kernel's memory it takes some microseconds, to a disk much longer.
	promptWrite = 50 * time.Microsecond
	// keepBytes bounds the memory kept for reuse.
	keepBytes = 64 << 10
)

var (
	// ErrClosed is returned by Append after Close.
	ErrClosed = errors.New("journal is closed")
	// ErrRecord means that a record cannot be stored, now or later.
	ErrRecord = errors.New("record cannot be stored")
)

//go:embed schema*.sql
var schemas embed.FS

// migrations returns the statements that make the database, and those of each later version.
func migrations() []string {
	list := make([]string, 8)
	for i := range list {
		text, err := schemas.ReadFile(fmt.Sprintf("schema%d.sql", i+1))
		if err != nil {
			panic(err) // it is a part of the program
		}
		list[i] = string(text)
	}
	return list
}

// applicationID marks the file as a journal of permd: "pmdJ".
const applicationID = 0x706d_644a

// Options configure where the journal is and its durability.
type Options struct {
	// Path is the absolute path of the database, in a folder that only the
	// daemon can access.
	Path string
	// Durability is Process if empty.
	Durability Durability
	// MaxBytes and MaxAge limit what is kept, 0 for no limit. The oldest decisions
	// are removed first, except for those that are needed.
	MaxBytes int64
	MaxAge   time.Duration
	// Referenced reports whether a choice still exists, whose decision is kept; if
	// nil, all do.
	Referenced func(choiceID string) bool
	// Head gets the head of the chain of hashes after the start, at least every minute or
	// 1000 entries while there are new ones, and at the end; nil for nobody. It must not
	// block: what it waits for, the database waits for.
	Head func(chain.Head)
	// Wrote is called with what a user's records have taken in the spool, in bytes; nil for nobody.
	Wrote func(uid uint32, bytes int)
	// Log gets a line for what is removed and for a lack of space; nil for none.
	Log *slog.Logger
	// Now is the clock; time.Now if nil.
	Now func() time.Time

	// steadyFor and freeSpace are for tests.
	steadyFor time.Duration
	freeSpace func() (free, total int64, ok bool)
}

func (o *Options) database() (sqlitedb.Options, error) {
	db := sqlitedb.Options{
		Path: o.Path, ApplicationID: applicationID, Migrations: migrations(), Now: o.Now,
		Additive: true, Shrinks: true,
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
	damaged    []string // where damaged files were set aside
	startSeq   int64    // newest sequence number at the start
	maxWaiting int64    // bytes in the spool, see maxWaiting
	wrote      func(uid uint32, bytes int)

	requests sync.Pool
	slots    chan struct{} // one for each Append under way
	quit     chan struct{} // closed by Close
	close    sync.Once
	closeErr error

	mu     sync.Mutex
	queue  []*request // wait for a writer
	busy   bool       // a caller is writing, or has been told to
	closed bool
	idle   chan struct{} // closed when the last writer has ended after Close

	prompt atomic.Bool // nobody writes, and the latest write took less than promptWrite

	next  int64 // sequence number of the next record; owned by the writing caller
	mover mover
	stats stats
}

var (
	_ decisions.Journal       = (*Journal)(nil)
	_ decisions.PromptJournal = (*Journal)(nil)
)

// Open opens or creates the journal. A damaged one is set aside, never deleted,
// and replaced by an empty one; Status reports it. A journal from a newer
// version is not touched: the error is sqlitedb.ErrNewer.
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
		maxWaiting: maxWaiting,
		wrote:      o.Wrote,
		slots:      make(chan struct{}, queueLength),
		quit:       make(chan struct{}),
		idle:       make(chan struct{}),
	}
	if aside != "" {
		j.damaged = append(j.damaged, aside)
	}
	j.requests.New = func() any { return &request{reply: make(chan reply, 1)} }
	if err := j.start(&o, db); err != nil {
		return nil, fmt.Errorf("opening journal: %w", errors.Join(err, db.Close()))
	}
	return j, nil
}

// Append stores the records and returns when they are durable, with their
// sequence numbers set. It waits while the queue is full. On an error the
// records may or may not be stored, and no allow may be sent; a later call
// tries again, since a full disk may have been cleared. If ctx ends while
// others write, Append returns at once; its own write is not interrupted.
func (j *Journal) Append(ctx context.Context, recs ...*decisions.Record) error {
	if len(recs) == 0 {
		return nil
	}
	req := j.requests.Get().(*request)
	// Every caller encodes its own records before it queues, so that encoding
	// is parallel.
	err := req.fill(recs)
	if err == nil {
		err = j.pass(ctx, req)
	}
	if err != nil {
		j.stats.failed.Add(1)
		return fmt.Errorf("appending to journal: %w", err)
	}
	for i, rec := range recs {
		rec.Seq = req.first + int64(i)
	}
	if j.wrote != nil {
		j.wrote(recs[0].Peer.UID, len(req.frames))
	}
	j.free(req)
	return nil
}

// Prompt implements [decisions.PromptJournal].
func (j *Journal) Prompt() bool { return j.prompt.Load() && j.spool.waiting.Load() < j.maxWaiting }

// free keeps a request for reuse, unless it has grown large.
func (j *Journal) free(req *request) {
	if cap(req.frames) <= keepBytes {
		j.requests.Put(req)
	}
}

// Close waits for running appends, refuses later ones, ends followers, moves
// the spool to the database and closes both. What cannot be moved stays in the
// spool until the journal is opened again.
func (j *Journal) Close() error {
	j.close.Do(func() {
		close(j.quit)
		j.mu.Lock()
		j.closed = true
		if !j.busy {
			close(j.idle)
		}
		j.mu.Unlock()
		<-j.idle
		err := errors.Join(j.mover.stop(), j.mover.writer.finish(), j.Reader.Close(), j.spool.close())
		if err != nil {
			j.closeErr = fmt.Errorf("closing journal: %w", err)
		}
	})
	return j.closeErr
}

// Status is the state of the journal.
type Status struct {
	Last      int64  `json:"last"`               // newest sequence number, 0 when empty
	Queued    int    `json:"queued"`             // appends that have not ended yet
	Waiting   int    `json:"waiting"`            // those of them that wait for another's write
	Capacity  int    `json:"capacity"`           // the largest Queued; more callers wait outside
	Records   uint64 `json:"records"`            // stored since the start
	Commits   uint64 `json:"commits"`            // writes since the start
	Failed    uint64 `json:"failed"`             // appends that failed since the start
	Failing   string `json:"failing,omitzero"`   // the latest write's error, "" if it succeeded
	Stalled   string `json:"stalled,omitzero"`   // why records in the spool are not moved to the database, "" if they are
	Spooled   int64  `json:"spooled"`            // bytes of records not in the database yet
	Unnamed   int64  `json:"unnamed,omitzero"`   // decisions that the index of names still lacks
	Damaged   string `json:"setAside,omitzero"`  // where damaged files were set aside at the start
	LastBatch int    `json:"lastBatch,omitzero"` // records in the latest commit

	Retention Retention `json:"retention"`
	// Head is the end of the chain of hashes; what is in the spool comes after it.
	Head chain.Head `json:"head"`
}

// Status returns the journal's state.
func (j *Journal) Status() Status {
	j.mu.Lock()
	waiting := len(j.queue)
	j.mu.Unlock()
	s := Status{
		Last: j.stats.last.Load(), Queued: len(j.slots), Waiting: waiting, Capacity: cap(j.slots),
		Records: j.stats.records.Load(), Commits: j.stats.commits.Load(), Failed: j.stats.failed.Load(),
		Damaged: strings.Join(j.damaged, ", "), LastBatch: int(j.stats.batch.Load()), Spooled: j.spool.waiting.Load(),
		Unnamed: j.mover.names.waiting.Load() * names.Size,
	}
	if err := j.mover.retriedState(); err != nil {
		s.Stalled = err.Error()
	}
	if p := j.stats.failing.Load(); p != nil {
		s.Failing = (*p).Error()
	} else if err := j.Look(); err != nil {
		s.Failing = err.Error()
	}
	if r := j.mover.retention.status.Load(); r != nil {
		s.Retention = *r
	}
	if h := j.mover.heads.latest.Load(); h != nil {
		s.Head = *h
	}
	if s.Last == 0 {
		s.Last = j.startSeq
	}
	return s
}

// Look makes sure that the journal's files are in their place. If they are not, the
// next append fails; Append itself does not look that closely each time. The daemon
// calls it every second.
func (j *Journal) Look() error {
	if err := j.db.InPlace(); err != nil {
		j.spool.distrust()
		return fmt.Errorf("looking for the journal: %w", err)
	}
	return nil
}

type stats struct {
	records, commits, failed atomic.Uint64
	last, batch              atomic.Int64
	failing                  atomic.Pointer[error]
}

func (s *stats) committed(batch []*request, err error) {
	if err != nil {
		failing := err // on the heap, and err is not
		s.failing.Store(&failing)
		return
	}
	rows := 0
	for _, req := range batch {
		rows += req.rows
	}
	if only, _ := probed(batch); !only {
		newest := batch[len(batch)-1]
		s.last.Store(newest.first + int64(newest.rows) - 1)
		s.batch.Store(int64(rows))
		s.records.Add(uint64(rows))
		s.commits.Add(1)
	}
	if s.failing.Load() != nil {
		s.failing.Store(nil)
	}
}

// newest returns the newest sequence number in the database, 0 when it is empty.
func newest(ctx context.Context, q interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) (int64, error) {
	var seq sql.NullInt64
	err := q.QueryRowContext(ctx, "SELECT max(seq) FROM decisions").Scan(&seq)
	return seq.Int64, err
}
