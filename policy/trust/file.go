package trust

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
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/statefile"
	"github.com/permd/permd/internal/strictjson"
)

// A file has a line with the version and the SHA-256 of what follows, which is a Pin in JSON.
const (
	version = "permd trust 1 "
	maxFile = 2*MaxText + 64<<10 // the text is in base64
	// maxNames is how many names of the folder are looked at.
	maxNames = 64 << 10
	ending   = ".json"
)

// nameOf is the name of the file of a pin.
func nameOf(p *Pin) string {
	sum := sha256.Sum256([]byte(p.Root))
	return strconv.FormatUint(uint64(p.UID), 10) + "-" + hex.EncodeToString(sum[:]) + ending
}

// readAll reads all pins of a folder, and says what could not be read.
func readAll(dir string) (pins []*Pin, damage []string) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	if err == nil {
		names, err = f.Readdirnames(maxNames)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, []string{fmt.Sprintf("no project is trusted: %v", err)}
	}
	slices.Sort(names)
	for _, name := range names {
		if !strings.HasSuffix(name, ending) {
			continue // left over of a replacement that was cut off
		}
		p, err := readFile(filepath.Join(dir, name))
		if err != nil {
			damage = append(damage, err.Error())
			continue
		}
		pins = append(pins, p)
	}
	return pins, damage
}

func readFile(path string) (*Pin, error) {
	f, err := statefile.Open(path, uint32(os.Geteuid()))
	if err != nil {
		return nil, fmt.Errorf("reading which project is trusted: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading which project is trusted: %w", err)
	}
	p, err := parse(data)
	if err == nil && nameOf(p) != filepath.Base(path) {
		err = errors.New("has the name of another project's file")
	}
	if err != nil {
		return nil, fmt.Errorf("%s %w, so its project is not trusted", path, err)
	}
	return p, nil
}

// parse returns the pin in the text of a file.
func parse(data []byte) (*Pin, error) {
	line, body, _ := bytes.Cut(data, []byte("\n"))
	if len(data) > maxFile || string(line) != firstLine(body) {
		return nil, errors.New("is damaged, or of another version of permd")
	}
	var p Pin
	if err := strictjson.Unmarshal(body, &p); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if !p.valid() {
		return nil, errors.New("holds what permd does not store")
	}
	return &p, nil
}

func firstLine(body []byte) string {
	sum := sha256.Sum256(body)
	return version + hex.EncodeToString(sum[:])
}

func format(p *Pin) ([]byte, error) {
	body, err := json.Marshal(p, json.Deterministic(true))
	return append([]byte(firstLine(body)+"\n"), body...), err
}

// write stores a pin so that it survives a power cut.
func (s *Store) write(p *Pin) error {
	data, err := format(p)
	if err == nil {
		err = os.Mkdir(s.dir, 0o700)
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	path := filepath.Join(s.dir, nameOf(p))
	if err == nil {
		if err = statefile.Replace(path, data); err == nil {
			if err = syncFolder(s.dir); err != nil { // nobody is told that it is trusted
				err = errors.Join(err, os.Remove(path))
			}
		}
	}
	if err != nil {
		return fmt.Errorf("storing which project is trusted: %w", err)
	}
	return nil
}

func (s *Store) remove(p *Pin) error {
	if err := os.Remove(filepath.Join(s.dir, nameOf(p))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncFolder(s.dir)
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
