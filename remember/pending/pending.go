// Package pending keeps revocations of remembered choices that no database has stored, in
// a file that needs no space on the disk.
package pending

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// ByPerson is the reason of a revocation that a person asked for, and of those that are
// read from the file, which has no reasons.
const ByPerson = "person"

// File is the file of the revocations that the database does not have, or does not need.
// Its maps are by the id of the choice; they are also kept in a file of fixed size that is overwritten
// in place, which works on a full disk too, where the database can store
// nothing. Without it a revoked choice would be back after a restart.
//
// A revocation is removed from the file only when a database that holds the
// choice has stored it. The database may have been moved away before that: the
// next start finds a new one without the choice, and the old one may come back
// later.
type File struct {
	IDs           map[string]Revocation // not stored yet
	NotInDatabase map[string]Revocation // their choices have no row in this database
	RevokedBefore int64                 // allows created up to then are revoked, in nanoseconds since 1970; 0 for none
	Unsaved       bool                  // the last Save failed, so that the file may hold what is no longer true
	file          *os.File
	nonEmpty      bool // the file holds something
}

// Revocation is the end of one choice.
type Revocation struct {
	At          int64 // nanoseconds since 1970
	By          string
	Created     int64 // when the choice was made, in nanoseconds since 1970
	Temporary   bool  // the choice does not survive a restart anyway
	NeverStored bool  // no database can contain it
}

// size is the size of the file: room for more than 600 ids, one on each
// line, the rest spaces.
const size = 16 << 10

// revokeAll is written to the file in place of ids that do not fit: all allows
// are revoked that are not newer than the newest of them.
const revokeAll = "*"

// timeSign separates an id from the second in which its choice was made.
const timeSign = "@"

// Open reads the file, or creates it at its full size. now is the current time,
// latest the latest time recorded in any choice, both in nanoseconds since
// 1970. What the file names is in IDs afterwards.
func (p *File) Open(path string, now, latest int64) error {
	p.IDs, p.NotInDatabase = map[string]Revocation{}, map[string]Revocation{}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("opening revocations: %w", err)
	}
	p.file = f
	data := make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return errors.Join(fmt.Errorf("reading revocations: %w", err), f.Close())
	}
	// Zeros are what a file system may leave of a write that a power cut ended.
	for _, field := range strings.FieldsFunc(string(data[:n]), func(c rune) bool { return c == 0 || unicode.IsSpace(c) }) {
		p.nonEmpty = true
		id, seconds, _ := strings.Cut(field, timeSign)
		created, err := strconv.ParseInt(seconds, 10, 64)
		if err != nil || created < 0 || created > math.MaxInt64/int64(time.Second) {
			created = latest // an earlier permd wrote no time
		} else {
			created *= int64(time.Second)
		}
		if id == revokeAll {
			p.RevokedBefore = max(p.RevokedBefore, created)
			continue
		}
		p.IDs[id] = Revocation{At: now, By: ByPerson, Created: created}
	}
	if n < size {
		// New, or not filled when it was created. A full disk does not prevent
		// starting; revoking will report it if necessary.
		_ = p.Save()
	}
	return nil
}

// Save overwrites the file with the revocations and syncs it.
func (p *File) Save() error {
	content := p.content()
	if len(content) == 0 && !p.nonEmpty && p.full() {
		return nil
	}
	p.Unsaved = true
	data := append(content, bytes.Repeat([]byte(" "), size-len(content))...)
	if p.file == nil {
		return errors.New("storing revocations: the file is closed")
	}
	if _, err := p.file.WriteAt(data, 0); err != nil {
		return fmt.Errorf("storing revocations: %w", err)
	}
	if err := p.file.Sync(); err != nil {
		return fmt.Errorf("storing revocations: %w", err)
	}
	p.nonEmpty, p.Unsaved = len(content) > 0, false
	return nil
}

// content returns the content of the file, the newest choices first: those that
// do not fit are revoked together with all allows as old as they are.
func (p *File) content() []byte {
	all := map[string]Revocation{}
	for id, r := range p.IDs {
		if !r.Temporary {
			all[id] = r
		}
	}
	maps.Copy(all, p.NotInDatabase)
	ids := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b].Created, all[a].Created), cmp.Compare(a, b))
	})
	before := p.RevokedBefore
	var data []byte
	for _, id := range ids {
		line := lineOf(id, all[id].Created)
		if len(data)+len(line)+len(lineOf(revokeAll, math.MaxInt64)) > size {
			before = max(before, all[id].Created)
			break
		}
		data = append(data, line...)
	}
	if before > 0 {
		data = append(data, lineOf(revokeAll, before)...)
	}
	return data
}

// lineOf returns a line of the file. The time is rounded up to a full
// second: of two choices in one second, either may be the newer one.
func lineOf(id string, created int64) string {
	seconds := created / int64(time.Second)
	if created%int64(time.Second) > 0 {
		seconds++
	}
	return id + timeSign + strconv.FormatInt(seconds, 10) + "\n"
}

func (p *File) full() bool {
	info, err := p.file.Stat()
	return err == nil && info.Size() >= size
}

// Close closes the file; what Save has not stored is lost.
func (p *File) Close() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	return err
}
