// Package records reads the journal for commands: through the daemon if one is running,
// otherwise from its file. The daemon uses the same types.
package records

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/internal/sqlitedb"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// journalReader reads the journal, wherever it is.
type journalReader interface {
	Page(ctx context.Context, f decisions.RecordFilter) (admin.Records, error)
	Tally(ctx context.Context, f decisions.RecordFilter, by []tally.By, starts []time.Time) (admin.Tallies, error)
	Get(ctx context.Context, decisionID string) (*decisions.Record, error)
	IDs(ctx context.Context, uid *uint32, prefix string, limit int) ([]string, error)
}

// Log is a journal opened for reading.
type Log struct {
	journalReader
	Close func()
}

// Open opens the journal: through the daemon if one is running, otherwise its file.
func Open(ctx context.Context, root string) (*Log, error) {
	c, err := client.Connect(ctx, client.Options{Admin: true})
	if err == nil {
		return Through(c), nil
	}
	if !errors.Is(err, client.ErrUnreachable) {
		return nil, err
	}
	return OpenFile(root)
}

// Newest returns the first page of a list.
func (l *Log) Newest(ctx context.Context, f decisions.RecordFilter) ([]*decisions.Record, error) {
	p, err := l.Page(ctx, f)
	return p.Records, err
}

// Through returns the journal of the daemon that a connection leads to. Closing it closes
// the connection.
func Through(c *client.Client) *Log { return &Log{Remote{c}, func() { c.Close() }} }

// Remote reads the journal through the daemon.
type Remote struct{ Client *client.Client }

// Page returns a part of a list.
func (l Remote) Page(ctx context.Context, f decisions.RecordFilter) (out admin.Records, err error) {
	err = l.Client.Call(ctx, admin.MethodList, f, &out)
	return out, err
}

// Tally counts decisions by group.
func (l Remote) Tally(ctx context.Context, f decisions.RecordFilter, by []tally.By, starts []time.Time) (out admin.Tallies, err error) {
	err = l.Client.Call(ctx, admin.MethodTally, admin.Tally{Selected: f, By: by, Starts: starts}, &out)
	if rpc, ok := errors.AsType[*client.Error](err); ok && rpc.Code == socket.CodeMethod {
		return out, cli.Failf(cli.ExitError, "restart the daemon", "the daemon that runs is of an earlier permd, which does not count")
	}
	return out, err
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

// IDs returns the ids that begin with prefix. A daemon of an earlier version knows only
// whole ones.
func (l Remote) IDs(ctx context.Context, _ *uint32, prefix string, _ int) ([]string, error) {
	var out admin.Found
	err := l.Client.Call(ctx, admin.MethodFind, map[string]string{"prefix": prefix}, &out)
	if rpc, ok := errors.AsType[*client.Error](err); ok && rpc.Code == socket.CodeMethod {
		return nil, nil
	}
	return out.IDs, err
}

// OpenFile opens the journal's file, if no daemon is running.
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
		return nil, fmt.Errorf("reading the journal: %w", DatabaseFailure(err))
	}
	return &Log{Journal{Reader: r}, func() { r.Close() }}, nil
}

// newerHint says how to go back to this version. The journal has no copies: an update only adds
// to it, but an earlier version does not read what was added.
const newerHint = "it was written by a newer permd: use that one again; nothing was changed. Or, while no daemon runs, move decisions.db* elsewhere and put the latest remember.db.backup-v* in the place of remember.db; what was chosen and decided since is not in them"

// DatabaseFailure adds a hint to an error of a database.
func DatabaseFailure(err error) error {
	if errors.Is(err, sqlitedb.ErrNewer) {
		return &cli.Failure{Code: cli.ExitError, Err: err, Hint: newerHint}
	}
	if errors.Is(err, sqlitedb.ErrOlder) {
		return &cli.Failure{Code: cli.ExitError, Err: err, Hint: "it was written by an earlier permd: start the daemon with permd serve, which updates it"}
	}
	return err
}
