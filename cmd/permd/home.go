package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/xdg"
)

// ownDirs are permd's folders for a command that makes files in them. A home
// that is not there is not made, and nothing is put into another person's:
// sudo often keeps HOME, and root's files there would lock their owner out.
func (a *app) ownDirs() (xdg.Dirs, error) {
	dirs, err := a.dirs()
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
		return failf(exitError, "set HOME to a folder that is yours, or make this one", "the home folder %s does not exist", home)
	case err != nil:
		return fmt.Errorf("looking at the home folder: %w", err)
	case !info.IsDir():
		return failf(exitError, "set HOME to a folder that is yours", "the home folder %s is not a folder", home)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != uint32(os.Geteuid()) {
		return failf(exitError, "run permd as that user, or set HOME to a folder that is yours",
			"the home folder %s belongs to uid %d, and this is uid %d", home, st.Uid, os.Geteuid())
	}
	return nil
}
