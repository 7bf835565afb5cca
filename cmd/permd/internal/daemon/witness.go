package daemon

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/statefile"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/remember"
)

// A memory without rejects looks the same whether there were none or it was deleted.
// So the ids of rejects are kept in two more places: in the journal, and in a file of
// the state folder, for the case that the whole data folder is gone. Both are updated
// shortly after the memory. Until then they may name a reject that was revoked, which the
// memory knows, or lack a new one, whose loss would not be noticed.

// witness keeps the ids of the rejects that the memory holds.
type witness struct {
	file    string
	changed chan struct{} // has an element when they may differ
	journal *journal.Journal
	memory  *remember.Store
}

const (
	// witnessHead begins the file.
	witnessHead = "permd rejects 1"
	// maxWitness bounds what is read of the file, in bytes: more than all ids need.
	maxWitness = 1 << 20
	// witnessPause is how long changes are collected after a write.
	witnessPause = 200 * time.Millisecond
)

// newWitness returns a witness for the memory in the data folder. Daemons with other data
// folders have files of their own.
func newWitness(dirs xdg.Dirs, j *journal.Journal) *witness {
	sum := sha256.Sum256([]byte(dirs.Data))
	return &witness{
		file:    filepath.Join(dirs.State, "rejects-"+hex.EncodeToString(sum[:6])),
		changed: make(chan struct{}, 1), journal: j,
	}
}

// known returns the ids that were kept last. The error is about the file.
func (w *witness) known() ([]string, error) {
	ids := w.journal.Rejects()
	inFile, err := readWitness(w.file)
	for _, id := range inFile {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// note is called when rejects were added or dropped.
func (w *witness) note() {
	select {
	case w.changed <- struct{}{}:
	default: // already noted
	}
}

// write brings journal and file up to date.
func (w *witness) write() error {
	ids := w.memory.Rejects()
	w.journal.KeepRejects(ids)
	return writeWitness(w.file, ids)
}

// keepWitness keeps the ids of rejects up to date until ctx ends.
func (d *daemon) keepWitness(ctx context.Context) {
	onChange(ctx, d.witness.changed, func() bool {
		err := d.witness.write()
		if err != nil {
			d.log.Warn("the ids of rejects are not kept outside of the data folder", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(witnessPause):
		}
		return err == nil
	})
}

func readWitness(path string) (ids []string, err error) {
	f, err := statefile.Open(path, uint32(os.Geteuid()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading which rejects there were: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxWitness))
	if !lines.Scan() || lines.Text() != witnessHead {
		return nil, fmt.Errorf("reading which rejects there were: %s is of another version or damaged", path)
	}
	for lines.Scan() {
		ids = append(ids, lines.Text())
	}
	return ids, lines.Err()
}

// writeWitness replaces the file as a whole.
func writeWitness(path string, ids []string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("keeping which rejects there are: %w", err)
		}
	}()
	if len(ids) == 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return statefile.Replace(path, []byte(strings.Join(append([]string{witnessHead}, ids...), "\n")+"\n"))
}
