package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/settings"
)

// settingsName is the settings file of org and user.
const settingsName = "permd.toml"

// mostSettings is as much as is read of a settings file, in bytes, less one: it
// is what the parser takes.
const mostSettings = 1 << 20

// readSettings reads permd.toml of org and user.
func readSettings(dirs xdg.Dirs) (settings.Settings, error) {
	var of [2]settings.Settings
	for i, dir := range []string{dirs.Org, dirs.Config} {
		file := filepath.Join(dir, settingsName)
		data, err := readSettingsFile(file)
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

// readSettingsFile reads a file that only root and we can have written: it can
// turn rules off. Not blocking, so that a FIFO in its place does not hold the
// daemon.
func readSettingsFile(file string) ([]byte, error) {
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
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && st.Uid != uint32(os.Geteuid()) {
		return nil, failf(exitError, "give it to yourself or to root with chown", "%s belongs to uid %d", file, st.Uid)
	}
	if info.Mode().Perm()&othersWrite(info, uint32(os.Geteuid())) != 0 {
		return nil, failf(exitError, "chmod go-w "+file, "%s can be written by others (mode %04o)", file, info.Mode().Perm())
	}
	return io.ReadAll(io.LimitReader(f, mostSettings+1))
}

// othersWrite are the permission bits with which somebody else than a file's
// owner could write it. What belongs to a person and to their private group is
// written by them alone, as where new files are made that way (umask 002).
func othersWrite(info fs.FileInfo, uid uint32) fs.FileMode {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid == uid && xdg.PrivateGroup(uid, st.Gid) {
		return 0o002
	}
	return 0o022
}

func readSwitches(dirs xdg.Dirs) (policy.Switches, error) {
	s, err := readSettings(dirs)
	if err != nil {
		return policy.Switches{}, err
	}
	return policy.Switches{
		Profile: s.Profile,
		OnlyOrg: s.OnlyOrg, DenyOnFailure: s.OnFailure == decisions.Deny, Disable: s.Disable,
		AskGates: s.AskGates,
	}, nil
}
