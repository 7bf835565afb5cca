package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/internal/sqlitedb"
)

// Names and sizes of the spool.
const (
	spoolSuffix = ".spool-" // and the number of the segment, after the database's name
	segments    = 2
	// headSize is the first page of a segment, which identifies it; frames
	// begin after it.
	headSize = 4096
	// maxWaiting bounds the frames that are in the spool but not in the
	// database yet, in bytes: Append waits above it.
	maxWaiting = 8 << 20
	// Memory of frames that is reused: it starts with minFrames bytes and doubles.
	// keepFrames bounds it while it is needed, idleFrames while it is not.
	minFrames  = 64 << 10
	idleFrames = 1 << 20
	keepFrames = maxWaiting / 2
)

// spoolHead begins a segment: its type and format version.
var spoolHead = []byte("permd spool\n\x00\x00\x00\x01")

// spool holds new records: two files, one of which is appended to while the
// content of the other moves to the database. A single write makes them survive
// the end of the process, as SQLite's log would, in a twentieth of the time.
// The content of the files is also kept in RAM.
type spool struct {
	dir      *os.File // the database's folder
	power    bool     // each write waits for the disk
	dirState dirCache

	// waiting is the number of bytes not in the database yet.
	waiting atomic.Int64

	mu      sync.Mutex // guards the fields below
	active  int        // the segment that is appended to
	readers int        // of frames
	seg     [segments]segment
}

// segment is one file of a spool.
type segment struct {
	name string // in the folder
	file *os.File
	dev  uint64
	ino  uint64
	// frames is the content of the file after its head; size is its end.
	frames []byte
	size   int64
	// broken is why there may be data after the end, nil if there is none.
	broken error
	// damaged is set if the file could not be read to its end at the start.
	damaged bool
}

// openSpool opens the segments, or creates them. The database's lock is held. A
// damaged segment is left as it is.
func openSpool(path string, power bool, db *sqlitedb.DB) (*spool, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("opening the spool's folder: %w", err)
	}
	s := &spool{dir: dir, power: power, dirState: dirCache{dir: dir, database: db.QuickInPlace}}
	for i := range s.seg {
		g := &s.seg[i]
		g.name = filepath.Base(path) + spoolSuffix + string(rune('0'+i))
		if err = s.open(g); err != nil {
			return nil, errors.Join(fmt.Errorf("opening the spool: %w", err), s.close())
		}
	}
	return s, nil
}

// open opens a segment's file, or creates it, and reads it.
func (s *spool) open(g *segment) error {
	path := filepath.Join(s.dir.Name(), g.name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return fmt.Errorf("%s: %w: it is a link", path, sqlitedb.ErrUnsafe)
	}
	if err != nil {
		return err
	}
	g.file = f
	st, err := statOf(f)
	if err != nil {
		return err
	}
	mode := uint32(st.Mode) //nolint:unconvert // 16 bits on macOS
	switch {
	case mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%s: %w: it is no regular file", path, sqlitedb.ErrUnsafe)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s: %w: it belongs to someone else", path, sqlitedb.ErrUnsafe)
	case mode&0o077 != 0:
		return fmt.Errorf("%s: %w: others may open it (mode %04o, want 0600)", path, sqlitedb.ErrUnsafe, mode&0o777)
	}
	g.dev, g.ino = uint64(st.Dev), uint64(st.Ino) //nolint:unconvert // the types differ between systems
	if st.Size == 0 {
		return s.begin(g)
	}
	g.frames, err = readSegment(f, st.Size)
	g.size = headSize + int64(len(g.frames))
	switch {
	case errors.Is(err, errTorn) && st.Size < headSize:
		return s.begin(g)
	case errors.Is(err, errTorn):
		// The process ended while it wrote the frame, so no answer was sent.
		return s.cut(g)
	case errors.Is(err, errDamaged):
		g.damaged = true
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readSegment reads the frames of a segment, up to the first one that cannot be
// read.
func readSegment(f *os.File, size int64) ([]byte, error) {
	data := make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if data = data[:n]; err != nil && n == 0 {
		return nil, fmt.Errorf("reading: %w", err)
	}
	head := data[:min(len(data), headSize)]
	switch {
	case len(head) < headSize && isHead(head):
		return nil, errTorn // it was being created
	case len(head) < headSize, !bytes.HasPrefix(head, spoolHead[:len(spoolHead)-4]):
		return nil, errDamaged
	case !isHead(head):
		return nil, sqlitedb.ErrNewer
	}
	data = data[headSize:]
	good := 0
	for _, err := range frames(data) {
		if err != nil {
			return data[:good], err
		}
		good += sizeOf(data[good:])
	}
	return data, nil
}

// isHead reports whether data is a prefix of a head, or starts with one.
func isHead(data []byte) bool {
	whole := make([]byte, headSize)
	copy(whole, spoolHead)
	return bytes.HasPrefix(whole, data)
}

// begin makes a segment empty.
func (s *spool) begin(g *segment) error {
	head := make([]byte, headSize)
	copy(head, spoolHead)
	if _, err := g.file.WriteAt(head, 0); err != nil {
		return fmt.Errorf("making %s: %w", g.name, err)
	}
	g.frames, g.size = nil, headSize
	if err := s.cut(g); err != nil {
		return err
	}
	if s.power {
		return errors.Join(g.file.Sync(), s.dir.Sync())
	}
	return nil
}

// cut truncates a segment at its end.
func (s *spool) cut(g *segment) error {
	if g.size < headSize {
		return s.begin(g)
	}
	if err := g.file.Truncate(g.size); err != nil {
		return fmt.Errorf("cutting %s: %w", g.name, err)
	}
	return nil
}

// append stores stamped frames, and returns how many bytes are waiting then. On
// an error they are not stored, as far as can be told.
func (s *spool) append(frames []byte) (waiting int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.inPlace(); err != nil {
		return 0, err
	}
	g := &s.seg[s.active]
	if g.broken != nil {
		// Bytes after the end would be taken for damage.
		if err := s.cut(g); err != nil {
			return 0, errors.Join(g.broken, err)
		}
		g.broken = nil
	}
	_, err = g.file.WriteAt(frames, g.size)
	if err == nil && s.power {
		err = g.file.Sync()
	}
	if err != nil {
		g.broken = s.cut(g)
		return 0, fmt.Errorf("writing to the spool: %w", errors.Join(err, g.broken))
	}
	g.size += int64(len(frames))
	g.keep(frames)
	return s.waiting.Add(int64(len(frames))), nil
}

// keep appends to the content in RAM.
func (g *segment) keep(frames []byte) {
	if need := len(g.frames) + len(frames); need > cap(g.frames) {
		// Twice as much, whatever its size is: append would copy some hundred KiB again and
		// again.
		g.frames = append(make([]byte, 0, max(need, 2*cap(g.frames), minFrames)), g.frames...)
	}
	g.frames = append(g.frames, frames...)
}

// reusable reports whether the memory of frames that are not needed any more is to be
// reused.
func (g *segment) reusable() bool {
	n := cap(g.frames)
	return n <= idleFrames || n <= keepFrames && len(g.frames) > n/4
}

// inPlace returns an error if the files are no longer the ones that were
// opened: data written to an unlinked file is lost with the process. The lock
// is held.
func (s *spool) inPlace() error {
	g := &s.seg[s.active]
	st, err := statOf(g.file)
	if err != nil {
		return fmt.Errorf("looking at %s: %w", g.name, err)
	}
	if st.Size < g.size {
		return fmt.Errorf("%w: %s was cut", sqlitedb.ErrGone, g.name)
	}
	return s.dirState.check(func() error {
		for i := range s.seg {
			g := &s.seg[i]
			var st unix.Stat_t
			err := unix.Fstatat(int(s.dir.Fd()), g.name, &st, unix.AT_SYMLINK_NOFOLLOW)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("%w: %s is gone", sqlitedb.ErrGone, g.name)
			case err != nil:
				return fmt.Errorf("looking at %s: %w", g.name, err)
			case g.dev != uint64(st.Dev) || g.ino != uint64(st.Ino): //nolint:unconvert // the types differ between systems
				return fmt.Errorf("%w: %s is another file", sqlitedb.ErrGone, g.name)
			}
		}
		return nil
	})
}

// distrust makes the next append compare all files, and the folder, with their names.
func (s *spool) distrust() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirState.valid = false
}

// next returns the data to move to the database: the frames of the segment that
// is not appended to. If that is empty, the segments are swapped. The frames do
// not change until moved is called.
func (s *spool) next() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seg[1-s.active].frames) == 0 {
		s.active = 1 - s.active
	}
	return s.seg[1-s.active].frames
}

// moved empties the segment whose frames next returned. They are in the
// database.
func (s *spool) moved() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &s.seg[1-s.active]
	s.waiting.Add(-int64(len(g.frames)))
	if s.readers > 0 || !g.reusable() {
		g.frames = nil // data that is being read must not change
	} else {
		g.frames = g.frames[:0]
	}
	g.size = headSize
	g.broken = s.repair(g)
	return g.broken
}

// repair truncates a segment to its head, and recreates its file if it is gone
// or was cut shorter: its content is not needed any more.
func (s *spool) repair(g *segment) error {
	st, err := statOf(g.file)
	if err != nil {
		return fmt.Errorf("looking at %s: %w", g.name, err)
	}
	var named unix.Stat_t
	err = unix.Fstatat(int(s.dir.Fd()), g.name, &named, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		made := segment{name: g.name}
		if err := s.open(&made); err != nil {
			if made.file != nil {
				err = errors.Join(err, made.file.Close())
			}
			return err
		}
		gone := g.file
		*g = made
		return gone.Close()
	case st.Size < headSize:
		return s.begin(g)
	}
	return s.cut(g)
}

// read calls f with everything that is not known to be in the database, oldest
// first. The data is only valid during the call.
func (s *spool) read(f func(older, newer []byte)) {
	s.mu.Lock()
	older, newer := s.seg[1-s.active].frames, s.seg[s.active].frames
	s.readers++
	s.mu.Unlock()
	f(older, newer)
	s.mu.Lock()
	s.readers--
	s.mu.Unlock()
}

func (s *spool) close() error {
	var errs []error
	for i := range s.seg {
		if f := s.seg[i].file; f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(append(errs, s.dir.Close())...)
}

// dirCache tells whether a folder's names are unchanged. Looking up each file
// by name takes longer than writing; the folder's change time tells whether
// that is needed.
type dirCache struct {
	dir      *os.File
	database func() error // checks the database's files

	changed unix.Timespec // the folder's, when everything was last found in place
	valid   bool          // no later change can have that time
}

// ctimeGranularity is how much later than a change the folder must be read to
// be sure to see it: the kernel's clock for files ticks up to 10 ms apart.
const ctimeGranularity = 50 * time.Millisecond

func (s *dirCache) check(files func() error) error {
	now := time.Now()
	st, err := statOf(s.dir)
	if err != nil {
		return fmt.Errorf("looking at the journal's folder: %w", err)
	}
	if s.valid && st.Ctim == s.changed {
		return nil
	}
	s.valid = false
	if err := errors.Join(files(), s.database()); err != nil {
		return err
	}
	s.changed = st.Ctim
	s.valid = now.Sub(time.Unix(s.changed.Unix())).Abs() > ctimeGranularity
	return nil
}

func statOf(f *os.File) (st unix.Stat_t, err error) {
	for {
		if err = unix.Fstat(int(f.Fd()), &st); err != unix.EINTR {
			return st, err
		}
	}
}
