//go:build cgo

package sqlitedb_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/sqlitedb"
)

func TestOpenSetsAndKeeps(t *testing.T) {
	for name, tc := range map[string]struct {
		mode sqlitedb.Synchronous
		want int
	}{
		"normal": {sqlitedb.Normal, 1},
		"full":   {sqlitedb.Full, 2},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(filepath.Join(folder(t), "a.db"))
			o.Synchronous = tc.mode
			makeNotes(t, o, 3)
			db := open(t, o)
			for query, want := range map[string]string{
				"PRAGMA journal_mode":        "wal",
				"PRAGMA synchronous":         fmt.Sprint(tc.want),
				"PRAGMA foreign_keys":        "1",
				"PRAGMA trusted_schema":      "0",
				"PRAGMA cell_size_check":     "1",
				"PRAGMA busy_timeout":        "5000",
				"PRAGMA application_id":      fmt.Sprint(o.ApplicationID),
				"PRAGMA user_version":        "1",
				"PRAGMA secure_delete":       "0",
				"PRAGMA writable_schema":     "0",
				"SELECT count(*) FROM notes": "3",
			} {
				for pool, on := range map[string]*sql.DB{"writing": db.Write, "reading": db.Read} {
					var have string
					if err := on.QueryRow(query).Scan(&have); err != nil || have != want && (pool == "writing" || query != "PRAGMA synchronous") {
						t.Errorf("%s, %s: have %q, %v; want %q", pool, query, have, err, want)
					}
				}
			}
			if _, err := db.Read.Exec("DELETE FROM notes"); err == nil {
				t.Error("the reading pool can write")
			}
			exec(t, db.Write, "INSERT INTO notes (n, text) VALUES (4, 'new')")
			for _, name := range []string{"a.db", "a.db-wal", "a.db-shm"} {
				info, err := os.Lstat(filepath.Join(filepath.Dir(o.Path), name))
				if err != nil {
					t.Fatal(err)
				}
				if have := info.Mode(); have != 0o600 {
					t.Errorf("%s has mode %v, want 0600", name, have)
				}
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, o *sqlitedb.Options)
		want    error
	}{
		"newer version": {func(t *testing.T, o *sqlitedb.Options) {
			newer := *o
			newer.Migrations = []string{firstScript, secondScript}
			makeNotes(t, newer, 2)
		}, sqlitedb.ErrNewer},
		"another program's file": {func(t *testing.T, o *sqlitedb.Options) {
			other := *o
			other.ApplicationID++
			makeNotes(t, other, 2)
		}, sqlitedb.ErrForeign},
		"another program's file without an id": {func(t *testing.T, o *sqlitedb.Options) {
			o.Path = filepath.Join(t.TempDir(), "d", "plain.db") // this driver call takes no URI
			if err := os.Mkdir(filepath.Dir(o.Path), 0o700); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("sqlite3", o.Path)
			if err != nil {
				t.Fatal(err)
			}
			exec(t, db, "CREATE TABLE theirs (a)")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(o.Path, 0o600); err != nil {
				t.Fatal(err)
			}
		}, sqlitedb.ErrForeign},
		"no database": {func(t *testing.T, o *sqlitedb.Options) {
			write(t, o.Path, bytes.Repeat([]byte("not a database. "), 1000))
		}, sqlitedb.ErrDamaged},
		"damaged page": {func(t *testing.T, o *sqlitedb.Options) {
			makeNotes(t, *o, 200)
			overwrite(t, o.Path, 3*4096, bytes.Repeat([]byte{0xAB}, 4096))
		}, sqlitedb.ErrDamaged},
		"cut file": {func(t *testing.T, o *sqlitedb.Options) {
			makeNotes(t, *o, 200)
			if err := os.Truncate(o.Path, 3*4096); err != nil {
				t.Fatal(err)
			}
		}, sqlitedb.ErrDamaged},
		"emptied, log still there": {func(t *testing.T, o *sqlitedb.Options) {
			write(t, o.Path, nil)
			write(t, o.Path+"-wal", []byte("log"))
		}, sqlitedb.ErrDamaged},
		"gone, log still there": {func(t *testing.T, o *sqlitedb.Options) {
			write(t, o.Path+"-wal", []byte("log"))
		}, sqlitedb.ErrDamaged},
		"link": {func(t *testing.T, o *sqlitedb.Options) {
			target := filepath.Join(t.TempDir(), "target")
			write(t, target, nil)
			if err := os.Symlink(target, o.Path); err != nil {
				t.Fatal(err)
			}
		}, sqlitedb.ErrUnsafe},
		"dangling link": {func(t *testing.T, o *sqlitedb.Options) {
			if err := os.Symlink(filepath.Join(t.TempDir(), "nowhere"), o.Path); err != nil {
				t.Fatal(err)
			}
		}, sqlitedb.ErrUnsafe},
		"link at the log": {func(t *testing.T, o *sqlitedb.Options) {
			if err := os.Symlink("/dev/null", o.Path+"-wal"); err != nil {
				t.Fatal(err)
			}
		}, sqlitedb.ErrUnsafe},
		"link as the folder": {func(t *testing.T, o *sqlitedb.Options) {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(filepath.Dir(o.Path), link); err != nil {
				t.Fatal(err)
			}
			o.Path = filepath.Join(link, "a.db")
		}, sqlitedb.ErrUnsafe},
		"folder others can write": {func(t *testing.T, o *sqlitedb.Options) {
			if err := os.Chmod(filepath.Dir(o.Path), 0o777); err != nil {
				t.Fatal(err)
			}
		}, sqlitedb.ErrUnsafe},
		"file others can read": {func(t *testing.T, o *sqlitedb.Options) {
			makeNotes(t, *o, 1)
			if err := os.Chmod(o.Path, 0o644); err != nil {
				t.Fatal(err)
			}
		}, sqlitedb.ErrUnsafe},
		"folder": {func(t *testing.T, o *sqlitedb.Options) {
			if err := os.Mkdir(o.Path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, sqlitedb.ErrUnsafe},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(filepath.Join(folder(t), "a.db"))
			tc.prepare(t, &o)
			before, _ := os.ReadFile(o.Path)
			db, err := sqlitedb.Open(o)
			if db != nil || !errors.Is(err, tc.want) {
				t.Fatalf("have %v, want %v", err, tc.want)
			}
			if errors.Is(tc.want, sqlitedb.ErrDamaged) != sqlitedb.IsDamaged(err) {
				t.Errorf("IsDamaged(%v) = %v", err, sqlitedb.IsDamaged(err))
			}
			after, _ := os.ReadFile(o.Path)
			if !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
			if !strings.Contains(err.Error(), filepath.Base(filepath.Dir(o.Path))) {
				t.Errorf("%q does not say which file", err)
			}
		})
	}
}

func TestOpenForeignOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	o := options(filepath.Join(folder(t), "a.db"))
	makeNotes(t, o, 1)
	if err := os.Chown(o.Path, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitedb.Open(o); !errors.Is(err, sqlitedb.ErrUnsafe) {
		t.Fatalf("have %v, want %v", err, sqlitedb.ErrUnsafe)
	}
	if err := os.Chown(filepath.Dir(o.Path), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitedb.Open(o); !errors.Is(err, sqlitedb.ErrUnsafe) {
		t.Fatalf("folder: have %v, want %v", err, sqlitedb.ErrUnsafe)
	}
}

func TestOpenAfterInterruptedCreation(t *testing.T) {
	o := options(filepath.Join(folder(t), "a.db"))
	write(t, o.Path, nil)
	makeNotes(t, o, 1)
}

func TestOpenReadOnly(t *testing.T) {
	o := options(filepath.Join(folder(t), "a.db"))
	if _, err := sqlitedb.OpenReadOnly(o); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("missing file: have %v, want %v", err, fs.ErrNotExist)
	}
	if exists, _ := os.ReadDir(filepath.Dir(o.Path)); len(exists) != 0 {
		t.Fatalf("reading made files: %v", exists)
	}
	makeNotes(t, o, 2)
	count := func(db *sqlitedb.DB) (n int) {
		t.Helper()
		if err := db.Read.QueryRow("SELECT count(*) FROM notes").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	alone, err := sqlitedb.OpenReadOnly(o)
	if err != nil {
		t.Fatal(err)
	}
	if n := count(alone); n != 2 {
		t.Errorf("alone: have %d, want 2", n)
	}
	if alone.Write != nil {
		t.Error("a database opened to read has a writer")
	}
	live := open(t, o)
	exec(t, live.Write, "INSERT INTO notes (n, text) VALUES (3, 'live')")
	if n := count(alone); n != 3 {
		t.Errorf("beside a writer: have %d, want 3", n)
	}
	if err := alone.Close(); err != nil {
		t.Fatal(err)
	}
	exec(t, live.Write, "INSERT INTO notes (n, text) VALUES (4, 'live')")
}

func TestOpenChecksOptions(t *testing.T) {
	good := options("/nonexistent/a.db")
	for name, change := range map[string]func(*sqlitedb.Options){
		"relative path":   func(o *sqlitedb.Options) { o.Path = "a.db" },
		"unclean path":    func(o *sqlitedb.Options) { o.Path = "/a/../b.db" },
		"no id":           func(o *sqlitedb.Options) { o.ApplicationID = 0 },
		"no migrations":   func(o *sqlitedb.Options) { o.Migrations = nil },
		"no synchronous":  func(o *sqlitedb.Options) { o.Synchronous = 0 },
		"too synchronous": func(o *sqlitedb.Options) { o.Synchronous = 3 },
	} {
		o := good
		change(&o)
		if _, err := sqlitedb.Open(o); err == nil {
			t.Errorf("%s: no error from Open", name)
		}
		if _, err := sqlitedb.OpenReadOnly(o); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: have %v from OpenReadOnly", name, err)
		}
	}
}
