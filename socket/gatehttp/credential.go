package gatehttp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"
)

// maxCredential bounds a credential, in bytes.
const maxCredential = 64 << 10

// folderVariable names the folder with what LoadCredential= of systemd hands over.
const folderVariable = "CREDENTIALS_DIRECTORY"

// CredentialFile returns the file of a credential that the service manager hands over,
// by its name.
func CredentialFile(name string) (string, error) {
	dir := os.Getenv(folderVariable)
	switch {
	case name == "" || name != filepath.Base(name) || strings.HasPrefix(name, "."):
		return "", errors.New("the name of a credential must be that of a file, without a folder")
	case !filepath.IsAbs(dir):
		return "", errors.New("the service manager hands over no credentials: $" + folderVariable + " is not set")
	}
	return filepath.Join(dir, name), nil
}

// ReadCredential reads a credential from a regular file of this user or root that nobody
// else can read or change. Of a file that ends with a newline that is no part of it. Errors
// name the file and hold nothing of it.
func ReadCredential(file string) (string, error) {
	// O_NONBLOCK: opening a FIFO must not block. O_NOFOLLOW: no links.
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) {
		return "", fmt.Errorf("the credential %s is a link", file)
	}
	if err != nil {
		return "", fmt.Errorf("reading a credential: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("reading a credential: %w", err)
	}
	// systemd gives its folder's files to the service's user by an access list, whose mask
	// is shown as the group's mode.
	others := os.FileMode(0o077)
	if dir := os.Getenv(folderVariable); dir != "" && filepath.Dir(file) == filepath.Clean(dir) {
		others = 0o037
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("the credential %s is not a regular file", file)
	case !ok || st.Uid != uint32(os.Geteuid()) && st.Uid != 0:
		return "", fmt.Errorf("the credential %s belongs to another user", file)
	case info.Mode().Perm()&others != 0:
		return "", fmt.Errorf("the credential %s can be read or changed by others (mode %04o): chmod 600, and others may have it", file, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxCredential+1))
	if err != nil {
		return "", fmt.Errorf("reading a credential: %w", err)
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case len(data) > maxCredential:
		return "", fmt.Errorf("the credential %s is longer than %d bytes", file, maxCredential)
	case text == "" || !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", fmt.Errorf("the credential %s is empty, or no text", file)
	}
	return text, nil
}
