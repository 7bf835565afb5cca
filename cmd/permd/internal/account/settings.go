package account

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/files"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy/settings"
)

// SettingsName is the name of the settings file of organisation and user.
const SettingsName = "permd.toml"

// ReadSettings reads permd.toml of organisation and user, each as far as its file system
// answers in time.
func ReadSettings(dirs xdg.Dirs, files *mounts.FS) (settings.Settings, error) {
	var of [2]settings.Settings
	from, read := []string{dirs.Org, dirs.Config}, ReadSettingsFile
	if dirs.System {
		// One file, which is root's: the daemon's own user is nobody's administrator.
		from, read = from[:1], func(file string) ([]byte, error) { return readSettingsOf(file, 0) }
	}
	for i, dir := range from {
		file := filepath.Join(dir, SettingsName)
		data, err := mounts.Look(files, file, read)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return settings.Settings{}, fmt.Errorf("reading settings: %w", err)
		}
		if of[i], err = settings.Parse(file, data); err != nil {
			return settings.Settings{}, err
		}
	}
	return settings.Merge(of[0], of[1])
}

// ReadSettingsFile reads a settings file. It must be writable by root and this user
// only, because it can turn rules off. It is opened without blocking, in case it is a
// FIFO.
func ReadSettingsFile(file string) ([]byte, error) { return readSettingsOf(file, uint32(os.Geteuid())) }

// readSettingsOf is ReadSettingsFile for a file of root or that user.
func readSettingsOf(file string, uid uint32) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && st.Uid != uid {
		return nil, cli.Failf(cli.ExitError, "give it to yourself or to root with chown", "%s belongs to uid %d", file, st.Uid)
	}
	if info.Mode().Perm()&files.OthersWrite(info, uid) != 0 {
		return nil, cli.Failf(cli.ExitError, "chmod go-w "+file, "%s can be written by others (mode %04o)", file, info.Mode().Perm())
	}
	// One byte more than the parser takes, so that it notices longer files.
	return io.ReadAll(io.LimitReader(f, settings.MaxBytes+1))
}

// PolicyDir is the name of the folder of rules in a layer's folder.
const PolicyDir = "policy.d"

// UserRules returns the folder of a person's rules that a daemon for several people has, in
// a folder that is the daemon's alone.
func UserRules(dirs xdg.Dirs, uid uint32) string {
	return filepath.Join(dirs.Data, "users", strconv.FormatUint(uint64(uid), 10), PolicyDir)
}
