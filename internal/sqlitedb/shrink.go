package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// incremental is the value of auto_vacuum for which Shrink works.
const incremental = 2

// shrinking is the setting of a database that Shrink can be used on. SQLite takes
// it for a database without content, and for others at the next Compact.
func shrinking(o *Options) []pragma {
	if !o.Shrinks {
		return nil
	}
	return []pragma{{name: "auto_vacuum", set: fmt.Sprint(incremental), unchecked: true}}
}

// Usage is how much of a database's file is used, in pages.
type Usage struct {
	Pages, Free int64
	PageSize    int64 // in bytes
}

// Bytes is the size of the used pages.
func (u Usage) Bytes() int64 { return (u.Pages - u.Free) * u.PageSize }

// ReadUsage reads the usage over a connection. It takes microseconds.
func ReadUsage(ctx context.Context, c *sql.Conn) (u Usage, err error) {
	for _, read := range []struct {
		name string
		into *int64
	}{{"page_count", &u.Pages}, {"freelist_count", &u.Free}, {"page_size", &u.PageSize}} {
		if err := c.QueryRowContext(ctx, "PRAGMA "+read.name).Scan(read.into); err != nil {
			return Usage{}, fmt.Errorf("reading %s: %w", read.name, err)
		}
	}
	return u, nil
}

// sizeWithout returns the least size in bytes that the file has when so many free pages
// were taken from its end. A pointer-map page, of which there is one for each
// page_size/5 pages, goes with the last page that it describes, and so does the page of
// the locks at 1 GiB (sqlite.org/fileformat2.html, 1.3 and 1.8).
func (u Usage) sizeWithout(pages int64) int64 {
	maps := pages/(u.PageSize/5) + 1
	const locks = 1
	return max(u.Pages-pages-maps-locks, 1) * u.PageSize
}

// CanShrink reports whether Shrink has an effect on the database.
func CanShrink(ctx context.Context, c *sql.Conn) (bool, error) {
	var mode int
	if err := c.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&mode); err != nil {
		return false, fmt.Errorf("reading auto_vacuum: %w", err)
	}
	return mode == incremental, nil
}

// Shrink returns at most so many free pages to the file system, over the writing
// connection, which has no transaction open. It takes milliseconds for some
// hundred pages.
func (db *DB) Shrink(ctx context.Context, c *sql.Conn, pages int64) error {
	u, err := ReadUsage(ctx, c)
	if err != nil {
		return err
	}
	pages = min(pages, u.Free)
	if pages <= 0 {
		return nil
	}
	// The file itself shrinks with a checkpoint: this one, or a later one if a
	// reader still needs the log.
	db.watched.mayShrink(u.sizeWithout(pages))
	if err := freePages(ctx, c, pages); err != nil {
		return fmt.Errorf("shrinking the database: %w", err)
	}
	return db.checkpoint(ctx, c)
}

// freePages takes free pages from the end of the file. SQLite does so for one page
// with each row of the result that is read.
func freePages(ctx context.Context, c *sql.Conn, pages int64) error {
	rows, err := c.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", pages))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// Compact rewrites the database without its free pages. It needs as much space
// again while it works, and about a second for 100 MiB.
func (db *DB) Compact(ctx context.Context, c *sql.Conn) error {
	db.watched.mayShrink(minPage)
	_, err := c.ExecContext(ctx, "VACUUM")
	// In any case: the file has its size again.
	if err := errors.Join(err, db.checkpoint(ctx, c)); err != nil {
		return fmt.Errorf("compacting the database: %w", err)
	}
	return nil
}

// checkpoint copies the log into the file, as far as readers let it.
func (db *DB) checkpoint(ctx context.Context, c *sql.Conn) error {
	var busy, logged, copied int64
	if err := c.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &logged, &copied); err != nil {
		return fmt.Errorf("copying the log into the database: %w", err)
	}
	if busy == 0 && logged == copied {
		db.watched.hasShrunk()
	}
	return nil
}

// mayShrink lets the database's file shrink to that size, until hasShrunk.
func (p *watchedFiles) mayShrink(size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.files[0]
	if f.floor == 0 || size < f.floor {
		f.floor = size
	}
}

// hasShrunk says that the database's file has its size.
func (p *watchedFiles) hasShrunk() {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.files[0]
	var st unix.Stat_t
	err := unix.Fstatat(int(p.folder.Fd()), f.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil || f.dev != uint64(st.Dev) || f.ino != uint64(st.Ino) { //nolint:unconvert // the types differ between systems
		return // check reports it
	}
	f.floor, f.size = 0, st.Size
}
