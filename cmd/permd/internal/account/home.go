// Package account is the person whom this process runs for: their home, permd's
// folders and settings in it, and what the system knows of users.
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

// OwnDirs are permd's folders for a command that makes files in them. A home
// that is not there is not made, and nothing is put into another person's:
// sudo often keeps HOME, and root's files there would lock their owner out.
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

// Dirs are permd's folders for this process; root relocates those of the
// system.
func Dirs(root string) (xdg.Dirs, error) {
	dirs, err := xdg.Find(xdg.FromOS(), xdg.Options{Root: root})
	if err != nil {
		return dirs, cli.Failf(cli.ExitUsage, "", "finding permd's folders: %v", err)
	}
	return dirs, nil
}

// Home is where harnesses look for a person's settings, if it is theirs.
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
