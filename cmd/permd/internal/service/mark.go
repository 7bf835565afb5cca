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

// markPrefix begins the first line of a unit that permd wrote. A digest of the rest
// follows it: it tells a unit that an older permd wrote from one that was changed by
// hand.
const markPrefix = "# Written by permd service install; sha256 of what follows: "

// Marked returns a unit with its first line.
func Marked(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return []byte(markPrefix + hex.EncodeToString(sum[:]) + "\n" + text)
}

// isOwnUnit reports whether data is a unit that permd wrote and nobody has changed.
func isOwnUnit(data []byte) bool {
	_, rest, ok := bytes.Cut(data, []byte("\n"))
	return ok && bytes.Equal(data, Marked(string(rest)))
}

// ReadUnit reads an installed unit. there is true if something exists at path, and own
// is true if permd wrote it and nobody has changed it. A link is never own.
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
	return data, true, isOwnUnit(data), nil
}

// checkUnchanged returns an error if one of the units was changed by hand.
func checkUnchanged(dir, verb string) error {
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
