package verify

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
)

// cursor is a query that is read row by row.
type cursor struct {
	stmt driver.Stmt
	rows driver.Rows
	row  []driver.Value
	more bool
}

func query(conn driver.Conn, text string, args ...driver.NamedValue) (c *cursor, err error) {
	c = &cursor{}
	if c.stmt, err = conn.Prepare(text); err != nil {
		return nil, err
	}
	c.rows, err = c.stmt.(driver.StmtQueryContext).QueryContext(context.Background(), args)
	if err != nil {
		return nil, errors.Join(err, c.stmt.Close())
	}
	c.row = make([]driver.Value, len(c.rows.Columns()))
	return c, nil
}

// next reads the next row.
func (c *cursor) next() error {
	err := c.rows.Next(c.row)
	c.more = err == nil
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (c *cursor) close() error { return errors.Join(c.rows.Close(), c.stmt.Close()) }
