package sqlitedb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
)

// connector opens connections and verifies their settings. The driver ignores misspelt
// names in its data source name, so settings are made by pragma and read back.
type connector struct {
	drv     driver.Driver
	dsn     string
	pragmas []pragma
}

// pragma is one setting of a connection.
type pragma struct {
	name string
	set  string // the value as SQL; "" means that the pragma is only read
	want driver.Value
	// unchecked is set if an existing database may keep another value.
	unchecked bool
}

// commonPragmas holds for every connection: a schema cannot call functions with side
// effects, and damaged cells are noticed when they are read. SQLite's defensive mode has
// no pragma, and the driver has no call for it; checkSchema refuses what a forged schema
// would add. The cache is small (256
// KiB, where SQLite takes 2 MiB for each connection), which is enough for rows that are
// appended and otherwise read from RAM.
var commonPragmas = []pragma{
	{name: "busy_timeout", set: "5000", want: int64(5000)},
	{name: "cache_size", set: "-256", want: int64(-256)},
	{name: "trusted_schema", set: "0", want: int64(0)},
	{name: "cell_size_check", set: "1", want: int64(1)},
	{name: "foreign_keys", set: "1", want: int64(1)},
}

// defaultAutoCheckpoint is SQLite's default, in pages.
const defaultAutoCheckpoint = 1000

func writer(drv driver.Driver, o *Options) *sql.DB {
	pages := o.autoCheckpoint
	if pages == 0 {
		pages = defaultAutoCheckpoint
	}
	db := sql.OpenDB(&connector{
		drv: drv,
		// An immediate transaction waits for the lock when it starts. A transaction that
		// reads first and upgrades later fails, whatever the timeout.
		dsn: dsn(o.Path, "rw") + "&_txlock=immediate",
		pragmas: slices.Concat(shrinking(o), deleting(o), []pragma{
			{name: "journal_mode", set: "wal", want: "wal"},
			{name: "synchronous", set: fmt.Sprint(int(o.Synchronous)), want: int64(o.Synchronous)},
			{name: "wal_autocheckpoint", set: fmt.Sprint(pages), want: int64(pages)},
		}, commonPragmas),
	})
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	return db
}

func deleting(o *Options) []pragma {
	if !o.SecureDelete {
		return nil
	}
	return []pragma{{name: "secure_delete", set: "1", want: int64(1)}}
}

func reader(drv driver.Driver, o *Options) *sql.DB {
	db := sql.OpenDB(&connector{
		drv: drv,
		dsn: dsn(o.Path, "ro"),
		pragmas: append([]pragma{
			{name: "query_only", set: "1", want: int64(1)},
			{name: "journal_mode", want: "wal"},
		}, commonPragmas...),
	})
	db.SetMaxOpenConns(maxReaders)
	db.SetMaxIdleConns(maxReaders)
	return db
}

// dsn returns the file's name as a URI, which can hold any path.
func dsn(path, mode string) string {
	u := url.URL{Scheme: "file", Path: path, RawQuery: "mode=" + mode}
	return u.String()
}

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.drv.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	for _, p := range c.pragmas {
		if err := p.apply(ctx, conn); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return c.drv }

func (p *pragma) apply(ctx context.Context, conn driver.Conn) error {
	query, ok := conn.(driver.QueryerContext)
	if !ok {
		return errors.New("the SQLite driver cannot query")
	}
	if p.set != "" {
		if _, err := firstColumn(ctx, query, "PRAGMA "+p.name+" = "+p.set); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("setting %s: %w", p.name, err)
		}
	}
	if p.unchecked {
		return nil
	}
	have, err := firstColumn(ctx, query, "PRAGMA "+p.name)
	if err != nil {
		return fmt.Errorf("reading %s back: %w", p.name, err)
	}
	if have != p.want {
		return fmt.Errorf("setting %s: have %v, want %v", p.name, have, p.want)
	}
	return nil
}

// firstColumn returns the first column of the first row, or io.EOF if there is none.
func firstColumn(ctx context.Context, conn driver.QueryerContext, query string) (driver.Value, error) {
	rows, err := conn.QueryContext(context.WithoutCancel(ctx), query, nil)
	if err != nil {
		return nil, err
	}
	dest := make([]driver.Value, max(1, len(rows.Columns())))
	err = rows.Next(dest)
	if cerr := rows.Close(); err == nil {
		err = cerr
	}
	return dest[0], err
}
