package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/permd/permd/internal/sqlitedb"
)

// start opens the spool of the open database and continues where the journal
// ended.
func (j *Journal) start(o *Options, db *sqlitedb.DB) error {
	w := new(writer)
	if err := w.prepare(db.Write, db.InPlace); err != nil {
		return err
	}
	s, err := j.openSpool(o, db, w)
	if err != nil {
		return errors.Join(err, w.finish())
	}
	j.next = w.last + 1 // only now: part of a damaged spool may have been stored
	for i := range s.seg {
		n := len(s.seg[i].frames)
		s.waiting.Add(int64(n))
		for f := range records(s.seg[i].frames) {
			j.next = max(j.next, f.seq+1)
		}
	}
	j.Reader = newReader(db, o.Path, s)
	j.startSeq = j.next - 1
	j.mover.spool, j.mover.writer = s, w
	if j.mover.rejects.atStart, err = j.mover.rejects.load(context.Background(), w); err != nil {
		return errors.Join(err, w.finish(), s.close())
	}
	j.mover.retention.configure(o, w, db, s)
	j.mover.heads.configure(o, &w.chain)
	j.mover.names.writer, j.mover.names.log = w, o.Log
	j.mover.names.start(context.Background())
	j.mover.retention.names = &j.mover.names
	j.mover.start()
	if s.waiting.Load() > 0 {
		j.mover.moveNow()
	}
	return nil
}

// openSpool opens the spool, and again after it has set aside what cannot be
// used of it.
func (j *Journal) openSpool(o *Options, db *sqlitedb.DB, w *writer) (*spool, error) {
	power := o.Durability == Power
	s, err := openSpool(o.Path, power, db)
	if err != nil {
		return nil, err
	}
	aside, err := s.unusableSegments(w)
	if err == nil && len(aside) == 0 {
		return s, nil
	}
	if err := errors.Join(err, s.close()); err != nil {
		return nil, err
	}
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	for _, name := range aside {
		path, err := setAside(filepath.Join(filepath.Dir(o.Path), name), now())
		if err != nil {
			return nil, err
		}
		j.damaged = append(j.damaged, path)
	}
	return openSpool(o.Path, power, db)
}

// unusableSegments returns the names of the segments to set aside: those that are
// damaged, after their readable part was stored, and those that belong to
// another database, since their numbers mean other records there. It makes the
// segment with the older records the next to be moved.
func (s *spool) unusableSegments(w *writer) (names []string, err error) {
	// A segment that holds only answers is never the older: they may be answers
	// to records of the other.
	if a, b := firstOf(s.seg[0].frames), firstOf(s.seg[1].frames); a > 0 && (b == 0 || b > a) {
		s.active = 1
	}
	for _, i := range []int{1 - s.active, s.active} {
		g := &s.seg[i]
		ours, err := belongs(g.frames, w)
		if err != nil {
			return nil, fmt.Errorf("comparing the spool with the database: %w", err)
		}
		if ours && !g.damaged {
			continue
		}
		names = append(names, g.name)
		if !ours {
			continue
		}
		if i == s.active {
			// The older ones come first, or they would be taken for stored
			// already.
			if err := w.store(s.seg[1-i].frames); err != nil {
				return nil, err
			}
		}
		if err := w.store(g.frames); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// firstOf is the first sequence number of a segment, 0 when it is empty.
func firstOf(all []byte) int64 {
	for f := range records(all) {
		return f.seq
	}
	return 0
}

// belongs reports whether the records that the database seems to contain
// already are the same there.
func belongs(all []byte, w *writer) (bool, error) {
	for f := range records(all) {
		if f.seq > w.last {
			continue
		}
		if ok, err := w.had(f.seq, string(f.texts[textID])); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// setAside renames a file that cannot be used. Nothing is deleted.
func setAside(path string, now time.Time) (string, error) {
	target := path + ".damaged-" + now.UTC().Format("20060102T150405Z")
	for n := 2; ; n++ {
		_, err := os.Lstat(target)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil || n > 1000 {
			return "", fmt.Errorf("setting %s aside: %w", path, errors.Join(err, fs.ErrExist))
		}
		target = fmt.Sprintf("%s.damaged-%s-%d", path, now.UTC().Format("20060102T150405Z"), n)
	}
	if err := os.Rename(path, target); err != nil {
		return "", fmt.Errorf("setting aside: %w", err)
	}
	return target, nil
}
