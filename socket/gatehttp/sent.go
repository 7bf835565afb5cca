package gatehttp

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/internal/lockfile"
	"github.com/permd/permd/internal/xdg"
)

// Bounds of what is kept of calls that were sent.
const (
	maxSent     = 32 << 10 // calls; the oldest are forgotten
	maxSentFile = 4 * maxSent * sentLine
	sentLine    = 4*sentBytes + 2 // bytes of a line
	sentBytes   = 16
	sentWait    = 5 * time.Second // for a gateway that ends
)

// Sent are the calls that a gateway has sent, in a file: after a restart too, none is sent
// twice. Of ids and calls it keeps digests alone. A nil Sent knows no call.
type Sent struct {
	path string
	lock *lockfile.Lock

	mu    sync.Mutex
	file  *os.File
	lines int // in the file
	by    map[sentSum]sentSum
	order []sentSum // the oldest first
}

// sentSum is a part of a digest. Zero stands for a call that was not sent after all.
type sentSum [sentBytes]byte

// OpenSent opens the file of the gateway that listens at an address, in a folder of its own,
// which is made. The error is that the file cannot be read, or another gateway uses it.
func OpenSent(dir, address string) (*Sent, error) {
	sum := sha256.Sum256([]byte(address))
	s := &Sent{path: filepath.Join(dir, hex.EncodeToString(sum[:8])+".sent"), by: map[sentSum]sentSum{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of calls that were sent: %w", err)
	}
	err := xdg.CheckOwn(dir, uint32(os.Geteuid()), 0o022)
	if err == nil {
		s.lock, err = lockSent(s.path + ".lock")
	}
	if err == nil {
		if err = s.load(); err != nil {
			err = errors.Join(err, s.lock.Free())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading which calls were sent: %w (look at %s; without it calls may be sent again)", err, s.path)
	}
	return s, nil
}

func lockSent(path string) (*lockfile.Lock, error) {
	for end := time.Now().Add(sentWait); ; time.Sleep(20 * time.Millisecond) {
		lock, err := lockfile.Take(path)
		if _, held := errors.AsType[*lockfile.Held](err); held && time.Now().Before(end) {
			continue
		}
		return lock, err
	}
}

// load reads the file. One whose last line was not written to its end, as before a power cut,
// or that is too long is written anew.
func (s *Sent) load() error {
	file, err := os.OpenFile(s.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	s.file = file
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || !ok || int(owner.Uid) != os.Geteuid() {
		return errors.Join(errors.New("it is no file, or others can change it"), file.Close())
	}
	data, err := io.ReadAll(io.LimitReader(file, maxSentFile+1))
	if err == nil && len(data) > maxSentFile {
		err = errors.New("it is too long")
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	whole := len(data) - len(data)%sentLine
	for at := 0; at < whole; at += sentLine {
		key, call, ok := readSent(data[at : at+sentLine])
		if !ok {
			return errors.Join(errors.New("it is damaged"), file.Close())
		}
		s.add(key, call)
	}
	if s.lines = whole / sentLine; whole < len(data) || s.lines > maxSent {
		if err := s.rewrite(); err != nil {
			return errors.Join(err, s.file.Close())
		}
	}
	return nil
}

func readSent(line []byte) (key, call sentSum, ok bool) {
	_, err := hex.Decode(key[:], line[:2*sentBytes])
	_, err2 := hex.Decode(call[:], line[2*sentBytes+1:4*sentBytes+1])
	return key, call, err == nil && err2 == nil && line[2*sentBytes] == ' ' && line[sentLine-1] == '\n'
}

func appendSent(b []byte, key, call sentSum) []byte {
	b = append(hex.AppendEncode(b, key[:]), ' ')
	return append(hex.AppendEncode(b, call[:]), '\n')
}

// add adds a call to those that are known.
func (s *Sent) add(key, call sentSum) {
	_, known := s.by[key]
	switch {
	case call == sentSum{}:
		delete(s.by, key)
		s.order = slices.DeleteFunc(s.order, func(k sentSum) bool { return k == key })
		return
	case !known:
		s.order = append(s.order, key)
	}
	s.by[key] = call
	if len(s.order) > maxSent {
		delete(s.by, s.order[0])
		s.order = s.order[1:]
	}
}

// rewrite replaces the file by one with the calls that are known.
func (s *Sent) rewrite() error {
	var b bytes.Buffer
	for _, key := range s.order {
		b.Write(appendSent(nil, key, s.by[key]))
	}
	made := s.path + ".new"
	if err := os.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(made, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(b.Bytes())
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = os.Rename(made, s.path)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	old := s.file
	s.file, s.lines = file, len(s.order)
	return old.Close()
}

// sentKey is the key of a call by its id, whose parts are kept apart.
func sentKey(id []string) (key sentSum) {
	h := sha256.New()
	for _, part := range id {
		_ = binary.Write(h, binary.BigEndian, uint64(len(part)))
		_, _ = io.WriteString(h, part)
	}
	copy(key[:], h.Sum(nil))
	return key
}

// Find reports whether a call with that id was sent, and whether it was this one, by its
// digest.
func (s *Sent) Find(call [sha256.Size]byte, id ...string) (sent, same bool) {
	if s == nil {
		return false, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was, sent := s.by[sentKey(id)]
	return sent, was == sentSum(call[:sentBytes])
}

// Forget notes that a call which was noted was not sent after all.
func (s *Sent) Forget(id ...string) error { return s.Note([sha256.Size]byte{}, id...) }

// Note notes that a call is sent now. After an error it must not be sent.
func (s *Sent) Note(call [sha256.Size]byte, id ...string) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key, sum := sentKey(id), sentSum(call[:sentBytes])
	if s.by[key] == sum {
		return nil
	}
	if s.lines >= 2*maxSent {
		if err := s.rewrite(); err != nil {
			return fmt.Errorf("noting that a call is sent: %w", err)
		}
	}
	_, err := s.file.Write(appendSent(nil, key, sum))
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		// A part of the line may be there.
		err = errors.Join(err, s.file.Truncate(int64(s.lines)*sentLine))
		return fmt.Errorf("noting that a call is sent: %w", err)
	}
	s.lines++
	s.add(key, sum)
	return nil
}

// Close closes the file. No call may be noted any more.
func (s *Sent) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.file.Close(), s.lock.Free())
}
