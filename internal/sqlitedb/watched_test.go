//go:build cgo

package sqlitedb_test

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/sqlitedb"
)

// TestInPlace: SQLite continues writing to removed files, so InPlace compares the names.
func TestInPlace(t *testing.T) {
	move := func(from, to string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.Rename(path+from, path+to); err != nil {
				t.Fatal(err)
			}
		}
	}
	cut := func(side string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.Truncate(path+side, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name string
		harm func(t *testing.T, path string)
		undo func(t *testing.T, path string) // nil: it cannot be undone
	}{
		{"database moved", move("", ".x"), move(".x", "")},
		{"log moved", move("-wal", ".x"), move(".x", "-wal")},
		{"folder gone", func(t *testing.T, path string) {
			if err := os.RemoveAll(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
		}, nil},
		{"another file in its place", func(t *testing.T, path string) {
			move("", ".x")(t, path)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, move(".x", "")},
		{"database cut", cut(""), nil},
		{"log cut", cut("-wal"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(folder(t), "test.db")
			db, err := sqlitedb.Open(options(path))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }() // with its files gone it may complain
			if err := db.InPlace(); err != nil {
				t.Fatalf("at first: %v", err)
			}
			tt.harm(t, path)
			if err := db.InPlace(); !errors.Is(err, sqlitedb.ErrGone) {
				t.Errorf("error is %v, want ErrGone", err)
			}
			if tt.undo == nil {
				if err := db.InPlace(); !errors.Is(err, sqlitedb.ErrGone) {
					t.Errorf("the second time: error is %v, want ErrGone", err)
				}
				return
			}
			tt.undo(t, path)
			if err := db.InPlace(); err != nil {
				t.Errorf("put back: %v", err)
			}
		})
	}
}

func TestOneWriter(t *testing.T) {
	path := filepath.Join(folder(t), "test.db")
	first, err := sqlitedb.Open(options(path))
	if err != nil {
		t.Fatal(err)
	}
	_, err = sqlitedb.Open(options(path))
	inUse, ok := errors.AsType[*sqlitedb.InUseError](err)
	if !ok || inUse.Held.PID != os.Getpid() || inUse.Path != path {
		t.Errorf("a second writer: %v", err)
	}
	reader, err := sqlitedb.OpenReadOnly(options(path))
	if err != nil {
		t.Fatalf("a reader beside the writer: %v", err)
	}
	if err := errors.Join(reader.Close(), first.Close()); err != nil {
		t.Fatal(err)
	}
	open(t, options(path))
}

// TestLockAfterFailure: after a failed Open, the database is not locked.
func TestLockAfterFailure(t *testing.T) {
	path := filepath.Join(folder(t), "test.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := sqlitedb.Open(options(path)); !errors.Is(err, sqlitedb.ErrDamaged) {
			t.Fatalf("error is %v, want ErrDamaged", err)
		}
	}
}

func TestForeignSchema(t *testing.T) {
	tests := []struct{ name, script, says string }{
		{"table gone", `DROP TABLE notes`, "table notes is missing"},
		{"trigger", `CREATE TRIGGER eat AFTER INSERT ON notes BEGIN DELETE FROM notes; END`, "trigger eat"},
		{"column added", `ALTER TABLE notes ADD COLUMN x TEXT`, "table notes is not"},
		{"statistics", `ANALYZE`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(folder(t), "test.db")
			db, err := sqlitedb.Open(options(path))
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			change(t, path, tt.script)
			db, err = sqlitedb.Open(options(path))
			if err == nil {
				defer func() { _ = db.Close() }()
			}
			switch {
			case tt.says == "" && err != nil:
				t.Error(err)
			case tt.says != "" && (!errors.Is(err, sqlitedb.ErrDamaged) || !strings.Contains(err.Error(), tt.says)):
				t.Errorf("error is %v, want ErrDamaged and %q", err, tt.says)
			}
		})
	}
}

// change runs a script on a database, like another program.
func change(t *testing.T, path, script string) {
	t.Helper()
	uri := url.URL{Scheme: "file", Path: path}
	db, err := sql.Open("sqlite3", uri.String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec(t, db, script)
}
