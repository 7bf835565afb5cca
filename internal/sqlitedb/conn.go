package sqlitedb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
)

// connector makes connections and proves that their settings hold. The driver
// ignores misspelt names in its data source name, so settings are made by
// pragma and read back.
type connector struct {
	drv     driver.Driver
	dsn     string
	pragmas []pragma
}

// pragma is one setting of a connection.
type pragma struct {
	name string
	set  string // the value as SQL; "" only reads
	want driver.Value
}

// commonPragmas holds on every connection: a schema cannot call functions with side
// effects, and damaged cells are noticed when they are read. A small cache (of
// 256 KiB, where SQLite takes 2 MiB for each connection) is all that rows need
// which are added at the end and read from RAM.
var commonPragmas = []pragma{
	{"busy_timeout", "5000", int64(5000)},
	{"cache_size", "-256", int64(-256)},
	{"trusted_schema", "0", int64(0)},
	{"cell_size_check", "1", int64(1)},
	{"foreign_keys", "1", int64(1)},
}

// defaultAutoCheckpoint is what SQLite uses when nobody says otherwise.
const defaultAutoCheckpoint = 1000

func writer(drv driver.Driver, o *Options) *sql.DB {
	pages := o.autoCheckpoint
	if pages == 0 {
		pages = defaultAutoCheckpoint
	}
	db := sql.OpenDB(&connector{
		drv: drv,
		// An immediate transaction waits for the lock at its start; no timeout
		// saves one that reads first and upgrades later.
		dsn: dsn(o.Path, "rw") + "&_txlock=immediate",
		pragmas: append([]pragma{
			{"journal_mode", "wal", "wal"},
			{"synchronous", fmt.Sprint(int(o.Synchronous)), int64(o.Synchronous)},
			{"wal_autocheckpoint", fmt.Sprint(pages), int64(pages)},
		}, commonPragmas...),
	})
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	return db
}

func reader(drv driver.Driver, o *Options) *sql.DB {
	db := sql.OpenDB(&connector{
		drv: drv,
		dsn: dsn(o.Path, "ro"),
		pragmas: append([]pragma{
			{"query_only", "1", int64(1)},
			{"journal_mode", "", "wal"},
		}, commonPragmas...),
	})
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	return db
}

// dsn names the file as a URI, so that any path is taken as it is.
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
		if _, err := first(ctx, query, "PRAGMA "+p.name+" = "+p.set); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("setting %s: %w", p.name, err)
		}
	}
	have, err := first(ctx, query, "PRAGMA "+p.name)
	if err != nil {
		return fmt.Errorf("reading %s back: %w", p.name, err)
	}
	if have != p.want {
		return fmt.Errorf("setting %s: have %v, want %v", p.name, have, p.want)
	}
	return nil
}

// first returns the first column of the first row; io.EOF when there is none.
func first(ctx context.Context, conn driver.QueryerContext, query string) (driver.Value, error) {
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
