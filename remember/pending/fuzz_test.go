package pending

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzRevocations: what a file of revocations says is written and read as the same, and
// a file that is cut off or full of something else revokes no less than what can be read
// of it.
func FuzzRevocations(f *testing.F) {
	f.Add([]byte("a@1700000000\nb@1700000001\n*@1600000000\n"), int64(1_700_000_000_000_000_000))
	f.Add([]byte("old-form\n* \n@5\nx@-1\ny@99999999999999999999\n"), int64(5))
	f.Add(bytes.Repeat([]byte("0123456789-0123456789@1700000000\n"), 700), int64(1_700_000_000_000_000_000))
	file := filepath.Join(f.TempDir(), "revoked")
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		// In memory, where a sync takes no time.
		dir, err := os.MkdirTemp("/dev/shm", "permd-fuzz")
		if err != nil {
			f.Fatal(err)
		}
		file = filepath.Join(dir, "revoked")
		f.Cleanup(func() { _, _ = os.Remove(file), os.Remove(dir) })
	}
	f.Fuzz(func(t *testing.T, data []byte, latest int64) {
		if latest < 0 || latest > math.MaxInt64/2 {
			return
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		read := func() *File {
			p := new(File)
			if err := p.Open(file, int64(time.Hour), latest); err != nil {
				t.Fatal(err)
			}
			return p
		}
		first := read()
		if err := first.Save(); err != nil {
			t.Fatal(err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil || info.Size() < size && len(data) < size {
			t.Fatalf("the file has %d bytes, %v", info.Size(), err)
		}
		second := read()
		defer second.Close()
		if second.RevokedBefore < first.RevokedBefore {
			t.Fatalf("all up to %d were revoked, and now up to %d", first.RevokedBefore, second.RevokedBefore)
		}
		for id, r := range first.IDs {
			again, ok := second.IDs[id]
			if !ok && r.Created > second.RevokedBefore {
				t.Fatalf("%q is not revoked any more", id)
			}
			if ok && again.Created < r.Created {
				t.Fatalf("%q was of %d, and is of %d", id, r.Created, again.Created)
			}
		}
	})
}
