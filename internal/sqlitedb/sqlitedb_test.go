//go:build cgo

package sqlitedb_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/mattn/go-sqlite3"
	"go.uber.org/goleak"

	"github.com/permd/permd/internal/sqlitedb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	firstScript  = `CREATE TABLE notes (n INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT`
	secondScript = `ALTER TABLE notes ADD COLUMN colour TEXT; CREATE TABLE colours (name TEXT PRIMARY KEY) STRICT`
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func options(path string) sqlitedb.Options {
	return sqlitedb.Options{
		Path: path, ApplicationID: 0x7465_7374, Migrations: []string{firstScript},
		Synchronous: sqlitedb.Normal, Now: func() time.Time { return noon },
	}
}

// folder returns a private folder whose name has characters that a URI escapes.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a ?#%41 b")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t *testing.T, o sqlitedb.Options) *sqlitedb.DB {
	t.Helper()
	db, err := sqlitedb.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func exec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

// makeNotes creates a database with notes 1 to n and closes it.
func makeNotes(t *testing.T, o sqlitedb.Options, n int) {
	t.Helper()
	db, err := sqlitedb.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		exec(t, db.Write, "INSERT INTO notes (n, text) VALUES (?, ?)", i+1, strings.Repeat("x", 500))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTruncatedLogKeepsItsBeginning(t *testing.T) {
	o := options(filepath.Join(folder(t), "a.db"))
	db, err := sqlitedb.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		exec(t, db.Write, "INSERT INTO notes (n, text) VALUES (?, 'x')", i+1)
	}
	// The files as they are after a crash.
	copied := options(filepath.Join(folder(t), "b.db"))
	data, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(o.Path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, copied.Path, data)
	write(t, copied.Path+"-wal", log[:len(log)-5000])
	db = open(t, copied)
	var n, last int
	if err := db.Read.QueryRow("SELECT count(*), max(n) FROM notes").Scan(&n, &last); err != nil {
		t.Fatal(err)
	}
	if n != last || n < 15 || n >= 20 {
		t.Errorf("have %d notes up to %d, want the first 15 to 19", n, last)
	}
}

func TestMigration(t *testing.T) {
	o := options(filepath.Join(folder(t), "a.db"))
	makeNotes(t, o, 5)
	// A person's own copies, and those of another version, are not permd's to remove.
	others := []string{"a.db.backup-v1-20260301", "a.db.backup-v1-20260301T120000Z.old", "a.db.backup-v1-mine", "a.db.backup-v10-20260301T120000Z"}
	for _, name := range others {
		write(t, filepath.Join(filepath.Dir(o.Path), name), []byte("mine"))
	}
	second := o
	second.Migrations = []string{firstScript, secondScript}

	broken := o
	broken.Migrations = []string{firstScript, "CREATE TABLE half (a); INSERT INTO nowhere VALUES (1)"}
	if _, err := sqlitedb.Open(broken); err == nil || !strings.Contains(err.Error(), "migrating to version 2") {
		t.Fatalf("have %v, want an error of the migration", err)
	}
	if _, err := sqlitedb.OpenReadOnly(second); !errors.Is(err, sqlitedb.ErrOlder) {
		t.Fatalf("reading before the migration: have %v, want %v", err, sqlitedb.ErrOlder)
	}
	db := open(t, second)
	var n int
	if err := db.Read.QueryRow("SELECT count(*) FROM notes WHERE colour IS NULL").Scan(&n); err != nil || n != 5 {
		t.Fatalf("have %d notes, %v; want 5", n, err)
	}
	backups, err := filepath.Glob(filepath.Join(strings.NewReplacer("?", `\?`).Replace(filepath.Dir(o.Path)), "a.db.backup-*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range backups {
		backups[i] = filepath.Base(b)
	}
	const made = "a.db.backup-v1-20260301T120000Z-2" // the one before the migration that failed is gone
	want := slices.Sorted(slices.Values(append(others, made)))
	if diff := cmp.Diff(want, backups); diff != "" {
		t.Fatal(diff)
	}
	old := o
	old.Path = filepath.Join(filepath.Dir(o.Path), made)
	if err := open(t, old).Read.QueryRow("SELECT count(*) FROM notes").Scan(&n); err != nil || n != 5 {
		t.Errorf("backup: have %d notes, %v; want 5", n, err)
	}
}

func TestSetAside(t *testing.T) {
	o := options(filepath.Join(folder(t), "a.db"))
	dir := filepath.Dir(o.Path)
	if _, err := sqlitedb.SetAside(o.Path, noon); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("nothing there: have %v", err)
	}
	for _, content := range []string{"first", "second"} {
		write(t, o.Path, []byte(content))
		write(t, o.Path+"-wal", []byte(content+" log"))
		if _, err := sqlitedb.SetAside(o.Path, noon); err != nil {
			t.Fatal(err)
		}
	}
	have := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		have[e.Name()] = string(data)
	}
	want := map[string]string{
		"a.db.damaged-20260301T120000Z":       "first",
		"a.db.damaged-20260301T120000Z-wal":   "first log",
		"a.db.damaged-20260301T120000Z-2":     "second",
		"a.db.damaged-20260301T120000Z-2-wal": "second log",
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path string, at int64, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(data, at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
