package bundles

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/permd/permd/policy/source"
)

// Bounds of an archive, in bytes: as it is sent, and of all that it unpacks to.
const (
	MaxArchive  = 16 << 20
	maxUnpacked = source.MaxTree + 8<<20 // with headers, padding, manifest and signature
	maxEntries  = 2 * source.MaxFiles    // files and folders
	maxName     = 512
)

// entry is one file of an archive.
type entry struct {
	name string // slash-separated, without a slash in front
	data []byte
}

// Check returns an error if data is no archive that could be a bundle: its form, names and
// sizes are examined, no signature.
func Check(data []byte) error {
	_, err := unpack(data)
	return err
}

// unpack returns the files of an archive. Their bytes are counted while they are
// decompressed, so that a small archive cannot fill the memory.
func unpack(data []byte) ([]entry, error) {
	if len(data) > MaxArchive {
		return nil, fmt.Errorf("the archive is larger than %d MiB", MaxArchive>>20)
	}
	if len(data) < 2 || data[0] != 0x1f || data[1] != 0x8b {
		return nil, fmt.Errorf("it is no gzipped archive, but %s", what(data))
	}
	packed := bufio.NewReader(bytes.NewReader(data))
	zip, err := gzip.NewReader(packed)
	if err != nil {
		return nil, cutOff(err)
	}
	counted := &io.LimitedReader{R: zip, N: maxUnpacked}
	bomb := fmt.Errorf("the archive unpacks to more than %d MiB", maxUnpacked>>20)
	files := tar.NewReader(counted)
	var out []entry
	seen := map[string]bool{}
	total := 0
	for n := 0; ; n++ {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		switch {
		case counted.N <= 0:
			return nil, bomb
		case err != nil:
			return nil, cutOff(err)
		case n >= maxEntries:
			return nil, fmt.Errorf("the archive has more than %d entries", maxEntries)
		}
		name, err := cleanName(h)
		if err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		if seen[name] {
			return nil, fmt.Errorf("the archive has %q twice", name)
		}
		seen[name] = true
		// Of a sparse file the size says nothing about what was sent, so it is bounded as well.
		if total += int(min(h.Size, maxUnpacked+1)); h.Size > source.MaxFile {
			return nil, fmt.Errorf("%s is larger than %d MiB", name, source.MaxFile>>20)
		}
		if total > maxUnpacked {
			return nil, bomb
		}
		text, err := io.ReadAll(io.LimitReader(files, source.MaxFile+1))
		switch {
		case counted.N <= 0:
			return nil, bomb
		case err != nil:
			return nil, cutOff(err)
		}
		out = append(out, entry{name, text})
	}
	// To the end, where the checksum is.
	if _, err := io.Copy(io.Discard, counted); err != nil {
		return nil, cutOff(err)
	}
	if counted.N <= 0 {
		return nil, bomb
	}
	return out, nil
}

// cleanName returns the name of an entry, relative to the root of the archive, where OPA
// and tar may have written "/" or "./" in front.
func cleanName(h *tar.Header) (string, error) {
	if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir {
		return "", fmt.Errorf("the archive has %q, which is neither file nor folder (type %q)", shown(h.Name), h.Typeflag)
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse") {
			return "", fmt.Errorf("the archive has %q, which is sparse", shown(h.Name))
		}
	}
	name := strings.TrimPrefix(strings.TrimPrefix(h.Name, "."), "/")
	if strings.HasPrefix(h.Name, ".") && !strings.HasPrefix(h.Name, "./") && h.Name != "." {
		name = h.Name // .manifest
	}
	if h.Typeflag == tar.TypeDir {
		name = strings.TrimSuffix(name, "/")
	}
	if name == "" && h.Typeflag == tar.TypeDir {
		return "", nil
	}
	if !fs.ValidPath(name) || path.Clean(name) != name || len(name) > maxName || strings.ContainsAny(name, "\\:\x00") || strings.ContainsFunc(name, isControl) {
		return "", fmt.Errorf("the archive has the name %q, which is not allowed", shown(h.Name))
	}
	return name, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func shown(name string) string {
	if len(name) > maxName {
		return strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return name
}

// what says what data is that is no archive, as a person would.
func what(data []byte) string {
	kind := http.DetectContentType(data)
	switch {
	case len(data) == 0:
		return "empty"
	case strings.HasPrefix(kind, "text/html"):
		return "a page of HTML"
	case strings.HasPrefix(kind, "text/plain"):
		return "text"
	}
	return "of the type " + kind
}

// cutOff returns what the end of an archive means where more is expected.
func cutOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the archive is cut off")
	}
	return fmt.Errorf("the archive cannot be read: %w", err)
}
