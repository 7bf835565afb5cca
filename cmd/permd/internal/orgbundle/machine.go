package orgbundle

import (
	"io"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/permd/permd/internal/statefile"
)

// idName is the name of the file with the machine's id, next to the bundles.
const idName = "machine-id"

// readID returns the id of this machine, "" if it has none yet.
func readID(dir string) string {
	f, err := statefile.Open(filepath.Join(dir, idName), uint32(os.Geteuid()))
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 64
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return ""
	}
	id, err := uuid.ParseBytes(text)
	if err != nil {
		return ""
	}
	return id.String()
}

// makeID makes an id for this machine. One is returned also if it cannot be kept.
func makeID(dir string) (string, error) {
	id := uuid.NewString()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return id, err
	}
	return id, statefile.Replace(filepath.Join(dir, idName), []byte(id))
}
