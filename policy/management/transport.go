package management

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"syscall"
)

// bounded is the transport of a service's client.
type bounded struct {
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	return b.next.RoundTrip(req)
}

// checkFiles returns an error if a file with a secret can be read or written by others.
func (s service) checkFiles(owners []uint32) error {
	for _, name := range s.files {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		if err := checkSecret(info, owners); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
	}
	return nil
}

func checkSecret(info fs.FileInfo, owners []uint32) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return errors.New("is not a regular file")
	case mode.Perm()&0o037 != 0:
		return fmt.Errorf("holds a secret, and can be read or written by others (mode %04o)", mode.Perm())
	case !ok || st.Uid != 0 && st.Uid != uint32(os.Geteuid()) && !slices.Contains(owners, st.Uid):
		return errors.New("belongs to another user")
	}
	return nil
}
