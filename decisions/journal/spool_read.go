package journal

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/chain"
	"github.com/permd/permd/internal/sqlitedb"
)

// spooledRecords are the records in a journal's spool, ordered by sequence
// number. Some of them may also be in the database.
type spooledRecords struct {
	records []frame
	answers []frame
	runs    []frame // reports that the call of a question has run
	endings []frame // reports how a call ended
}

// add adds the frames of a segment, up to one that cannot be read.
func (c *spooledRecords) add(data []byte) {
	for f, err := range frames(data) {
		if err != nil {
			return
		}
		switch f.kind {
		case chain.Answer:
			c.answers = append(c.answers, f)
		case chain.Ran:
			c.runs = append(c.runs, f)
		case chain.Ended:
			c.endings = append(c.endings, f)
		default:
			c.records = append(c.records, f)
		}
	}
}

// after drops the records up to a sequence number.
func (c *spooledRecords) after(seq int64) {
	n := 0
	for n < len(c.records) && c.records[n].seq <= seq {
		n++
	}
	c.records = c.records[n:]
}

// contiguous reports whether the records are consecutive and continue that
// number.
func (c *spooledRecords) contiguous(last int64) bool {
	for _, f := range c.records {
		if f.seq != last+1 {
			return false
		}
		last++
	}
	return true
}

// answer adds what is in the spool about a record: a person's answer, that its call has
// run, and how it ended.
func (c *spooledRecords) answer(rec *decisions.Record) error {
	defer takenBack(rec)
	if rec.Ran == nil {
		rec.Ran = c.ran(rec.Seq)
	}
	if rec.Ended == nil {
		rec.Ended = c.ended(rec.Seq)
	}
	if rec.Answer != nil {
		return nil // the first one is kept
	}
	for _, f := range c.answers {
		if f.seq == rec.Seq {
			said := answerColumns{
				at:      sql.NullInt64{Int64: f.time, Valid: true},
				verdict: sql.NullString{String: string(f.texts[answerVerdict]), Valid: true}, info: f.json,
			}
			if err := said.to(rec); err != nil {
				return fmt.Errorf("record %d: %w", rec.Seq, err)
			}
			return nil
		}
	}
	return nil
}

// record reads a frame's record.
func (c *spooledRecords) record(f *frame) (*decisions.Record, error) {
	rec, err := Decode(f.json)
	if err != nil {
		return nil, fmt.Errorf("record %d: %w", f.seq, err)
	}
	rec.Seq = f.seq
	return rec, c.answer(rec)
}

// passes applies the filter to records that are not in the database, like its
// where clause.
func (f *filter) passes(r *frame) bool {
	is := func(want string, have int) bool { return want == "" || column(want) == string(r.texts[have]) }
	return (f.After <= 0 || r.seq > f.After) && (f.Before <= 0 || r.seq < f.Before) &&
		(f.Since.IsZero() || r.time >= f.Since.UnixNano()) && (f.Until.IsZero() || r.time < f.Until.UnixNano()) &&
		is(string(f.Verdict), textVerdict) && is(string(f.By), textBy) &&
		is(f.Session, textSession) && is(f.Agent, textAgent) && is(f.Tool, textTool) &&
		(f.UID == nil || *f.UID == r.uid) &&
		(!f.Unapproved || bytes.Contains(r.json, outcomeMember(decisions.RanUnprompted)) || bytes.Contains(r.json, outcomeMember(decisions.RanDespiteDeny)))
}

// view is the journal at one moment: the database, and the part of the spool
// that is not in it yet.
type view struct {
	spooledRecords
	tx   *sql.Tx
	last int64 // the newest sequence number in the database
	cut  int64 // retention has removed up to this one; only where it is needed
}

// withView calls f with the current journal. The spool is read first: records
// that leave it meanwhile are in the database by then.
func (r *Reader) withView(ctx context.Context, f func(*view) error) error {
	return r.withSpool(func(c spooledRecords, again bool) (err error) {
		// A context that can be cancelled costs a goroutine for each statement.
		tx, err := r.db.Read.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // read-only
		v := &view{spooledRecords: c, tx: tx}
		if v.last, err = newest(ctx, tx); err != nil {
			return err
		}
		v.after(v.last)
		if again && !v.contiguous(v.last) {
			return errGap
		}
		return f(v)
	})
}

// errGap requests another read of the spool: its segments are read one after
// the other, and the writer may have switched segments in between.
var errGap = errors.New("the spool has a gap")

// withSpool calls f with the content of the spool; again says that f may
// request another read. The data is only valid during the call.
func (r *Reader) withSpool(f func(c spooledRecords, again bool) error) (err error) {
	if r.spool != nil {
		r.spool.read(func(older, newer []byte) {
			var c spooledRecords
			c.add(older)
			c.add(newer)
			err = f(c, false)
		})
		return err
	}
	const looks = 3
	for n := 1; ; n++ {
		c, err := readSpool(r.path)
		if err != nil {
			return err
		}
		if err = f(c, n < looks); err != errGap { //nolint:errorlint // passed on as it is
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// readSpool reads a spool that another process writes or wrote.
func readSpool(path string) (c spooledRecords, err error) {
	for i := range segments {
		data, err := readForeign(path + spoolSuffix + string(rune('0'+i)))
		if err != nil {
			return c, fmt.Errorf("reading the spool: %w", err)
		}
		c.add(data)
	}
	slices.SortStableFunc(c.records, func(a, b frame) int { return cmp.Compare(a.seq, b.seq) })
	return c, nil
}

// readForeign reads a segment. Damage is left to the daemon.
func readForeign(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := statOf(f)
	if err != nil {
		return nil, err
	}
	switch {
	case uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG: //nolint:unconvert // 16 bits on macOS
		return nil, fmt.Errorf("%s: %w: it is no regular file", filepath.Base(path), sqlitedb.ErrUnsafe)
	case int(st.Uid) != os.Geteuid() && os.Geteuid() != 0:
		return nil, fmt.Errorf("%s: %w: it belongs to someone else", filepath.Base(path), sqlitedb.ErrUnsafe)
	case st.Size == 0:
		return nil, nil
	}
	data, err := readSegment(f, st.Size)
	if errors.Is(err, errTorn) || errors.Is(err, errDamaged) {
		err = nil
	}
	return data, err
}
