package setup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/cmd/permd/internal/files"
	"github.com/permd/permd/internal/strictjson"
)

// configRecord is what permd keeps of an installation in addition to the backup: enough to
// give back the very bytes that were there, if nobody changed the file since.
type configRecord struct {
	Path    string   `json:"path"`
	Existed bool     `json:"existed"`
	Mode    uint32   `json:"mode"`           // of the file before
	Wrote   string   `json:"wrote"`          // sha256 of what install wrote
	Made    []string `json:"made,omitempty"` // the folders that it made, the innermost first
}

// configStore is where records and backups are: permd's own folder, which no agent
// may write.
type configStore struct{ dir string }

func (s configStore) file(p *configPlace, ending string) string {
	name := p.name
	if p.managed {
		name += "-managed"
	}
	// A harness can be told of another folder: what is kept of one does not go
	// for the other.
	other := name + "-" + digest([]byte(p.path))[:12]
	if _, err := os.Lstat(filepath.Join(s.dir, other+".json")); err == nil || s.ofOtherFile(name, p.path) {
		name = other
	}
	return filepath.Join(s.dir, name+ending)
}

// ofOtherFile reports whether a record is of another file.
func (s configStore) ofOtherFile(name, path string) bool {
	var r configRecord
	data, err := os.ReadFile(filepath.Join(s.dir, name+".json"))
	return err == nil && strictjson.Unmarshal(data, &r) == nil && r.Path != "" && r.Path != path
}

func (s configStore) backup(p *configPlace) string { return s.file(p, ".before") }

// load reads a record with its backup; nil if there is none of use. What does
// not fit together is no record: the file itself says what is permd's.
func (s configStore) load(p *configPlace) (*configRecord, []byte) {
	data, err := os.ReadFile(s.file(p, ".json"))
	if err != nil {
		return nil, nil
	}
	var r configRecord
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
func (s configStore) save(p *configPlace, r *configRecord, before []byte) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of backups: %w", err)
	}
	if r.Existed {
		if err := files.Replace(s.backup(p), before, 0o600); err != nil {
			return fmt.Errorf("writing the backup: %w", err)
		}
	}
	data, err := json.Marshal(r, jsontext.WithIndent("  "))
	if err == nil {
		err = files.Replace(s.file(p, ".json"), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the record: %w", err)
	}
	return nil
}

func (s configStore) forget(p *configPlace) error {
	var errs []error
	for _, file := range []string{s.file(p, ".json"), s.backup(p)} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing the record: %w", err))
		}
	}
	_ = os.Remove(s.dir) // if it was the last
	return errors.Join(errs...)
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
