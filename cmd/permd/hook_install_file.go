package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/xdg"
)

// maxHookFile is the longest configuration file that is changed, in bytes.
const maxHookFile = 1 << 20

// hookRecord is what permd keeps of an installation, beside the backup: enough to
// give back the very bytes that were there, if nobody changed the file since.
type hookRecord struct {
	Path    string   `json:"path"`
	Existed bool     `json:"existed"`
	Mode    uint32   `json:"mode"`           // of the file before
	Wrote   string   `json:"wrote"`          // sha256 of what install wrote
	Made    []string `json:"made,omitempty"` // the folders that it made, the innermost first
}

// hookStore is where records and backups are: permd's own folder, which no agent
// may write.
type hookStore struct{ dir string }

func (s hookStore) file(p *hookPlace, ending string) string {
	name := p.harness
	if p.managed {
		name += "-managed"
	}
	// A harness can be told of another folder: what is kept of one does not go
	// for the other.
	other := name + "-" + digest([]byte(p.path))[:12]
	if _, err := os.Lstat(filepath.Join(s.dir, other+".json")); err == nil || s.taken(name, p.path) {
		name = other
	}
	return filepath.Join(s.dir, name+ending)
}

// taken reports whether a record is of another file.
func (s hookStore) taken(name, path string) bool {
	var r hookRecord
	data, err := os.ReadFile(filepath.Join(s.dir, name+".json"))
	return err == nil && strictjson.Unmarshal(data, &r) == nil && r.Path != "" && r.Path != path
}

func (s hookStore) backup(p *hookPlace) string { return s.file(p, ".before") }

// load reads a record with its backup; nil if there is none of use. What does
// not fit together is no record: the file itself says what is permd's.
func (s hookStore) load(p *hookPlace) (*hookRecord, []byte) {
	data, err := os.ReadFile(s.file(p, ".json"))
	if err != nil {
		return nil, nil
	}
	var r hookRecord
	if strictjson.Unmarshal(data, &r) != nil || r.Path != p.path {
		return nil, nil
	}
	if !r.Existed {
		return &r, nil
	}
	before, err := os.ReadFile(s.backup(p))
	if err != nil {
		return nil, nil
	}
	return &r, nonNil(before)
}

// save keeps backup and record before the file is changed: a record of what was
// not written in the end matches no file, and is no harm.
func (s hookStore) save(p *hookPlace, r *hookRecord, before []byte) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of backups: %w", err)
	}
	if r.Existed {
		if err := writeHookFile(s.backup(p), before, 0o600); err != nil {
			return fmt.Errorf("writing the backup: %w", err)
		}
	}
	data, err := json.Marshal(r, jsontext.WithIndent("  "))
	if err == nil {
		err = writeHookFile(s.file(p, ".json"), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the record: %w", err)
	}
	return nil
}

func (s hookStore) forget(p *hookPlace) error {
	var errs []error
	for _, file := range []string{s.file(p, ".json"), s.backup(p)} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing the record: %w", err))
		}
	}
	_ = os.Remove(s.dir) // if it was the last
	return errors.Join(errs...)
}

// hookChange is a change of one configuration file that a person has to see
// before it is made.
type hookChange struct {
	place         *hookPlace
	before, after []byte // nil: no file
	mode          fs.FileMode
	record        *hookRecord // to be kept; nil: to be forgotten
	base          []byte      // what the record keeps
	made          []string    // folders to remove
}

func (c *hookChange) none() bool {
	return (c.before == nil) == (c.after == nil) && bytes.Equal(c.before, c.after)
}

// planInstall finds out what installing changes.
func planInstall(p *hookPlace, s hookStore, program string, uid uint32) (*hookChange, error) {
	text, mode, err := readHookFile(p, uid)
	if err != nil {
		return nil, err
	}
	base, record, _, err := withoutHooks(p, s, text)
	if err != nil {
		return nil, err
	}
	after, err := p.edit.install(base, program)
	if err != nil {
		return nil, inFile(p, err)
	}
	made, err := missingFolders(filepath.Dir(p.path), uid, p.managed)
	if err != nil {
		return nil, err
	}
	if record != nil {
		made = append(made, record.Made...)
	}
	kept := &hookRecord{Path: p.path, Existed: base != nil, Mode: uint32(mode), Wrote: digest(after), Made: made}
	return &hookChange{place: p, before: text, after: after, mode: mode, record: kept, base: base}, nil
}

// planUninstall finds out what uninstalling changes.
func planUninstall(p *hookPlace, s hookStore, uid uint32) (*hookChange, error) {
	text, mode, err := readHookFile(p, uid)
	if err != nil {
		return nil, err
	}
	base, record, found, err := withoutHooks(p, s, text)
	if err != nil {
		return nil, err
	}
	c := &hookChange{place: p, before: text, after: base, mode: mode}
	if !found {
		c.after = text
	}
	if record != nil && found && c.after == nil {
		c.made = record.Made
	}
	return c, nil
}

// withoutHooks is the file as it would be without permd: the very bytes from
// before, if nobody changed it since, else without permd's entries.
func withoutHooks(p *hookPlace, s hookStore, text []byte) (base []byte, r *hookRecord, found bool, err error) {
	record, before := s.load(p)
	if record != nil && text != nil && digest(text) == record.Wrote {
		return before, record, true, nil
	}
	base, found, err = p.edit.remove(text)
	if err != nil {
		return nil, nil, false, inFile(p, err)
	}
	return base, nil, found, nil
}

func inFile(p *hookPlace, err error) error {
	if f, ok := errors.AsType[*failure](err); ok {
		return failf(f.code, f.hint, "%s: %w", p.path, f.err)
	}
	return fmt.Errorf("%s: %w", p.path, err)
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// readHookFile reads a configuration file, nil if it is not there. It refuses
// what permd must not put its own file in the place of.
func readHookFile(p *hookPlace, uid uint32) ([]byte, fs.FileMode, error) {
	info, err := os.Lstat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.mode, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("looking at the harness's configuration: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, 0, failf(exitError, "show the change with --dry-run in another HOME, and make it by hand where the link leads", "%s is a link, which permd does not replace", p.path)
	case !info.Mode().IsRegular():
		return nil, 0, failf(exitError, "", "%s is no file", p.path)
	case !ok || stat.Uid != uid:
		return nil, 0, failf(exitError, "run permd as the user that it belongs to", "%s belongs to another user", p.path)
	case stat.Nlink > 1:
		return nil, 0, failf(exitError, "make a copy of it in its place", "%s has another name as well, which would keep the old text", p.path)
	case info.Mode().Perm()&othersWrite(info, uid) != 0:
		return nil, 0, failf(exitError, "chmod go-w "+shellWord(p.path), "others can change %s", p.path)
	case info.Size() > maxHookFile:
		return nil, 0, failf(exitError, "", "%s is longer than %d bytes", p.path, maxHookFile)
	}
	f, err := os.OpenFile(p.path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("reading the harness's configuration: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHookFile+1))
	if err != nil {
		return nil, 0, fmt.Errorf("reading the harness's configuration: %w", err)
	}
	return nonNil(text), info.Mode().Perm(), nil
}

// missingFolders are the folders that have to be made for a file, the innermost
// first. Those that are there must be the person's own, or root's.
func missingFolders(dir string, uid uint32, managed bool) (missing []string, err error) {
	for {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, dir)
			dir = filepath.Dir(dir)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking at the harness's folder: %w", err)
		}
		forbidden := othersWrite(info, uid)
		if managed {
			forbidden = 0o022
		}
		if len(missing) > 0 {
			// Only its part of the way: others may make entries in /tmp, and not
			// exchange what is in it.
			forbidden = 0
		}
		if err := xdg.CheckOwn(dir, uid, forbidden); err != nil {
			hint := "make it a folder that only you can change"
			if u, ok := errors.AsType[*xdg.UntrustedError](err); ok {
				hint = repairFolder(u.Path, "", uid)
			}
			return nil, failf(exitError, hint, "checking the harness's folder: %w", err)
		}
		return missing, nil
	}
}

// apply makes the change, if the file is still what the person was shown.
func (c *hookChange) apply(s hookStore, uid uint32) error {
	p := c.place
	now, _, err := readHookFile(p, uid)
	if err != nil {
		return err
	}
	if (now == nil) != (c.before == nil) || !bytes.Equal(now, c.before) {
		return failf(exitError, "try again", "%s was changed in the meantime", p.path)
	}
	if c.record != nil {
		if err := s.save(p, c.record, c.base); err != nil {
			return err
		}
	}
	if c.after == nil {
		if err := os.Remove(p.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the hook: %w", err)
		}
	} else if !c.none() {
		mode := fs.FileMode(0o700)
		if p.managed {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(p.path), mode); err != nil {
			return fmt.Errorf("making the harness's folder: %w", err)
		}
		if err := writeHookFile(p.path, c.after, c.mode); err != nil {
			return fmt.Errorf("writing the harness's configuration: %w", err)
		}
	}
	if c.record == nil {
		for _, dir := range c.made {
			if os.Remove(dir) != nil {
				break // something else is in it
			}
		}
		return s.forget(p)
	}
	return nil
}

// writeHookFile puts a file in the place of another, whole or not at all, also
// when the power fails.
func writeHookFile(path string, data []byte, mode fs.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".permd-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	for _, step := range []func() error{func() error { return tmp.Chmod(mode) }, tmp.Sync, tmp.Close} {
		err = errors.Join(err, step())
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// hookPlacesOf are the places of a harness that are asked for.
func hookPlacesOf(places []hookPlace, managed bool) []hookPlace {
	return slices.DeleteFunc(slices.Clone(places), func(p hookPlace) bool { return p.managed != managed })
}
