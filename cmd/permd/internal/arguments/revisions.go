package arguments

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/statefile"
	"github.com/permd/permd/internal/strictjson"
)

// Bounds of the revisions of rules that are kept.
const (
	maxRevisions     = 64
	maxRevisionBytes = 1 << 20
	maxRevisionsSize = 16 << 20 // of all together, in bytes
	maxRuleFiles     = 512
)

// timeFormat sorts by time.
const timeFormat = "20060102T150405.000000000"

// Revision is the rules of org and of the person at one time, and their settings.
type Revision struct {
	// Digest identifies the rules outside of projects.
	Digest string         `json:"digest"`
	Files  []RevisionFile `json:"files"`
	// Mixed is set if they were not those of the files at any time, as some of the changed ones
	// waited. Then there are no Files.
	Mixed bool `json:"mixed,omitzero"`
}

// RevisionFile is a file of a revision.
type RevisionFile struct {
	Folder string `json:"folder"` // "org" or "config"
	Name   string `json:"name"`   // in it, slash-separated
	Text   []byte `json:"text"`
}

// revisionsDir is the folder of the revisions, in that of the arguments.
func revisionsDir(dir string) string { return filepath.Join(dir, "revisions") }

// ReadRevision reads the rules and the settings in the folders org and config.
func ReadRevision(digest, org, config string) (*Revision, error) {
	r := &Revision{Digest: digest}
	size := 0
	for _, in := range []struct{ folder, dir string }{{"org", org}, {"config", config}} {
		if in.dir == "" {
			continue
		}
		err := filepath.WalkDir(in.dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
			switch filepath.Ext(path) {
			case ".rego", ".yaml", ".json", ".toml":
			default:
				return nil
			}
			info, err := os.Stat(path) // rules may be links
			if err != nil || !info.Mode().IsRegular() {
				return err
			}
			text, err := readUpTo(path, maxRevisionBytes-size)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(in.dir, path)
			if err != nil {
				return err
			}
			size += len(text)
			r.Files = append(r.Files, RevisionFile{in.folder, filepath.ToSlash(rel), text})
			if len(r.Files) > maxRuleFiles {
				return errTooLarge
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading rules to keep them: %w", err)
		}
	}
	return r, nil
}

var errTooLarge = errors.New("the rules are too many or too long to be kept")

func readUpTo(path string, limit int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = errTooLarge
	}
	return text, err
}

// SaveRevision stores a revision in the folder of the arguments, and removes the oldest beyond the
// bounds, and those that were followed by another one more than maxAge ago, if that is not 0.
func (k *Keeper) SaveRevision(r *Revision, now time.Time, maxAge time.Duration) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keeping rules: %w", err)
	}
	in := revisionsDir(k.o.Dir)
	var names []string
	if err = k.makeDir(); err == nil {
		err = os.MkdirAll(in, 0o700)
	}
	if err == nil {
		names, err = segments(in)
	}
	if err != nil {
		return fmt.Errorf("keeping rules: %w", err)
	}
	if n := len(names); n > 0 && strings.HasSuffix(names[n-1], "-"+short(r.Digest)+suffix) {
		return nil // as they were before a restart
	}
	name := now.UTC().Format(timeFormat) + "-" + short(r.Digest) + suffix
	if err := statefile.Replace(filepath.Join(in, name), append(text, '\n')); err != nil {
		return fmt.Errorf("keeping rules: %w", err)
	}
	names = append(names, name)
	slices.Sort(names)
	size := int64(0)
	for i, name := range slices.Backward(names) {
		file := filepath.Join(in, name)
		if info, err := os.Stat(file); err == nil {
			size += info.Size()
		}
		old := false
		if i+1 < len(names) && maxAge > 0 {
			next, err := beginOf(names[i+1])
			old = err == nil && now.Sub(next) > maxAge
		}
		if i < len(names)-1 && (old || len(names)-i > maxRevisions || size > maxRevisionsSize) {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("removing old rules: %w", err)
			}
		}
	}
	return nil
}

// LatestRevision returns the beginning of the digest of the revision that was kept last, "" if none
// is known, and the same of a digest.
func LatestRevision(dir, digest string) (latest, same string) {
	names, err := segments(revisionsDir(dir))
	if err != nil || len(names) == 0 {
		return "", short(digest)
	}
	_, latest, _ = strings.Cut(strings.TrimSuffix(names[len(names)-1], suffix), "-")
	return latest, short(digest)
}

func short(digest string) string { return digest[:min(len(digest), 16)] }

// beginOf is when a file was begun, and the rules of a revision came into force.
func beginOf(name string) (time.Time, error) {
	at, _, _ := strings.Cut(strings.TrimSuffix(name, suffix), "-")
	return time.Parse(timeFormat, at)
}

// RevisionAt returns the rules that were in force at a time, nil if they are not kept, since when
// they were, and until when; that is zero for the newest.
func RevisionAt(dir string, at time.Time) (r *Revision, since, until time.Time, err error) {
	in := revisionsDir(dir)
	names, err := segments(in)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, since, until, nil
		}
		return nil, since, until, fmt.Errorf("looking for earlier rules: %w", err)
	}
	for _, name := range slices.Backward(names) {
		began, err := beginOf(name)
		if err != nil {
			continue
		}
		if began.After(at) {
			until = began
			continue
		}
		text, err := readUpTo(filepath.Join(in, name), 2*maxRevisionBytes)
		if err != nil {
			return nil, since, until, fmt.Errorf("reading earlier rules: %w", err)
		}
		r = new(Revision)
		if err := strictjson.Unmarshal(text, r); err != nil {
			return nil, since, until, fmt.Errorf("reading earlier rules: %w", err)
		}
		if r.Mixed {
			r = nil
		}
		return r, began, until, nil
	}
	return nil, since, until, nil
}

// Restore writes a revision below a folder, in org and config there.
func (r *Revision) Restore(dir string) error {
	for _, f := range r.Files {
		if f.Folder != "org" && f.Folder != "config" || !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return fmt.Errorf("restoring earlier rules: the file %q is none of rules", f.Name)
		}
		path := filepath.Join(dir, f.Folder, filepath.FromSlash(f.Name))
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, f.Text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("restoring earlier rules: %w", err)
		}
	}
	return nil
}
