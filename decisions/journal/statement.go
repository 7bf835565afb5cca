package journal

import (
	"context"
	"database/sql/driver"
)

// statement is a prepared statement with its arguments. They are used for each row again:
// a list of new ones, and a value in an interface for each, would be more garbage than
// all else that storing a record needs. What a row has in common with the one before, as
// most texts, is not set again.
type statement struct {
	driver.Stmt
	args []driver.NamedValue
}

// prepare prepares the statement for n arguments.
func (s *statement) prepare(conn driver.Conn, query string, n int) (err error) {
	s.Stmt, err = conn.Prepare(query)
	s.args = make([]driver.NamedValue, n)
	for i := range s.args {
		s.args[i].Ordinal = i + 1
	}
	return err
}

// number sets an argument.
func (s *statement) number(i int, n int64) {
	if old, ok := s.args[i].Value.(int64); !ok || old != n {
		s.args[i].Value = n
	}
}

// text sets an argument to a copy of a text.
func (s *statement) text(i int, text []byte) {
	if old, ok := s.args[i].Value.(string); !ok || old != string(text) {
		s.args[i].Value = string(text)
	}
}

// bytes sets an argument, which must not change until run returns.
func (s *statement) bytes(i int, b []byte) { s.args[i].Value = b }

// value sets an argument.
func (s *statement) value(i int, v driver.Value) { s.args[i].Value = v }

// run runs the statement with its arguments.
func (s *statement) run() error {
	_, err := s.Stmt.(driver.StmtExecContext).ExecContext(context.Background(), s.args)
	return err
}

// changes runs the statement, and returns how many rows it has changed.
func (s *statement) changes() (int64, error) {
	result, err := s.Stmt.(driver.StmtExecContext).ExecContext(context.Background(), s.args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// close closes the statement, if it was prepared.
func (s *statement) close() error {
	if s.Stmt == nil {
		return nil
	}
	return s.Close()
}
