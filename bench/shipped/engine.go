package shipped

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
)

// Engine returns the real engine on the given file system, with a fixed clock. It
// has no journal, and remembers nothing unless change gives it a memory. change may
// be nil.
func Engine(
	snap decisions.Snapshot, fs effects.FS, own paths.Own, pid int, now time.Time, change func(*decisions.Config),
) *decisions.Engine {
	n := 0
	c := decisions.Config{
		Policy: fixedPolicy{snap}, Memory: noMemory{}, Journal: noJournal{}, FS: paths.NewIndex(fs, time.Now), Own: own, PID: pid,
		Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
		NewID: func() string { n++; return strconv.Itoa(n) },
	}
	if change != nil {
		change(&c)
	}
	e, err := decisions.NewEngine(c)
	if err != nil {
		panic(err) // a member is missing in the literal above
	}
	return e
}

// fixedPolicy is a policy that never changes.
type fixedPolicy struct{ snap decisions.Snapshot }

func (f fixedPolicy) Snapshot(uint32, string) (decisions.Snapshot, error) { return f.snap, nil }

// noMemory remembers nothing, and noJournal records nothing.
type noMemory struct{}

func (noMemory) Match(*decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	return nil, nil, nil
}

type noJournal struct{}

func (noJournal) Append(context.Context, ...*decisions.Record) error { return nil }
