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

// configRecord describes an installation. Together with the backup it allows
// restoring the same bytes, if the file has not been changed since.
type configRecord struct {
	Path    string   `json:"path"`
	Existed bool     `json:"existed"`
	Mode    uint32   `json:"mode"`           // of the original file
	Wrote   string   `json:"wrote"`          // sha256 of what install wrote
	Made    []string `json:"made,omitempty"` // folders that install created, innermost first
}

// configStore is the folder of records and backups. It is one of permd's own, which
// no agent may write.
type configStore struct{ dir string }

func (s configStore) file(p *configPlace, ending string) string {
	name := p.name
	if p.managed {
		name += "-managed"
	}
	// The path can depend on the environment. Each path has a record of its own.
	other := name + "-" + digest([]byte(p.path))[:12]
	if _, err := os.Lstat(filepath.Join(s.dir, other+".json")); err == nil || s.ofOtherFile(name, p.path) {
		name = other
	}
	return filepath.Join(s.dir, name+ending)
}

// ofOtherFile reports whether the record with a name is about another file.
func (s configStore) ofOtherFile(name, path string) bool {
	var r configRecord
	data, err := os.ReadFile(filepath.Join(s.dir, name+".json"))
	return err == nil && strictjson.Unmarshal(data, &r) == nil && r.Path != "" && r.Path != path
}

func (s configStore) backup(p *configPlace) string { return s.file(p, ".before") }

// load reads a record with its backup, nil if there is none or they do not match:
// permd's entries are then recognised in the file itself.
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

// save stores backup and record. It is called before the file is changed: if that
// fails, the record matches no file and is ignored.
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
