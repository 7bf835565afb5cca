package programs

import (
	"testing"

	"github.com/permd/permd/rego"
)

// shipped returns the shipped program table.
func shipped(t testing.TB) *Table {
	t.Helper()
	table, err := ParseTable(rego.Programs())
	if err != nil {
		t.Fatal(err)
	}
	return table
}
