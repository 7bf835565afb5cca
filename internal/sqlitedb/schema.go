package sqlitedb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
)

// checkSchema compares what is in a migrated database with what the migrations
// make: a table that is gone, or a trigger that somebody added, would show only
// later, or never.
func checkSchema(drv driver.Driver, db *sql.DB, o *Options) (err error) {
	have, err := readSchema(db)
	if err != nil {
		return err
	}
	model := sql.OpenDB(&connector{drv: drv, dsn: ":memory:", pragmas: commonPragmas})
	model.SetMaxOpenConns(1) // each connection has a memory of its own
	defer func() { err = errors.Join(err, model.Close()) }()
	for i, script := range o.Migrations {
		if _, err := model.Exec(script); err != nil {
			return fmt.Errorf("making version %d in memory: %w", i+1, err)
		}
	}
	want, err := readSchema(model)
	if err != nil {
		return err
	}
	for _, item := range have {
		if !slices.Contains(want, item) {
			return fmt.Errorf("%w: its %s %s is not the one that permd makes", ErrDamaged, item.kind, item.name)
		}
	}
	for _, item := range want {
		if !slices.Contains(have, item) {
			return fmt.Errorf("%w: its %s %s is missing", ErrDamaged, item.kind, item.name)
		}
	}
	return nil
}

// schemaItem is a table, index, trigger or view.
type schemaItem struct{ kind, name, text string }

// readSchema leaves out what SQLite creates itself.
func readSchema(db *sql.DB) (items []schemaItem, err error) {
	rows, err := db.QueryContext(context.Background(),
		`SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE substr(name, 1, 7) <> 'sqlite_'`)
	if err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var item schemaItem
		if err := rows.Scan(&item.kind, &item.name, &item.text); err != nil {
			return nil, fmt.Errorf("reading schema: %w", err)
		}
		items = append(items, item)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	return items, nil
}
