package main

import (
	"os"
	"strings"
	"testing"
)

// TestVersions: docs/hooks.md has a column for each version that is installed.
func TestVersions(t *testing.T) {
	data, err := os.ReadFile("../../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range harnesses {
		h := &harnesses[i]
		if cell := "| " + h.title + " " + h.seen + " |"; !strings.Contains(string(data), cell) {
			t.Errorf("docs/hooks.md has no column %q", cell)
		}
	}
}
