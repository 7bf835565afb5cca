package programs

import (
	"os"
	"path/filepath"
	"testing"
)

// shipped is the program table as it is shipped.
func shipped(t testing.TB) *Table {
	t.Helper()
	names, err := filepath.Glob("../../../rego/programs/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no program files: %v", err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = data
	}
	table, err := ParseTable(files)
	if err != nil {
		t.Fatal(err)
	}
	return table
}
