package decisionlogs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/statefile"
	"github.com/permd/permd/internal/strictjson"
)

// cursor is how far the log was sent.
type cursor struct {
	Position
	// Sent is the number of the newest decision that was sent, and not dropped.
	Sent int64 `json:"sent"`
	// Time is when the service acknowledged the latest upload.
	Time time.Time `json:"time,omitzero"`
	// Lost decisions were removed from the journal before they were sent, in all.
	Lost int64 `json:"lost"`
}

// maxCursor bounds the file.
const maxCursor = 4 << 10

// readCursor reads the file; the cursor is the beginning if there is none, and after an error:
// what is sent twice does no harm.
func readCursor(path string) (c cursor, err error) {
	f, err := statefile.Open(path, uint32(os.Geteuid()))
	if errors.Is(err, fs.ErrNotExist) {
		return cursor{}, nil
	}
	if err != nil {
		return cursor{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxCursor))
	if err = errors.Join(err, f.Close()); err != nil {
		return cursor{}, err
	}
	return parseCursor(data)
}

func parseCursor(data []byte) (c cursor, err error) {
	if err := strictjson.Unmarshal(data, &c); err != nil {
		return cursor{}, fmt.Errorf("reading how far the log was sent: %w", err)
	}
	if c.Seq < 0 || c.Entry < 0 || c.Chain == "" {
		return cursor{}, errors.New("the file that says how far the log was sent is damaged")
	}
	return c, nil
}

// keep writes the cursor to its file. An error is one of the upload: after a restart it would
// be sent again, and a disk that is full for long should be seen.
func (u *Uploader) keep() error {
	data, err := json.Marshal(&u.cursor, json.Deterministic(true))
	if err == nil {
		if err = os.MkdirAll(filepath.Dir(u.o.File), 0o700); err == nil {
			err = statefile.Replace(u.o.File, data)
		}
	}
	u.set(func(s *Status) {
		s.Acknowledged, s.AcknowledgedAt, s.Lost = u.cursor.Seq, u.cursor.Time, u.cursor.Lost
	})
	if err != nil {
		return fmt.Errorf("keeping how far the log was sent: %w", err)
	}
	return nil
}
