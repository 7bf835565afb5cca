package records

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/tally"
)

// statistics are what decisions of a time were. Its JSON form is stable.
type statistics struct {
	Since     time.Time        `json:"since"`
	Until     time.Time        `json:"until,omitzero"`
	Decisions int64            `json:"decisions"`
	Allow     int64            `json:"allow"`
	Ask       int64            `json:"ask"`
	Deny      int64            `json:"deny"`
	DecidedBy map[string]int64 `json:"decidedBy"`
	// Answered are the questions by what the person said: allow, deny, ran (it was
	// reported to have run, and nobody answered in permd) and none.
	Answered map[string]int64 `json:"answered"`
	Agents   []tally.Group    `json:"agents"`
	Tools    []tally.Group    `json:"tools,omitzero"`
	Days     []tally.Group    `json:"days,omitzero"`
	Projects []tally.Group    `json:"projects,omitzero"`
	Programs []tally.Group    `json:"programs,omitzero"`
	// Acts are what people did with commands of permd, by command. They are no decisions.
	Acts map[string]int64 `json:"acts,omitzero"`
}

// stats counts the decisions that a filter selects, which has a Since.
func (l *Log) stats(ctx context.Context, s *cli.Streams, f decisions.RecordFilter, extra ...tally.By) (*statistics, error) {
	st := &statistics{Since: f.Since, Until: f.Until, DecidedBy: map[string]int64{}, Answered: map[string]int64{}}
	kinds := []tally.By{tally.Agent, tally.Tool, tally.Verdict, tally.DecidedBy, tally.Act}
	if i := slices.Index(extra, tally.Day); i >= 0 { // counted together with these
		kinds, extra = append(kinds, tally.Day), slices.Delete(slices.Clone(extra), i, i+1)
	}
	for _, by := range [][]tally.By{kinds, {tally.Answer}, extra} {
		if len(by) == 0 {
			continue
		}
		groups, err := l.counted(ctx, s, f, by...)
		if err != nil {
			return nil, err
		}
		for i := range groups {
			st.add(&groups[i])
		}
	}
	return st, nil
}

func (st *statistics) add(t *tally.Group) {
	switch t.By {
	case tally.Verdict:
		st.Decisions, st.Allow, st.Ask, st.Deny = st.Decisions+t.All(), st.Allow+t.Allow, st.Ask+t.Ask, st.Deny+t.Deny
	case tally.DecidedBy:
		st.DecidedBy[t.Name] = t.All()
	case tally.Answer:
		st.Answered[cmp.Or(t.Name, "none")] = t.All()
	case tally.Agent:
		st.Agents = append(st.Agents, *t)
	case tally.Tool:
		st.Tools = append(st.Tools, *t)
	case tally.Day:
		st.Days = append(st.Days, *t)
	case tally.Project:
		st.Projects = append(st.Projects, *t)
	case tally.Program:
		st.Programs = append(st.Programs, *t)
	case tally.Act:
		if st.Acts == nil {
			st.Acts = map[string]int64{}
		}
		st.Acts[t.Name] = t.All()
	case tally.Host:
	}
}

// Statistics prints what the decisions that a filter selects were. It returns how many
// they are.
func (l *Log) Statistics(ctx context.Context, s *cli.Streams, f decisions.RecordFilter) (int64, error) {
	st, err := l.stats(ctx, s, f, tally.Day)
	if err != nil {
		return 0, err
	}
	if s.JSON {
		return st.Decisions, cli.PrintJSON(s.Out, st)
	}
	if st.Decisions == 0 {
		return 0, nil
	}
	w := cli.Folded(s.Out, 12)
	until := ""
	if !st.Until.IsZero() {
		until = " until " + st.Until.Local().Format("2006-01-02 15:04")
	}
	fmt.Fprintf(w, "%s since %s%s\n", plural(st.Decisions, "decision"), st.Since.Local().Format("2006-01-02 15:04"), until)
	for _, v := range []struct {
		verdict decisions.Verdict
		n       int64
	}{{decisions.Allow, st.Allow}, {decisions.Ask, st.Ask}, {decisions.Deny, st.Deny}} {
		fmt.Fprintf(s.Out, "  %s %9s  %3.0f %%\n", cli.Paint(s.Out, string(v.verdict), fmt.Sprintf("%-8s", v.verdict)), number(v.n), 100*float64(v.n)/float64(st.Decisions))
	}
	if err := flush(w, st.decidedBy(), st.questions(), st.acts()); err != nil {
		return st.Decisions, err
	}
	for _, of := range []struct {
		by   tally.By
		list []tally.Group
	}{
		{tally.Agent, st.Agents[:min(len(st.Agents), shownGroups)]}, {tally.Tool, st.Tools[:min(len(st.Tools), shownGroups)]},
		{tally.Day, st.Days[max(0, len(st.Days)-shownDays):]},
	} {
		fmt.Fprintln(s.Out)
		if err := table(s, of.by, of.list); err != nil {
			return st.Decisions, err
		}
	}
	return st.Decisions, nil
}

// How many days and other groups are shown.
const (
	shownDays   = 14
	shownGroups = 5
)

func flush(w io.Writer, lines ...string) error {
	for _, line := range lines {
		if line == "" {
			continue
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// decidedBy says who decided.
func (st *statistics) decidedBy() string {
	var list []string
	for _, who := range Deciders {
		if n := st.DecidedBy[who]; n > 0 {
			list = append(list, who+" "+number(n))
		}
	}
	return "  decided   by " + strings.Join(list, ", ")
}

// questions says what became of the questions, "" if there were none.
func (st *statistics) questions() string {
	if st.Ask == 0 {
		return ""
	}
	text := fmt.Sprintf("  answered  you allowed %s and denied %s", number(st.Answered["allow"]), number(st.Answered["deny"]))
	if n := st.Answered["ran"]; n > 0 {
		text += fmt.Sprintf("; %s ran without an answer in permd", number(n))
	}
	if n := st.Answered["none"]; n > 0 {
		text += fmt.Sprintf("; %s not in permd", number(n))
	}
	return text
}

// acts says what people did with commands of permd, "" for nothing.
func (st *statistics) acts() string {
	if len(st.Acts) == 0 {
		return ""
	}
	var list []string
	for _, command := range slices.Sorted(maps.Keys(st.Acts)) {
		list = append(list, strings.TrimPrefix(command, "permd ")+" "+number(st.Acts[command]))
	}
	return "  you       " + strings.Join(list, ", ")
}

// top lists the first groups in one line.
func top(list []tally.Group, most int, name func(string) string) string {
	var texts []string
	for i := range list {
		if list[i].Name == "" {
			continue
		}
		if len(texts) == most {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, cli.Clip(display.Display(name(list[i].Name)), 24)+" "+number(list[i].All()))
	}
	return strings.Join(texts, ", ")
}

// maxDayLines leaves room for a line of acts and for the day before, in ten.
const maxDayLines = 8

// Today prints the summary of a day in at most ten lines, and the number of decisions of
// the day before.
func (l *Log) Today(ctx context.Context, s *cli.Streams, day, now time.Time) error {
	start, end := cli.Midnight(day, 0), cli.Midnight(day, 1)
	f := decisions.RecordFilter{Since: start, Until: end}
	st, err := l.stats(ctx, s, f, tally.Project, tally.Program)
	if err != nil {
		return err
	}
	if s.JSON {
		return cli.PrintJSON(s.Out, st)
	}
	before, err := l.counted(ctx, s, decisions.RecordFilter{Since: cli.Midnight(day, -1), Until: start}, tally.Verdict)
	if err != nil {
		return err
	}
	name := start.Format("Monday, 2 January 2006")
	if start.Equal(cli.Midnight(now, 0)) {
		name = "today, " + name
	}
	if st.Decisions == 0 {
		return flush(s.Out, name+": no decisions", st.acts(), theDayBefore(before))
	}
	first, last, err := l.ends(ctx, f)
	if err != nil {
		return err
	}
	lines := []string{
		fmt.Sprintf("%s: %s, from %s to %s", name, plural(st.Decisions, "decision"), first, last),
		fmt.Sprintf("  allowed   %s", number(st.Allow)),
		fmt.Sprintf("  asked     %s", number(st.Ask)),
		st.questions(),
		fmt.Sprintf("  denied    %s", number(st.Deny)),
		st.decidedBy(),
	}
	if st.Deny > 0 {
		denied, err := l.Newest(ctx, decisions.RecordFilter{Since: start, Until: end, Verdict: decisions.Deny, Limit: 1})
		if err != nil {
			return err
		}
		for _, r := range denied {
			lines[4] += fmt.Sprintf(", the last at %s: %s", r.Time.Local().Format("15:04"), cli.Clip(Summary(r), 40))
		}
	}
	for _, of := range []struct {
		name string
		list []tally.Group
		show func(string) string
	}{
		{"agents", st.Agents, func(s string) string { return s }}, {"projects", st.Projects, base}, {"programs", st.Programs, func(s string) string { return s }},
	} {
		if text := top(of.list, 4, of.show); text != "" {
			lines = append(lines, fmt.Sprintf("  %-9s %s", of.name, text))
		}
	}
	if acts := st.acts(); acts != "" {
		lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
		lines = append(lines[:min(len(lines), maxDayLines)], acts)
	}
	return flush(s.Out, append(clipped(s.Out, lines), theDayBefore(before))...)
}

// clipped cuts lines that are longer than the terminal is wide, so that they stay ten.
func clipped(w io.Writer, lines []string) []string {
	lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
	width := cli.Width(w)
	for i, line := range lines {
		if width > 0 && cli.Cells(line) > width {
			lines[i] = cli.ClipEnd(line, width)
		}
	}
	return lines
}

// theDayBefore says how many decisions there were the day before, "" if none.
func theDayBefore(groups []tally.Group) string {
	var sum tally.Group
	for i := range groups {
		sum.Allow, sum.Ask, sum.Deny = sum.Allow+groups[i].Allow, sum.Ask+groups[i].Ask, sum.Deny+groups[i].Deny
	}
	if sum.All() == 0 {
		return ""
	}
	return fmt.Sprintf("the day before: %s, %s asked, %s denied", number(sum.All()), number(sum.Ask), number(sum.Deny))
}

// ends returns when the first and the last decision was that a filter selects.
func (l *Log) ends(ctx context.Context, f decisions.RecordFilter) (first, last string, err error) {
	at := func(oldest bool) string {
		f.Oldest, f.Limit = oldest, 1
		recs, lerr := l.Newest(ctx, f)
		if err == nil {
			err = lerr
		}
		if len(recs) == 0 {
			return "?"
		}
		return recs[0].Time.Local().Format("15:04")
	}
	first, last = at(true), at(false)
	return first, last, err
}
