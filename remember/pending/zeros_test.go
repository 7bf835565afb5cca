package pending

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRevocationsBehindZeros: a revocation holds also where a power cut left zeros in the
// file before it.
func TestRevocationsBehindZeros(t *testing.T) {
	for name, text := range map[string]string{
		"none": "a@5\nb@6\n", "before": "\x00\x00\x00a@5\nb@6\n", "between": "a@5\x00\x00b@6\n", "after": "a@5\nb@6\n\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "revoked")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var p File
			if err := p.Open(file, 1, 1); err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for _, id := range []string{"a", "b"} {
				if _, ok := p.IDs[id]; !ok {
					t.Errorf("%s is not revoked: %q", id, text)
				}
			}
		})
	}
}
