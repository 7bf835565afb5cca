//go:build cgo

package sqlitedb_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/sqlitedb"
)

// TestSecureDelete deletes and replaces a text, and looks for it in the bytes of the
// database's files.
func TestSecureDelete(t *testing.T) {
	text := strings.Repeat("canary of a note ", 400) // longer than a page
	for name, secure := range map[string]bool{"without it": false, "with it": true} {
		t.Run(name, func(t *testing.T) {
			o := options(filepath.Join(folder(t), "a.db"))
			o.SecureDelete = secure
			db, err := sqlitedb.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			exec(t, db.Write, "INSERT INTO notes (n, text) VALUES (1, ?), (2, ?), (3, ?)", text, text, text[:200])
			if err := db.Fold(); err != nil {
				t.Fatal(err)
			}
			exec(t, db.Write, "DELETE FROM notes WHERE n = 1")
			exec(t, db.Write, "UPDATE notes SET text = 'x' WHERE n > 1")
			if err := db.Fold(); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(strings.ReplaceAll(filepath.Dir(o.Path), "?", "[?]") + "/*")
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			found := false
			for _, f := range files {
				data, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				found = found || bytes.Contains(data, []byte("canary of a note"))
			}
			if found == secure {
				t.Errorf("the text is still there: %v", found)
			}
		})
	}
}
