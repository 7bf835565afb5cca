// Package records reads the journal for the commands: through the daemon when one
// runs, else from its file. The daemon answers with the same readers.
package records

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// source is the reading side of the journal, wherever it is.
type source interface {
	List(ctx context.Context, f admin.Filter) ([]*decisions.Record, error)
	Get(ctx context.Context, decisionID string) (*decisions.Record, error)
}

// Log is a journal that was opened for reading.
type Log struct {
	source
	Close func()
}

// Open reads through the daemon when one runs, else the file itself.
func Open(ctx context.Context, root string) (*Log, error) {
	c, err := client.Connect(ctx, client.Options{Admin: true})
	if err == nil {
		return &Log{Remote{c}, func() { c.Close() }}, nil
	}
	if !errors.Is(err, client.ErrUnreachable) {
		return nil, err
	}
	return OpenFile(root)
}

// Remote reads the journal through the daemon.
type Remote struct{ Client *client.Client }

// List returns the records that the filter lets pass.
func (l Remote) List(ctx context.Context, f admin.Filter) ([]*decisions.Record, error) {
	var out admin.Records
	err := l.Client.Call(ctx, admin.MethodList, f, &out)
	return out.Records, err
}

// Get returns one record, nil if there is none.
func (l Remote) Get(ctx context.Context, id string) (*decisions.Record, error) {
	var r decisions.Record
	err := l.Client.Call(ctx, admin.MethodShow, map[string]string{"decisionId": id}, &r)
	if rpc, ok := errors.AsType[*client.Error](err); ok && rpc.Code == admin.CodeNoDecision {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// OpenFile reads the journal's file, for when no daemon runs.
func OpenFile(root string) (*Log, error) {
	dirs, err := account.Dirs(root)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dirs.Data, "decisions.db")
	r, err := journal.OpenReadOnly(journal.Options{Path: path})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Failf(cli.ExitError, "start the daemon with: permd serve", "there is no journal yet at %s", path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", cli.DatabaseFailure(err))
	}
	return &Log{Journal{Reader: r}, func() { r.Close() }}, nil
}
