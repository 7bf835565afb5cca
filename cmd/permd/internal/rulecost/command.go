package rulecost

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/cmd/permd/internal/replay"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
)

// Bounds of what the command measures.
const (
	MaxCalls = 2000
	MaxTime  = 30 * time.Second
)

// Measure measures the rules on the disk on the newest calls that a filter selects, with those in
// folder in place of the person's, if it is not "". The journal is read from its file.
func Measure(ctx context.Context, s *cli.Streams, root string, f decisions.RecordFilter, folder string) (*Report, error) {
	dirs, err := account.Dirs(root)
	if err != nil {
		return nil, err
	}
	if err := replay.CheckFolder(folder); err != nil {
		return nil, err
	}
	rules, e, err := replay.Open(ctx, dirs, dirs, folder, root != "")
	if err != nil {
		return nil, err
	}
	log, err := records.OpenFile(root)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := cli.NewProgress(s.Err, "measuring")
	defer p.Close()
	from := source{
		page: log.Page, engine: e, rules: rules, policy: rules, prepare: rules.Prepare, off: rules.Settings.NoArguments,
		calls: func(map[string]bool) (callOf, error) {
			kept, err := arguments.Read(arguments.Dir(dirs.Data))
			if err != nil {
				return nil, err
			}
			return kept.Of, nil
		},
		maxCalls: MaxCalls, maxWork: MaxTime,
		progress: func(done, all int) { p.Set(int64(done), int64(all)) },
	}
	return from.measure(ctx, f)
}

// Cut leaves only the first n rules; with unmatched, of those that matched no call.
func (r *Report) Cut(n int, unmatched bool) {
	if unmatched {
		r.Rules = slices.DeleteFunc(r.Rules, func(r *Rule) bool { return r.Matched > 0 })
	}
	r.Rules = r.Rules[:min(n, len(r.Rules))]
}

// Print prints the report.
func (r *Report) Print(s *cli.Streams) error {
	if s.JSON {
		return cli.PrintJSON(s.Out, r)
	}
	t := cli.Table{Flexible: []int{6, 7}, Ends: []int{7}}
	t.Row(" SHARE", right("P50"), right("P99"), right("EVALUATED"), right("MATCHED"), "LAYER", "RULE", "AT")
	for _, one := range r.Rules {
		t.Row(fmt.Sprintf("%6s", cmp.Or(one.Percent(), "-")), right(took(one.P50NS)), right(took(one.P99NS)), right(fmt.Sprint(one.Evaluations)), right(fmt.Sprint(one.Matched)),
			string(one.Layer)+" "+string(one.Set), cli.Clip(display.Display(one.Name()), 60), display.Display(one.At))
	}
	if len(r.Rules) > 0 {
		if err := t.Write(s.Out); err != nil {
			return err
		}
	}
	w := cli.Folded(s.Out, 4)
	for _, one := range r.Rules {
		if one.Why != "" {
			fmt.Fprintf(w, "%s did not end by itself, %s: %s\n", display.Display(one.At), cli.Plural(one.Cut, "time"), display.Display(one.Why))
		}
	}
	for _, line := range r.Lines() {
		fmt.Fprintln(w, line)
	}
	return nil
}

// Lines says what was measured.
func (r *Report) Lines() []string {
	first := "no call was evaluated"
	if r.Calls > 0 {
		first = fmt.Sprintf("%s with %s, since %s: %d of %s matched none of them", cli.Plural(r.Calls, "call"), cli.Plural(r.Effects, "effect"),
			r.Oldest.Local().Format(time.DateTime), r.Unmatched, cli.Plural(r.All, "rule"))
	}
	list := []string{first}
	for _, n := range r.Undecided {
		list = append(list, fmt.Sprintf("%s cannot be evaluated: %s", cli.Plural(n.Count, "decision"), display.Display(n.Why)))
	}
	if r.WithoutProject > 0 {
		list = append(list, fmt.Sprintf("%s without the rules of their project, which are not loaded", cli.Plural(r.WithoutProject, "call")))
	}
	if r.Ended != "" {
		list = append(list, r.Ended)
	}
	return list
}

// Percent is the share as it is shown, "" for a rule that was not evaluated.
func (r *Rule) Percent() string {
	switch p := 100 * r.Share; {
	case r.Evaluations == 0:
		return ""
	case p < 0.1:
		return "< 0.1"
	default:
		return fmt.Sprintf("%.1f", p)
	}
}

// took is a time as it is shown, with three digits.
func took(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d == 0:
		return "-"
	case d < time.Millisecond:
		return d.Round(100 * time.Nanosecond).String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// right puts text at the right of a column.
func right(text string) string {
	const wide = 8
	return strings.Repeat(" ", max(0, wide-cli.Cells(text))) + text
}
