package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/files"
	"github.com/permd/permd/internal/xdg"
)

// This file reads, replaces and restores configuration files, whatever their format.

// maxConfigFile is the largest configuration file that is changed, in bytes.
const maxConfigFile = 1 << 20

const linkHint = "show the change with --dry-run in another HOME, and make it by hand where the link leads"

// configChange is a planned change of a configuration file.
type configChange struct {
	place          *configPlace
	before, after  []byte // nil if there is no file
	mode           fs.FileMode
	record         *configRecord // to save; nil to delete it
	base           []byte        // the backup that belongs to record
	createdFolders []string      // folders to remove
}

func (c *configChange) isEmpty() bool {
	return (c.before == nil) == (c.after == nil) && bytes.Equal(c.before, c.after)
}

// planInstall computes the change that installs permd.
func planInstall(p *configPlace, s configStore, program string, uid uint32) (*configChange, error) {
	text, mode, err := readConfigFile(p, uid)
	if err != nil {
		return nil, err
	}
	base, record, _, err := withoutPermd(p, s, text)
	if err != nil {
		return nil, err
	}
	from := base
	if _, ok := p.edit.(editorInPlace); ok && text != nil {
		from = text
	}
	after, err := p.edit.install(from, program)
	if err != nil {
		return nil, isInFile(p, err)
	}
	made, err := missingFolders(filepath.Dir(p.path), uid, p.managed)
	if err != nil {
		return nil, err
	}
	if record != nil {
		made = append(made, record.Made...)
	}
	kept := &configRecord{Path: p.path, Existed: base != nil, Mode: uint32(mode), Wrote: digest(after), Made: made}
	return &configChange{place: p, before: text, after: after, mode: mode, record: kept, base: base}, nil
}

// planUninstall computes the change that removes permd.
func planUninstall(p *configPlace, s configStore, uid uint32) (*configChange, error) {
	text, mode, err := readConfigFile(p, uid)
	if err != nil {
		return nil, err
	}
	base, record, found, err := withoutPermd(p, s, text)
	if err != nil {
		return nil, err
	}
	c := &configChange{place: p, before: text, after: base, mode: mode}
	if !found {
		c.after = text
	}
	if record != nil && found && c.after == nil {
		c.createdFolders = record.Made
	}
	return c, nil
}

// withoutPermd returns the file without permd: the backup, if the file has not been
// changed since, otherwise the file with permd's entries removed.
func withoutPermd(p *configPlace, s configStore, text []byte) (base []byte, r *configRecord, found bool, err error) {
	record, before := s.load(p)
	if record != nil && text != nil && digest(text) == record.Wrote {
		return before, record, true, nil
	}
	base, found, err = p.edit.remove(text)
	if err != nil {
		return nil, nil, false, isInFile(p, err)
	}
	return base, nil, found, nil
}

func isInFile(p *configPlace, err error) error {
	if f, ok := errors.AsType[*cli.Failure](err); ok {
		return cli.Failf(f.Code, f.Hint, "%s: %w", p.path, f.Err)
	}
	return fmt.Errorf("%s: %w", p.path, err)
}

// readConfigFile reads a configuration file, nil if it does not exist. It returns an
// error for a file that permd must not replace.
func readConfigFile(p *configPlace, uid uint32) ([]byte, fs.FileMode, error) {
	info, err := os.Lstat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.mode, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("looking at the configuration: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, 0, cli.Failf(cli.ExitError, linkHint, "%s is a link, which permd does not replace", p.path)
	case !info.Mode().IsRegular():
		return nil, 0, cli.Failf(cli.ExitError, "", "%s is no file", p.path)
	case !ok || stat.Uid != uid:
		return nil, 0, cli.Failf(cli.ExitError, "run permd as the user that it belongs to", "%s belongs to another user", p.path)
	case stat.Nlink > 1:
		return nil, 0, cli.Failf(cli.ExitError, "make a copy of it in its place", "%s has another name as well, which would keep the old text", p.path)
	case info.Mode().Perm()&files.OthersWrite(info, uid) != 0:
		return nil, 0, cli.Failf(cli.ExitError, "chmod go-w "+cli.Quote(p.path), "others can change %s", p.path)
	case info.Size() > maxConfigFile:
		return nil, 0, cli.Failf(cli.ExitError, "", "%s is longer than %d bytes", p.path, maxConfigFile)
	}
	f, err := os.OpenFile(p.path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("reading the configuration: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfigFile+1))
	if err != nil {
		return nil, 0, fmt.Errorf("reading the configuration: %w", err)
	}
	return nonNil(text), info.Mode().Perm(), nil
}

// missingFolders returns the folders to create for a file, innermost first. Existing
// ones must belong to the user or to root.
func missingFolders(dir string, uid uint32, managed bool) (missing []string, err error) {
	for {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, dir)
			dir = filepath.Dir(dir)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking at its folder: %w", err)
		}
		forbidden := files.OthersWrite(info, uid)
		if managed {
			forbidden = 0o022
		}
		if len(missing) > 0 {
			// This folder is above the user's own. In a folder like /tmp, others may create
			// entries but not replace existing ones.
			forbidden = 0
		}
		if err := xdg.CheckOwn(dir, uid, forbidden); err != nil {
			hint := "make it a folder that only you can change"
			if u, ok := errors.AsType[*xdg.UntrustedError](err); ok {
				hint = files.RepairCommand(u.Path, "", uid)
				if link, err := os.Lstat(u.Path); err == nil && link.Mode()&fs.ModeSymlink != 0 {
					hint = linkHint // the target of the link belongs to the user
				}
			}
			return nil, cli.Failf(cli.ExitError, hint, "checking its folder: %w", err)
		}
		return missing, nil
	}
}

// apply makes the change, unless the file has changed since it was shown.
func (c *configChange) apply(s configStore, uid uint32) error {
	p := c.place
	now, _, err := readConfigFile(p, uid)
	if err != nil {
		return err
	}
	if (now == nil) != (c.before == nil) || !bytes.Equal(now, c.before) {
		return cli.Failf(cli.ExitError, "try again", "%s was changed in the meantime", p.path)
	}
	if c.record != nil {
		if err := s.save(p, c.record, c.base); err != nil {
			return err
		}
	}
	if c.after == nil {
		if err := os.Remove(p.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the configuration: %w", err)
		}
	} else if !c.isEmpty() {
		mode := fs.FileMode(0o700)
		if p.managed {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(p.path), mode); err != nil {
			return fmt.Errorf("making its folder: %w", err)
		}
		if err := files.Replace(p.path, c.after, c.mode); err != nil {
			return fmt.Errorf("writing the configuration: %w", err)
		}
	}
	if c.record == nil {
		for _, dir := range c.createdFolders {
			if os.Remove(dir) != nil {
				break // something else is in it
			}
		}
		return s.forget(p)
	}
	return nil
}
