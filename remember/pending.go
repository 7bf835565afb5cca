package remember

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// pendingRevocations is the revocations that are not in the database. They are also kept
// in a file of fixed size that is only ever overwritten in place: that works on
// a full disk too, where the database can store nothing. Without it a choice
// that a person revoked would be back after a restart.
type pendingRevocations struct {
	ids  map[string]revocation
	all  bool // the file could not name them all
	file *os.File
	used bool // the file holds something
}

type revocation struct {
	at int64 // nanoseconds since 1970, 0 when read from the file
	by string
}

// pendingBytes is the size of the file: room for more than a thousand ids, one
// on each line, the rest spaces.
const pendingBytes = 16 << 10

// everything is written to the file in place of more ids than fit.
const everything = "*"

// open reads the file, and makes it at its full size when it is missing.
func (p *pendingRevocations) open(path string) error {
	p.ids = map[string]revocation{}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("opening revocations: %w", err)
	}
	p.file = f
	data := make([]byte, pendingBytes)
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return errors.Join(fmt.Errorf("reading revocations: %w", err), f.Close())
	}
	for _, id := range strings.Fields(string(bytes.Trim(data[:n], "\x00"))) {
		p.used = true
		if id == everything {
			p.all = true
			continue
		}
		p.ids[id] = revocation{by: byPerson}
	}
	if n < pendingBytes {
		// New, or not filled when it was made. A disk without the room is no
		// reason not to start; revoking will say so if it comes to that.
		_ = p.save()
	}
	return nil
}

// save overwrites the file with the ids and waits for the disk.
func (p *pendingRevocations) save() error {
	if len(p.ids) == 0 && !p.used && p.full() {
		return nil
	}
	data := bytes.Repeat([]byte(" "), pendingBytes)
	end := 0
	for id := range p.ids {
		if end+len(id)+1+len(everything) > pendingBytes {
			copy(data[end:], everything)
			break
		}
		end += copy(data[end:], id)
		data[end] = '\n'
		end++
	}
	if p.file == nil {
		return errors.New("storing revocations: the file is closed")
	}
	if _, err := p.file.WriteAt(data, 0); err != nil {
		return fmt.Errorf("storing revocations: %w", err)
	}
	if err := p.file.Sync(); err != nil {
		return fmt.Errorf("storing revocations: %w", err)
	}
	p.used = len(p.ids) > 0
	return nil
}

func (p *pendingRevocations) full() bool {
	info, err := p.file.Stat()
	return err == nil && info.Size() >= pendingBytes
}

func (p *pendingRevocations) close() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	return err
}
