package records

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/socket/admin"
)

// maxDays is how many days decisions are counted for.
const maxDays = admin.MaxStarts - 1

// counted counts decisions by group in one or several ways, the largest group first, and
// days in their order.
func (l *Log) counted(ctx context.Context, s *cli.Streams, f decisions.RecordFilter, by ...tally.By) ([]tally.Group, error) {
	f.Limit = 0
	var starts []time.Time
	if slices.Contains(by, tally.Day) {
		var err error
		if starts, err = l.days(ctx, &f); err != nil {
			return nil, err
		}
	}
	p := cli.NewProgress(s.Err, "counting")
	defer p.Close()
	var all []tally.Group
	at := map[tally.Group]int{} // by their names
	var first int64
	for {
		got, err := l.Tally(ctx, f, by, starts)
		if err != nil {
			return nil, fmt.Errorf("counting decisions: %w", err)
		}
		for _, g := range got.Groups {
			key := tally.Group{By: g.By, Name: g.Name}
			i, ok := at[key]
			if !ok {
				i = len(all)
				at[key], all = i, append(all, key)
			}
			all[i].Allow, all[i].Ask, all[i].Deny = all[i].Allow+g.Allow, all[i].Ask+g.Ask, all[i].Deny+g.Deny
		}
		if got.Next == 0 {
			break
		}
		first = max(first, got.Left)
		p.Set(first-got.Left, first)
		f.Before = got.Next
	}
	for i := range all {
		if all[i].By != tally.Day {
			continue
		}
		if at, err := time.Parse(time.RFC3339, all[i].Name); err == nil {
			all[i].Name = at.Local().Format(time.DateOnly)
		}
	}
	slices.SortFunc(all, func(a, b tally.Group) int {
		switch {
		case a.By != b.By:
			return cmp.Compare(a.By, b.By)
		case a.By == tally.Day:
			return cmp.Compare(a.Name, b.Name)
		}
		return cmp.Or(cmp.Compare(b.All(), a.All()), cmp.Compare(a.Name, b.Name))
	})
	return slices.DeleteFunc(all, func(t tally.Group) bool { return t.All() == 0 }), nil
}

// days returns the beginnings of the days that a filter selects, and the end of the last.
func (l *Log) days(ctx context.Context, f *decisions.RecordFilter) (starts []time.Time, err error) {
	since, until := f.Since, f.Until
	if since.IsZero() {
		oldest, err := l.Page(ctx, decisions.RecordFilter{Oldest: true, Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("reading the journal: %w", err)
		}
		if len(oldest.Records) == 0 {
			return nil, nil
		}
		since = oldest.Records[0].Time
	}
	if until.IsZero() {
		newest, err := l.Page(ctx, decisions.RecordFilter{Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("reading the journal: %w", err)
		}
		until = time.Now()
		for _, r := range newest.Records {
			until = later(until, r.Time)
		}
	}
	for n := range maxDays + 1 {
		starts = append(starts, cli.Midnight(since, n))
		if starts[n].After(until) {
			return starts, nil
		}
	}
	return nil, cli.Failf(cli.ExitUsage, "give --since and --until", "days can be counted for at most %d days", maxDays)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Agents returns the names of all agents that the journal knows, the one with the most
// decisions first.
func (l *Log) Agents(ctx context.Context) (names []string, err error) {
	got, err := l.Tally(ctx, decisions.RecordFilter{}, []tally.By{tally.Agent}, nil)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(got.Groups, func(a, b tally.Group) int { return cmp.Compare(b.All(), a.All()) })
	for _, g := range got.Groups {
		if g.Name != "" {
			names = append(names, g.Name)
		}
	}
	return names, nil
}

// Groups prints how many decisions each group has, as many groups as the filter's limit
// says, all for 0. It returns the number of groups.
func (l *Log) Groups(ctx context.Context, s *cli.Streams, f decisions.RecordFilter, by tally.By) (int, error) {
	groups, err := l.counted(ctx, s, f, by)
	if err != nil {
		return 0, err
	}
	shown := groups
	if f.Limit > 0 && len(groups) > f.Limit {
		shown = groups[:f.Limit]
		if by == tally.Day {
			shown = groups[len(groups)-f.Limit:]
		}
	}
	if s.JSON {
		return len(groups), cli.PrintJSONLines(s.Out, shown)
	}
	if len(groups) == 0 {
		return 0, nil
	}
	if err := table(s, by, shown); err != nil {
		return len(groups), err
	}
	if n := len(groups) - len(shown); n > 0 {
		fmt.Fprintf(s.Err, "permd: and %s; --all counts them\n", cli.Plural(n, "more group"))
	}
	return len(groups), nil
}

// table prints groups.
func table(s *cli.Streams, by tally.By, groups []tally.Group) error {
	t := cli.Table{Flexible: []int{0}}
	t.Row(strings.ToUpper(string(by)), right("ALLOW"), right("ASK"), right("DENY"), right("ALL"))
	for i := range groups {
		g := &groups[i]
		t.Row(nameOf(g.Name, by), right(number(g.Allow)), right(number(g.Ask)), right(number(g.Deny)), right(number(g.All())))
	}
	return t.Write(s.Out)
}

// base is the last name of a path.
func base(name string) string {
	if name == "" {
		return ""
	}
	return filepath.Base(name)
}

// nameOf returns the name of a group as it is shown.
func nameOf(name string, by tally.By) string {
	switch {
	case name != "":
		return cli.Clip(display.Display(name), 60)
	case by == tally.Project:
		return "(in no project)"
	case by == tally.Program:
		return "(runs nothing)"
	}
	return "-"
}

// right puts text at the right of a column.
func right(s string) string { return fmt.Sprintf("%7s", s) }

// number writes a count with separators.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
