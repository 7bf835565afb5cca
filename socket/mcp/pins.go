package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/lockfile"
	"github.com/permd/permd/internal/strictjson"
)

// maxPins is how long the file of a server may be, in bytes.
const maxPins = 1 << 20

// lockWait is how long another gateway of the same server is waited for.
const lockWait = 2 * time.Second

// Pins keep the definitions of a server's tools with which their calls have run before, in
// a file. It is for calls that rules allow: what is remembered is bound to the definition
// anyway.
type Pins struct {
	path   string
	server string
}

// OpenPins returns the pins of a server in a folder, which is made when one is stored.
func OpenPins(dir, server string) *Pins {
	sum := sha256.Sum256([]byte(server))
	return &Pins{filepath.Join(dir, hex.EncodeToString(sum[:8])+".json"), server}
}

// pinFile is the content of the file.
type pinFile struct {
	Server string            `json:"server"`
	Tools  map[string]string `json:"tools"` // the digest of the definition, by name
}

// Known returns the digest of the definition with which calls of a tool have run, "" for
// none.
func (p *Pins) Known(tool string) (string, error) {
	f, err := p.read()
	return f.Tools[tool], err
}

func (p *Pins) read() (f pinFile, err error) {
	info, err := os.Lstat(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, fmt.Errorf("reading what is known of the tools: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxPins:
		return f, fmt.Errorf("reading what is known of the tools: %s is no file, or too long", p.path)
	}
	data, err := os.ReadFile(p.path)
	if err == nil {
		err = strictjson.Unmarshal(data, &f)
	}
	if err == nil && f.Server != p.server {
		err = errors.New("it is another server's")
	}
	if err != nil {
		return pinFile{}, fmt.Errorf("reading what is known of the tools, %s: %w", p.path, err)
	}
	return f, nil
}

// Set notes that a call of a tool runs with a definition.
func (p *Pins) Set(tool, digest string) error {
	if known, err := p.Known(tool); err == nil && known == digest {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	lock, err := p.lock()
	if err != nil {
		return err
	}
	defer func() { _ = lock.Free() }()
	f, err := p.read()
	if err != nil {
		return err
	}
	if f.Tools == nil {
		f.Tools = map[string]string{}
	}
	if f.Tools[tool] == digest {
		return nil
	}
	f.Server, f.Tools[tool] = p.server, digest
	data, err := json.Marshal(&f, json.Deterministic(true))
	if err != nil {
		return err
	}
	if len(data) > maxPins {
		return errors.New("too many tools are known of this server")
	}
	// Under the lock nobody else writes the new file.
	made := p.path + ".new"
	if err := os.WriteFile(made, data, 0o600); err != nil {
		return err
	}
	return os.Rename(made, p.path)
}

func (p *Pins) lock() (*lockfile.Lock, error) {
	for end := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		lock, err := lockfile.Take(p.path + ".lock")
		if _, held := errors.AsType[*lockfile.Held](err); held && time.Now().Before(end) {
			continue
		}
		return lock, err
	}
}
