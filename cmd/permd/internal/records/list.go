package records

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket/admin"
)

// Print prints the newest decisions that a filter selects, as many as its limit says, or
// all of them. It returns where older ones begin, 0 if there are none.
func (l *Log) Print(ctx context.Context, s *cli.Streams, f decisions.RecordFilter, all bool) (next int64, found int, err error) {
	var damaged int
	print := func(recs []*decisions.Record) error {
		found += len(recs)
		for _, r := range recs {
			if r.Unreadable != "" {
				damaged++
			}
		}
		return PrintRecords(s, recs)
	}
	if all {
		if err = l.Each(ctx, s, f, print); err != nil {
			return 0, found, err
		}
	} else {
		var recs []*decisions.Record
		if recs, next, err = l.newest(ctx, s, f); err == nil {
			err = print(recs)
		}
	}
	if err == nil && damaged > 0 {
		err = Unreadable(damaged)
	}
	return next, found, err
}

// Unreadable is the error for decisions that cannot be read.
func Unreadable(n int) error {
	return cli.Failf(cli.ExitError, "the journal's database is damaged; permd doctor says where it is", "%s cannot be read", cli.Plural(n, "decision"))
}

// newest returns the newest records, reading page by page.
func (l *Log) newest(ctx context.Context, s *cli.Streams, f decisions.RecordFilter) (recs []*decisions.Record, next int64, err error) {
	if f.Limit == 0 {
		f.Limit = admin.MaxList
	}
	limit := f.Limit
	p := cli.NewProgress(s.Err, "looking")
	defer p.Close()
	var first int64
	for {
		got, err := l.Page(ctx, f)
		if err != nil {
			return nil, 0, fmt.Errorf("reading the journal: %w", err)
		}
		recs = append(slices.Clone(got.Records), recs...)
		if got.Next == 0 || len(recs) >= limit {
			return recs, got.Next, nil
		}
		first = max(first, got.Left)
		p.Set(first-got.Left, first)
		f.Before, f.Limit = got.Next, limit-len(recs)
	}
}

// Each calls do with all records that a filter selects, the oldest first, some at a time.
func (l *Log) Each(ctx context.Context, s *cli.Streams, f decisions.RecordFilter, do func([]*decisions.Record) error) error {
	f.Oldest, f.Limit = true, admin.MaxList
	p := cli.NewProgress(s.Err, "reading")
	defer p.Close()
	var first int64
	for {
		got, err := l.Page(ctx, f)
		if err != nil {
			return fmt.Errorf("reading the journal: %w", err)
		}
		if len(got.Records) > 0 {
			if err := do(got.Records); err != nil {
				return err
			}
		}
		if got.Next == 0 {
			return nil
		}
		first = max(first, got.Left)
		p.Set(first-got.Left, first)
		f.After = got.Next
	}
}

const (
	// wide is the width from which a line has project and reason, too.
	wide = 120
	// shortID is how much of an id a narrow line has: the time of the decision in
	// milliseconds, and twelve bits.
	shortID = 18
)

// PrintRecords prints a line for each record: time, verdict and what became of it, effects,
// agent and id; where there is room, its project and reason, too. With --json it prints
// the records.
func PrintRecords(s *cli.Streams, recs []*decisions.Record) error {
	if s.JSON {
		return cli.PrintJSONLines(s.Out, recs)
	}
	width := cli.Width(s.Out)
	narrow := width > 0 && width < wide
	t := cli.Table{Flexible: []int{2, 3}}
	if !narrow {
		t.Flexible = []int{2, 3, 4, 5}
	}
	for _, r := range recs {
		what, agent, project, reason := Summary(r), cli.Clip(display.Display(r.Agent.Name), 24), filepath.Base(r.Project), cli.Clip(display.Display(r.Decision.Reason), 40)
		verdict, painted := VerdictAndOutcome(r), string(r.Decision.Verdict)
		if r.Unreadable != "" {
			verdict, painted, what, agent, reason = "unreadable", "error", cli.Clip(display.Display(r.Unreadable), 80), "", ""
		}
		if r.Project == "" {
			project = "-"
		}
		verdict = cli.Paint(s.Out, painted, verdict)
		if narrow {
			id := r.Decision.ID
			t.Row(r.Time.Local().Format("01-02 15:04"), verdict, what, cli.Clip(agent, 12), id[:min(len(id), shortID)])
			continue
		}
		t.Row(r.Time.Local().Format("01-02 15:04:05"), verdict, what, reason, agent, cli.Clip(display.Display(project), 24), r.Decision.ID)
	}
	return t.Write(s.Out)
}

// VerdictAndOutcome returns the verdict in words, with what became of the call: what the person said,
// or what verdict and answer do not say.
func VerdictAndOutcome(r *decisions.Record) string {
	d := &r.Decision
	switch {
	case d.Outcome != "":
		return fmt.Sprintf("%s, %s", d.Verdict, d.Outcome)
	case r.Answer != nil && r.Answer.Verdict == decisions.Allow:
		return string(d.Verdict) + ", allowed"
	case r.Ran != nil:
		return string(d.Verdict) + ", then run"
	case r.Answer != nil && r.Answer.Verdict == decisions.Deny:
		return string(d.Verdict) + ", " + r.Answer.Word()
	}
	return string(d.Verdict)
}

// Summary says what a record is about in a few words: effects, or the command that a person
// gave.
func Summary(r *decisions.Record) string {
	d := &r.Decision
	switch {
	case len(d.Effects) == 0 && r.Tool != "":
		return cli.Clip(display.Display(r.Tool), 48)
	case len(d.Effects) == 0:
		return "-"
	}
	s := cli.Clip(d.Effects[0].Text, 48)
	if n := len(d.Effects) - 1; n > 0 {
		s = strings.TrimSpace(s) + fmt.Sprintf(" (+%d)", n)
	}
	return s
}
