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
	"slices"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/xdg"
)

// markPrefix is in the first line of a unit that permd wrote, of a property list in the second. A
// digest of the rest follows it: it tells a unit that an older permd wrote from one that was
// changed by hand.
const markPrefix = "Written by permd service install; sha256 of what follows: "

// xmlDeclaration begins the first line of a property list, before which there is no comment.
const xmlDeclaration = "<?xml "

// Marked returns a unit with its mark.
func Marked(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	digest := hex.EncodeToString(sum[:])
	if !strings.HasPrefix(text, xmlDeclaration) {
		return []byte("# " + markPrefix + digest + "\n" + text)
	}
	declaration, rest, _ := strings.Cut(text, "\n")
	return []byte(declaration + "\n<!-- " + markPrefix + digest + " -->\n" + rest)
}

// isOwnUnit reports whether data is a unit that permd wrote and nobody has changed.
func isOwnUnit(data []byte) bool {
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	if bytes.HasPrefix(first, []byte(xmlDeclaration)) {
		_, rest, ok = bytes.Cut(rest, []byte("\n"))
		rest = slices.Concat(first, []byte("\n"), rest)
	}
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
func (m *Manager) checkUnchanged(dirs xdg.Dirs, verb string) error {
	for _, name := range m.Names {
		path := filepath.Join(m.dir(dirs), name)
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
