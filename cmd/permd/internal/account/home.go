// Package account knows the user that this process runs for: the home folder, permd's
// folders and settings, and what the system knows about users.
package account

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/xdg"
)

// OwnDirs returns permd's folders for a command that creates files in them. It returns
// an error if the home folder does not exist or belongs to another user: sudo often
// keeps HOME, and the owner could not change files that root creates there.
func OwnDirs(root string) (xdg.Dirs, error) {
	dirs, err := Dirs(root)
	if err != nil {
		return dirs, err
	}
	home := os.Getenv("HOME")
	if home == "" {
		home = xdg.FromOS().Home
	}
	for _, dir := range []string{dirs.Config, dirs.Data} {
		if lexpath.Below(filepath.Clean(home), dir) {
			return dirs, checkHome(home)
		}
	}
	return dirs, nil
}

func checkHome(home string) error {
	info, err := os.Stat(home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cli.Failf(cli.ExitError, "set HOME to a folder that is yours, or make this one", "the home folder %s does not exist", home)
	case err != nil:
		return fmt.Errorf("looking at the home folder: %w", err)
	case !info.IsDir():
		return cli.Failf(cli.ExitError, "set HOME to a folder that is yours", "the home folder %s is not a folder", home)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != uint32(os.Geteuid()) {
		return cli.Failf(cli.ExitError, "run permd as that user, or set HOME to a folder that is yours",
			"the home folder %s belongs to uid %d, and this is uid %d", home, st.Uid, os.Geteuid())
	}
	return nil
}

// Dirs returns permd's folders for this process. root is prepended to those of the
// system.
func Dirs(root string) (xdg.Dirs, error) {
	dirs, err := xdg.Find(xdg.FromOS(), xdg.Options{Root: root})
	if err != nil {
		return dirs, cli.Failf(cli.ExitUsage, "", "finding permd's folders: %v", err)
	}
	return dirs, nil
}

// Home returns the user's home folder, in which harnesses keep settings. It returns an
// error if the folder belongs to another user.
func Home() (string, error) {
	home := os.Getenv("HOME")
	if home == "" {
		home = xdg.FromOS().Home
	}
	if !filepath.IsAbs(home) {
		return "", cli.Failf(cli.ExitError, "set HOME to a folder that is yours", "the home folder %q is not an absolute path", home)
	}
	return filepath.Clean(home), checkHome(home)
}
