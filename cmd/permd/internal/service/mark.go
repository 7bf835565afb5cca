package service

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// mark begins the first line of a unit that permd wrote. What follows it is the
// digest of the rest, so that an older permd's unit is told from one that a
// person has changed.
const mark = "# Written by permd service install; sha256 of what follows: "

// Marked is a unit with its mark.
func Marked(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return []byte(mark + hex.EncodeToString(sum[:]) + "\n" + text)
}

// ownUnit reports whether data is a unit just as a permd wrote it.
func ownUnit(data []byte) bool {
	_, rest, ok := bytes.Cut(data, []byte("\n"))
	return ok && bytes.Equal(data, Marked(string(rest)))
}

// ReadUnit reads an installed unit: its text, whether something is there, and
// whether permd wrote it as it is. A link is never permd's.
func ReadUnit(path string) (data []byte, there, own bool, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, false, nil
	}
	if err != nil {
		return nil, false, false, fmt.Errorf("looking at a unit: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, true, false, nil
	}
	if data, err = os.ReadFile(path); err != nil {
		return nil, true, false, fmt.Errorf("reading a unit: %w", err)
	}
	return data, true, ownUnit(data), nil
}

// refuseChanged fails if one of the units is there and not as a permd wrote it.
func refuseChanged(dir, verb string) error {
	for _, name := range UnitNames {
		path := filepath.Join(dir, name)
		_, there, own, err := ReadUnit(path)
		if err != nil {
			return err
		}
		if there && !own {
			return cli.Failf(cli.ExitError, "look at it, then use --force to "+verb+" it", "%s was changed, or is not permd's", path)
		}
	}
	return nil
}
