package pause

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
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/statefile"
	"github.com/permd/permd/internal/strictjson"
)

// The file has a line with the version and the SHA-256 of what follows, which is JSON.
const (
	version = "permd pause 1 "
	maxFile = 1 << 20
)

type stored struct {
	Settings []storedSetting `json:"settings"`
}

// storedSetting is a setting with its times in nanoseconds; the JSON library encodes no
// time.Duration.
type storedSetting struct {
	Setting
	ForNS    int64 `json:"forNs,omitzero"`
	UptimeNS int64 `json:"uptimeNs,omitzero"`
}

// readFile reads the file. Nothing is returned of one that cannot be believed.
func readFile(path string) ([]Setting, error) {
	f, err := statefile.Open(path, uint32(os.Geteuid()))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, statefile.ErrForeign):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("reading whether permd is locked or paused: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("reading whether permd is locked or paused: %w", err)
	}
	list, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return list, nil
}

// parse returns the settings in the text of a file.
func parse(data []byte) ([]Setting, error) {
	line, body, _ := bytes.Cut(data, []byte("\n"))
	if string(line) != firstLine(body) {
		return nil, errors.New("is damaged, or of another version of permd")
	}
	var s stored
	if err := strictjson.Unmarshal(body, &s); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	list := make([]Setting, len(s.Settings))
	for i, v := range s.Settings {
		v.For, v.Uptime = time.Duration(v.ForNS), time.Duration(v.UptimeNS)
		if list[i] = v.Setting; !v.valid() {
			return nil, errors.New("has a setting that permd does not make")
		}
	}
	return list, nil
}

// valid reports whether permd could have stored a setting.
func (s *Setting) valid() bool {
	if s.Locked {
		return s.For == 0
	}
	return s.For >= least && s.For <= Max && s.Start != "" && s.Uptime >= 0 && (s.Only == nil || len(s.Only) > 0 && !s.Unknown) &&
		!slices.ContainsFunc(s.Only, func(a decisions.Activity) bool { return !slices.Contains(decisions.Activities, a) })
}

func firstLine(body []byte) string {
	sum := sha256.Sum256(body)
	return version + hex.EncodeToString(sum[:])
}

// format returns the text of a file with the settings.
func format(list []Setting) ([]byte, error) {
	var s stored
	for _, v := range list {
		s.Settings = append(s.Settings, storedSetting{v, int64(v.For), int64(v.Uptime)})
	}
	body, err := json.Marshal(s, json.Deterministic(true))
	return append([]byte(firstLine(body)+"\n"), body...), err
}

// writeFile replaces the file, so that it survives a power cut.
func writeFile(path string, list []Setting) error {
	data, err := format(list)
	if err != nil {
		return fmt.Errorf("storing: %w", err)
	}
	if err := statefile.Replace(path, data); err != nil {
		return fmt.Errorf("storing: %w", err)
	}
	return syncFolder(path)
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("storing: %w", err)
	}
	return syncFolder(path)
}

// syncFolder makes a change of a file's name survive a power cut.
func syncFolder(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("storing: %w", err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("storing: %w", err)
	}
	return nil
}
