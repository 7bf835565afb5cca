package account

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/files"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/settings"
)

// SettingsName is the name of the settings file of organisation and user.
const SettingsName = "permd.toml"

// ReadSettings reads permd.toml of organisation and user, each as far as its file system
// answers in time.
func ReadSettings(dirs xdg.Dirs, files *mounts.FS) (settings.Settings, error) {
	var of [2]settings.Settings
	for i, dir := range []string{dirs.Org, dirs.Config} {
		file := filepath.Join(dir, SettingsName)
		data, err := mounts.Look(files, file, ReadSettingsFile)
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
func ReadSettingsFile(file string) ([]byte, error) {
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
		return nil, cli.Failf(cli.ExitError, "give it to yourself or to root with chown", "%s belongs to uid %d", file, st.Uid)
	}
	if info.Mode().Perm()&files.OthersWrite(info, uint32(os.Geteuid())) != 0 {
		return nil, cli.Failf(cli.ExitError, "chmod go-w "+file, "%s can be written by others (mode %04o)", file, info.Mode().Perm())
	}
	// One byte more than the parser takes, so that it notices longer files.
	return io.ReadAll(io.LimitReader(f, settings.MaxBytes+1))
}

// ReadSwitches returns the settings that concern the rules.
func ReadSwitches(dirs xdg.Dirs, files *mounts.FS) (policy.Switches, error) {
	s, err := ReadSettings(dirs, files)
	if err != nil {
		return policy.Switches{}, err
	}
	return policy.Switches{
		Profile: s.Profile,
		OnlyOrg: s.OnlyOrg, RefuseDeclared: s.RefuseDeclared, DenyOnFailure: s.OnFailure == decisions.Deny, Disable: s.Disable,
		AskGates: s.AskGates,
	}, nil
}

// PolicyDir is the name of the folder of rules in a layer's folder.
const PolicyDir = "policy.d"
