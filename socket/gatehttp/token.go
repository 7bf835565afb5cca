package gatehttp

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/permd/permd/internal/xdg"
)

const (
	// tokenBytes is the number of random bytes in a token.
	tokenBytes = 32
	// Bounds of a token that somebody else has written, in characters.
	minToken, maxToken = 32, 512
)

// tokenError describes a problem with the token's file.
type tokenError struct {
	Text, Fix string
}

// Error returns the problem.
func (e *tokenError) Error() string { return e.Text }

// Hint returns the way to fix it.
func (e *tokenError) Hint() string { return e.Fix }

// Token reads the token from a file that only the daemon's user can read, and creates
// the file if it does not exist. Its folder must be accessible to that user alone.
func Token(file string) (string, error) {
	dir := filepath.Dir(file)
	if err := xdg.CheckOwn(dir, uint32(os.Geteuid()), 0o077); err != nil {
		return "", fmt.Errorf("checking the folder of the token: %w", err)
	}
	token, err := ReadToken(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := createToken(dir, file); err != nil {
		return "", fmt.Errorf("making the token: %w", err)
	}
	return ReadToken(file)
}

// ReadToken reads the token from a file that belongs to the current user and that nobody
// else can read.
func ReadToken(file string) (string, error) {
	// O_NONBLOCK: opening a FIFO must not block. O_NOFOLLOW: no links.
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) {
		return "", &tokenError{"the token's file " + file + " is a link", "remove it: permd makes a new one when it starts"}
	}
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return "", &tokenError{"the token's file " + file + " is not a regular file", "remove it: permd makes a new one when it starts"}
	case !ok || st.Uid != uint32(os.Geteuid()):
		return "", &tokenError{"the token's file " + file + " belongs to another user", "remove it: permd makes a new one when it starts"}
	case info.Mode().Perm()&0o077 != 0:
		return "", &tokenError{
			fmt.Sprintf("the token's file %s can be read by others (mode %04o)", file, info.Mode().Perm()),
			"others may have the token: remove the file, permd makes a new one when it starts",
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxToken+2))
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	token := strings.TrimSuffix(string(data), "\n")
	if len(token) < minToken || len(token) > maxToken || strings.ContainsFunc(token, invalidInToken) {
		return "", &tokenError{
			fmt.Sprintf("the token's file %s does not hold %d to %d letters, digits, - and _", file, minToken, maxToken),
			"remove it: permd makes a new one when it starts",
		}
	}
	return token, nil
}

func invalidInToken(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// createToken writes the file completely under a temporary name and then links it, so
// that a full disk leaves no partial token.
func createToken(dir, file string) error {
	f, err := os.CreateTemp(dir, filepath.Base(file)+".new-") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after the link it is a second name of the token's file
	var secret [tokenBytes]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return errors.Join(err, f.Close())
	}
	_, err = f.WriteString(hex.EncodeToString(secret[:]) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	// A link and not a rename, so that a file created meanwhile is kept.
	if err := os.Link(f.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
