package source

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocumentedBounds compares the bounds that policy.md has with the constants.
func TestDocumentedBounds(t *testing.T) {
	data, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("are too many (%d files with tests, lists and programs, %d folders, %d MiB a file, %d MiB in all)", maxFiles, maxFolders, maxFileSize>>20, maxTreeSize>>20); !strings.Contains(string(data), want) {
		t.Errorf("policy.md does not say %q", want)
	}
}
