// Package sqlitedbtest checks open databases in tests.
package sqlitedbtest

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
)

// Querier is a database or a connection.
type Querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// WantHardened reads the settings that protect a database over its own connections, the
// writing one and a reading one.
func WantHardened(t *testing.T, write, read Querier, applicationID int32, secureDelete bool) {
	t.Helper()
	want := map[string]string{
		"application_id": fmt.Sprint(applicationID), "trusted_schema": "0", "writable_schema": "0", "cell_size_check": "1", "foreign_keys": "1",
	}
	for pool, on := range map[string]Querier{"writing": write, "reading": read} {
		want["query_only"], want["secure_delete"] = "1", "0"
		if pool == "writing" {
			want["query_only"] = "0"
			if secureDelete {
				want["secure_delete"] = "1"
			}
		}
		for name, value := range want {
			var have string
			if err := on.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&have); err != nil || have != value {
				t.Errorf("%s, the %s connection: have %q, %v; want %q", name, pool, have, err, value)
			}
		}
	}
}
