// Package heads sends the heads of the journal's chain of hashes to the system's journal,
// and reads them back: what has left permd's own files cannot be changed with them. The
// newest is also kept in the state folder, for the case that the data folder alone was
// replaced.
package heads

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/permd/permd/decisions/journal/chain"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/statefile"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/xdg"
)

// MessageID is the MESSAGE_ID of a head in the system's journal.
const MessageID = "0b6f5f0e6f0d4c1e9a3c2b7d5e8f4a61"

// Fields of a head in the system's journal.
const (
	fieldID      = "MESSAGE_ID"
	fieldTime    = "__REALTIME_TIMESTAMP" // microseconds, set by the system
	fieldPath    = "PERMD_JOURNAL"        // path of the database
	fieldChain   = "PERMD_CHAIN"
	fieldSeq     = "PERMD_SEQ"
	fieldEntries = "PERMD_ENTRIES"
	fieldHash    = "PERMD_HEAD"
)

const (
	// logEvery is how often heads go to the daemon's own log where there is no journal of
	// the system.
	logEvery = time.Hour
	// closeWithin bounds the wait for the system's journal at the end.
	closeWithin = time.Second
	// maxLine bounds a line that is read, in bytes.
	maxLine = 1 << 20
	// maxOld bounds the heads of earlier runs that are kept.
	maxOld = 16
)

// Sender sends heads. It never blocks who has them.
type Sender struct {
	path    string // of the database
	file    string // of the newest head
	log     *slog.Logger
	send    func(message string, fields map[string]string) error
	pending chan chain.Head // the newest one that was not sent yet
	done    chan struct{}
	mu      sync.Mutex
	old     []chain.Head // of earlier runs, as long as they are not known to be in the chain
	logged  time.Time
	failing bool // storing the newest head
}

// File returns where the newest head of the journal in the data folder is kept.
func File(dirs xdg.Dirs) string {
	sum := sha256.Sum256([]byte(dirs.Data))
	return filepath.Join(dirs.State, "head-"+hex.EncodeToString(sum[:6]))
}

// NewSender returns a Sender for the heads of the journal at path, of which file gets the
// newest. Where there is no
// journal of the system they go to log, every hour and at the end. What the file has stays
// in it until Compare has found it in the chain.
func NewSender(path, file string, log *slog.Logger) *Sender {
	return newSender(path, file, log, func(message string, fields map[string]string) error {
		return journal.Send(message, journal.PriInfo, fields)
	})
}

func newSender(path, file string, log *slog.Logger, send func(string, map[string]string) error) *Sender {
	old, err := Kept(file, path, uint32(os.Geteuid()))
	if err != nil {
		log.Warn("the head that the journal had is not known", "error", err)
	}
	s := &Sender{old: old, path: path, file: file, log: log, send: send, pending: make(chan chain.Head, 1), done: make(chan struct{})}
	go s.run()
	return s
}

// Compare drops the heads of earlier runs that the chain still has, and returns the others,
// at most maxOld: the journal was changed, or replaced.
func (s *Sender) Compare(continues func(*chain.Head) (bool, error)) (lost []chain.Head, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.old {
		ok, cerr := continues(&s.old[i])
		if err = errors.Join(err, cerr); !ok {
			lost = append(lost, s.old[i])
		}
	}
	s.old = lost[max(0, len(lost)-maxOld):]
	if err != nil {
		return nil, err
	}
	return slices.Clone(s.old), nil
}

// Send sends a head soon. It must not be called after Close, or by two at a time.
func (s *Sender) Send(h chain.Head) {
	select {
	case <-s.pending: // an older one says less
	default:
	}
	s.pending <- h
}

// Close sends what is pending. It does not wait long for a system's journal that takes
// nothing.
func (s *Sender) Close() {
	close(s.pending)
	late := time.NewTimer(closeWithin)
	defer late.Stop()
	select {
	case <-s.done:
	case <-late.C:
		s.log.Warn("the system's journal did not take the journal's head in time")
	}
}

func (s *Sender) run() {
	defer close(s.done)
	var unlogged chain.Head
	for h := range s.pending {
		err := s.store(&h)
		if failing := err != nil; failing != s.failing {
			if s.failing = failing; failing {
				s.log.Warn("the journal's head is not kept outside of the data folder", "error", err)
			}
		}
		fields := s.fields(&h)
		fields["SYSLOG_IDENTIFIER"] = "permd"
		err = s.send(fmt.Sprintf("permd journal: decision %d, head %s", h.Seq, h.Hash), fields)
		if err == nil {
			unlogged = chain.Head{}
			continue
		}
		if unlogged = h; time.Since(s.logged) >= logEvery {
			s.write(&unlogged)
		}
	}
	if unlogged.Hash != "" {
		s.write(&unlogged)
	}
}

// write writes a head to the daemon's log.
func (s *Sender) write(h *chain.Head) {
	s.log.Info("the journal's head", "decision", h.Seq, "entries", h.Entries, "head", h.Hash, "chain", h.Chain)
	s.logged = time.Now()
	*h = chain.Head{}
}

// store replaces the file with the newest head, and those that are not in the chain.
func (s *Sender) store(h *chain.Head) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("keeping the journal's head: %w", err)
		}
	}()
	var lines bytes.Buffer
	s.mu.Lock()
	all := append(slices.Clone(s.old), *h)
	s.mu.Unlock()
	for i := range all {
		fields := s.fields(&all[i])
		if at := all[i].Time; !at.IsZero() {
			fields[fieldTime] = strconv.FormatInt(at.UnixMicro(), 10)
		}
		text, err := json.Marshal(fields, json.Deterministic(true))
		if err != nil {
			return err
		}
		lines.Write(append(text, '\n'))
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return err
	}
	return statefile.Replace(s.file, lines.Bytes())
}

// fields are what the system's journal gets of a head.
func (s *Sender) fields(h *chain.Head) map[string]string {
	return map[string]string{
		fieldID: MessageID, fieldPath: s.path, fieldChain: h.Chain,
		fieldSeq: strconv.FormatInt(h.Seq, 10), fieldEntries: strconv.FormatInt(h.Entries, 10), fieldHash: h.Hash,
	}
}

// Kept returns the heads that the state folder of a user has of a journal, none if it has no
// such file.
func Kept(file, path string, uid uint32) ([]chain.Head, error) {
	f, err := statefile.Open(file, uid)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the journal's head: %w", err)
	}
	defer f.Close()
	return Read(f, path, -1)
}

// Read reads heads of the permd journal at path from lines as journalctl prints them with
// -o json. Lines about something else, or sent by another user than uid, are passed over;
// uid is -1 for any.
func Read(r io.Reader, path string, uid int) (list []chain.Head, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		o, err := strictjson.ParseObject(line)
		if err != nil {
			return nil, fmt.Errorf("reading heads: they are not in the form that journalctl -o json prints: %w", err)
		}
		text := func(name string) string {
			value, _ := o.Get(name)
			s, _ := strictjson.ParseString(value)
			return s
		}
		if text(fieldID) != MessageID || text(fieldPath) != path || uid >= 0 && text("_UID") != strconv.Itoa(uid) {
			continue
		}
		h := chain.Head{Chain: text(fieldChain), Hash: text(fieldHash)}
		var errs [2]error
		h.Seq, errs[0] = strconv.ParseInt(text(fieldSeq), 10, 64)
		h.Entries, errs[1] = strconv.ParseInt(text(fieldEntries), 10, 64)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, fmt.Errorf("reading heads: %w", err)
		}
		if h.Seq < 1 || h.Entries < 1 { // it would count as removed
			return nil, fmt.Errorf("reading heads: no chain has a head at decision %d with %d entries", h.Seq, h.Entries)
		}
		if micros, err := strconv.ParseInt(text(fieldTime), 10, 64); err == nil {
			h.Time = time.UnixMicro(micros).UTC()
		}
		list = append(list, h)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("reading heads: a line is longer than %d bytes, which is none of journalctl -o json", maxLine)
	} else if err != nil {
		return nil, fmt.Errorf("reading heads: %w", err)
	}
	return list, nil
}
