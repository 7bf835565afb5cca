package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/lockfile"
	"github.com/permd/permd/internal/statefile"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/xdg"
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
	Server string              `json:"server"`
	Tools  map[string][]string `json:"tools"` // the digests of the definitions, by name
}

// Known returns the digests of the definitions with which a call of a tool has run last.
func (p *Pins) Known(tool string) ([]string, error) {
	f, err := p.read()
	return f.Tools[tool], err
}

func (p *Pins) read() (f pinFile, err error) {
	var data []byte
	err = xdg.CheckOwn(filepath.Dir(p.path), uint32(os.Geteuid()), 0o022)
	if err == nil {
		data, err = readOwn(p.path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = strictjson.Unmarshal(data, &f)
	}
	if err == nil && f.Server != p.server {
		err = errors.New("it is another server's")
	}
	if err != nil {
		return pinFile{}, fmt.Errorf("reading what is known of the tools: %w (look at %s; without it all tools are new)", err, p.path)
	}
	return f, nil
}

// readOwn reads a file that only this user can change. Opening what is none does not wait
// for anybody.
func readOwn(path string) ([]byte, error) {
	file, err := statefile.Open(path, uint32(os.Geteuid()))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxPins+1))
	if err == nil && len(data) > maxPins {
		err = errors.New("it is too long")
	}
	return data, err
}

// containsAll reports whether all digests are known.
func containsAll(known, digests []string) bool {
	return !slices.ContainsFunc(digests, func(d string) bool { return !slices.Contains(known, d) })
}

// errMeanwhile means that what is known of a tool is no longer what it was decided by.
var errMeanwhile = errors.New("another conversation has noted another definition of the tool meanwhile")

// Set notes that a call of a tool runs with these definitions, after it was decided by what
// Known returned before, nil for a tool that is new. If another call has run with others since,
// that is errMeanwhile. Fewer than were known are no news.
func (p *Pins) Set(tool string, before, digests []string) error {
	if known, err := p.Known(tool); err == nil && containsAll(known, digests) {
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
		f.Tools = map[string][]string{}
	}
	switch {
	case containsAll(f.Tools[tool], digests):
		return nil
	case !slices.Equal(f.Tools[tool], before):
		return errMeanwhile
	}
	f.Server, f.Tools[tool] = p.server, digests
	data, err := json.Marshal(&f, json.Deterministic(true))
	if err != nil {
		return err
	}
	if len(data) > maxPins {
		return errors.New("too many tools are known of this server")
	}
	return statefile.Replace(p.path, data) // nobody else does at the same time: it is locked
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
