package records

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/files"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/xdg"
)

// LastVerified is what permd log verify found when it last came to its end. It is only a
// note: who can write the state folder can write it.
type LastVerified struct {
	Time      time.Time `json:"time"`
	Decisions int64     `json:"decisions"`
	Faults    int64     `json:"faults"`
	Head      string    `json:"head"`
	// Compared is the number of places that heads came from.
	Compared int `json:"compared"`
}

// Line is the note in one line.
func (v *LastVerified) Line() string {
	if v == nil {
		return "never verified; permd log verify does that"
	}
	found := "no fault"
	if v.Faults > 0 {
		found = cli.Plural(int(v.Faults), "fault") + "; permd log verify shows them"
	}
	if v.Compared == 0 {
		found += ", compared with no head"
	}
	return fmt.Sprintf("verified %s, %s: %s", v.Time.Local().Format(time.DateTime), cli.Plural(int(v.Decisions), "decision"), found)
}

// verifiedFile returns where the note about the journal in the data folder is kept.
func verifiedFile(dirs xdg.Dirs) string {
	sum := sha256.Sum256([]byte(dirs.Data))
	return filepath.Join(dirs.State, "verified-"+hex.EncodeToString(sum[:6]))
}

// Verified returns the note about the journal in the data folder, nil if there is none that
// can be read.
func Verified(dirs xdg.Dirs) *LastVerified {
	f, err := os.OpenFile(verifiedFile(dirs), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	const most = 4 << 10
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil
	}
	var v LastVerified
	if strictjson.Unmarshal(data, &v) != nil {
		return nil
	}
	return &v
}

// keep keeps the note.
func (v *LastVerified) keep(dirs xdg.Dirs) error {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	if _, err := os.Stat(dirs.State); errors.Is(err, fs.ErrNotExist) {
		return nil // no daemon has run here, and none would show it
	}
	return files.Replace(verifiedFile(dirs), append(data, '\n'), 0o600)
}
