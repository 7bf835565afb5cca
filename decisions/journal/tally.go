package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/contents"
	"github.com/permd/permd/decisions/journal/names"
	"github.com/permd/permd/decisions/journal/windows"
	"github.com/permd/permd/decisions/tally"
)

// Tallies are counts of decisions by group.
type Tallies struct {
	Groups []tally.Group // in no order
	// Next and Left are as in a [Page]: where records are read, a count has several parts.
	Next, Left int64
}

// Tally counts the decisions that the filter selects, ignoring its Limit, by group, in one
// or several ways. The groups of days are those between two neighbours of starts, with the
// first as name. Where one way needs that records are read, all are counted so.
func (r *Reader) Tally(ctx context.Context, f decisions.RecordFilter, by []tally.By, starts []time.Time) (Tallies, error) {
	t := &tallies{by: by, starts: starts, groups: map[groupKey]*tally.Group{}, filter: &filter{f}, page: page{began: time.Now(), limit: 1, scan: r.scan}, memo: &r.counts}
	reads := t.filter.ofContent() || slices.ContainsFunc(by, func(g tally.By) bool { return g.ReadsRecords() || g == tally.Answer })
	err := r.withView(ctx, func(v *view) error {
		if err := v.tx.QueryRowContext(ctx, "SELECT cut FROM retained").Scan(&v.cut); err != nil {
			return err
		}
		switch {
		case reads:
			return v.tallyRecords(ctx, t)
		case slices.Contains(by, tally.Day):
			return v.tallyDays(ctx, t)
		}
		return v.tallyKinds(ctx, t, t.filter, "")
	})
	if err != nil {
		return Tallies{}, fmt.Errorf("counting decisions: %w", err)
	}
	list := make([]tally.Group, 0, len(t.groups))
	for _, g := range t.groups {
		if g.All() > 0 {
			list = append(list, *g)
		}
	}
	return Tallies{list, t.page.next, t.page.left}, nil
}

// groupKey identifies a group.
type groupKey struct {
	by   tally.By
	name string
}

// tallies is a count that is being made.
type tallies struct {
	by     []tally.By
	filter *filter
	starts []time.Time
	groups map[groupKey]*tally.Group
	page   page
	memo   *tally.Memo
}

// add counts n decisions in a group.
func (t *tallies) add(by tally.By, name string, verdict decisions.Verdict, n int64) {
	t.group(groupKey{by, name}).Add(verdict, n)
}

// group returns a group, which need not have decisions.
func (t *tallies) group(key groupKey) *tally.Group {
	g := t.groups[key]
	if g == nil {
		g = &tally.Group{By: key.by, Name: key.name}
		t.groups[key] = g
	}
	return g
}

// answers reports whether nothing but answers is counted, which are not inside of records.
func (t *tallies) answers() bool { return len(t.by) == 1 && t.by[0] == tally.Answer }

// tallyRecords counts by what is inside of records, the newest first.
func (v *view) tallyRecords(ctx context.Context, t *tallies) error {
	f := *t.filter
	if t.answers() {
		if f.Verdict != "" && f.Verdict != decisions.Ask {
			return nil
		}
		f.Verdict = decisions.Ask
	}
	for i := range v.records {
		r := &v.records[i]
		if !f.passes(r) {
			continue
		}
		rec, err := v.record(r)
		if err != nil {
			return err
		}
		if contents.Match(&f.RecordFilter, rec) {
			t.count(t.names(rec), rec.Decision.Verdict)
		}
	}
	b, err := v.bounds(ctx, &f)
	if err != nil {
		return err
	}
	if t.answers() && !f.ofContent() {
		return v.tallyAnswers(ctx, t, &f, b)
	}
	needles, err := contents.Needles(&f.RecordFilter)
	if err != nil {
		return err
	}
	if !t.ownNames() {
		return v.tallyContents(ctx, t, &f, b, needles)
	}
	known := map[int64][]groupKey{}
	return v.eachSection(ctx, t, &f, b, [names.Kinds]bool{}, func(s *section) (ended int64, err error) {
		for _, q := range s.queries(&f, needles, true) {
			if ended, err = v.tallySome(ctx, t, &f, q, known); ended > 0 || err != nil {
				return ended, err
			}
		}
		return 0, nil
	})
}

// eachSection calls count for the sections of the bounds, the newest first, while there is time for
// it: it returns the number that it has ended at before the end.
func (v *view) eachSection(ctx context.Context, t *tallies, f *filter, b bounds, kinds [names.Kinds]bool, count func(*section) (int64, error)) error {
	for spans := int64(spansAtOnce); b.low <= b.high; spans = min(2*spans, maxSpans) {
		list, err := v.sections(ctx, f, b, true, spans, t.page.scan.rows, kinds)
		if err != nil {
			return err
		}
		for i := range list {
			s := &list[i]
			ended, err := count(s)
			if err != nil {
				return err
			}
			if b.high = s.low - 1; ended == 0 && b.low <= b.high && t.page.late() {
				ended = s.low
			}
			if ended > b.low {
				t.page.next, t.page.left = ended, ended-b.low
				return nil
			}
		}
	}
	return nil
}

// ownNames reports whether a way to count needs more of a record than contents.Brief reads.
func (t *tallies) ownNames() bool {
	return slices.ContainsFunc(t.by, func(by tally.By) bool { return !by.ReadsRecords() })
}

// tallyContents counts by project, program and host, the newest first.
func (v *view) tallyContents(ctx context.Context, t *tallies, f *filter, b bounds, needles [][]byte) error {
	unreadable := make([]*tally.Group, 0, len(t.by)) // it counts, although nobody knows where
	for _, by := range t.by {
		unreadable = append(unreadable, t.group(groupKey{by: by}))
	}
	var rec decisions.Record
	w, err := windows.New(ctx, v.tx, f.where, func(text []byte) (groups []*tally.Group) {
		switch {
		case !f.mayHave(text, needles):
		case contents.Brief(&rec, text) != nil:
			return unreadable
		case contents.Match(&f.RecordFilter, &rec):
			for _, by := range t.by {
				for _, name := range t.namesBy(by, &rec) {
					groups = append(groups, t.group(groupKey{by, name}))
				}
			}
		}
		return groups
	})
	if err != nil {
		return err
	}
	defer w.Close()
	var kinds [names.Kinds]bool
	for _, by := range t.by {
		kinds[kindOf(by)] = true
	}
	return v.eachSection(ctx, t, f, b, kinds, func(s *section) (int64, error) {
		if s.named && !f.Unapproved { // that is in no name
			return 0, v.tallyNamed(ctx, t, f, s)
		}
		for b := s.bounds; b.low <= b.high; {
			some := bounds{max(b.low, b.high-windows.Rows+1), b.high}
			list, err := w.At(ctx, some.low, some.high)
			if err != nil {
				return 0, err
			}
			for _, i := range list {
				groups, known := w.Known(i.Text)
				if !known {
					groups = unreadable
				}
				for _, g := range groups {
					g.Add(i.Verdict, 1)
				}
			}
			if b.high = some.low - 1; b.low <= b.high && t.page.late() {
				return some.low, nil
			}
		}
		return 0, nil
	})
}

// kindOf returns what names are counted.
func kindOf(by tally.By) names.Kind {
	if by == tally.Program {
		return names.Programs
	}
	if by == tally.Host {
		return names.Hosts
	}
	return names.Projects
}

// tallyNamed counts the decisions of a section that has names.
func (v *view) tallyNamed(ctx context.Context, t *tallies, f *filter, s *section) error {
	if s.set.Len() == 0 {
		return nil
	}
	if !s.timed {
		list, err := windows.Items(ctx, v.tx, s.low, s.high, f.where)
		if err != nil {
			return err
		}
		var set names.Set
		for _, i := range list {
			set.Add(int(i.Seq % names.Size))
		}
		s.set.And(&set)
	}
	var sets [3]names.Set
	verdicts := [...]decisions.Verdict{decisions.Allow, decisions.Ask, decisions.Deny}
	for i, verdict := range verdicts {
		sets[i], _ = s.row.Verdict(verdict)
		sets[i].And(&s.set)
	}
	for _, by := range t.by {
		s.row.Each(kindOf(by), func(text []byte, of *names.Set) {
			for i, verdict := range verdicts {
				if n := of.Common(&sets[i]); n > 0 {
					t.add(by, string(text), verdict, int64(n))
				}
			}
		})
	}
	return nil
}

// tallySome counts the records of a query. It returns the number of the last one that it
// looked at, 0 if it looked at all. Known are the names in bodies that repetitions share.
func (v *view) tallySome(ctx context.Context, t *tallies, f *filter, q query, known map[int64][]groupKey) (ended int64, err error) {
	rows, err := v.tx.QueryContext(ctx, "SELECT "+rowColumns+", d.shared, d.verdict"+rowTables+q.text, q.args...) //nolint:gosec // all are constants of this package
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r row
		var shared sql.NullInt64
		var verdict string
		if err := r.scan(func(to ...any) error { return rows.Scan(append(to, &shared, &verdict)...) }); err != nil {
			return 0, err
		}
		names, ok := known[shared.Int64]
		if !ok || t.own() {
			rec, err := v.counted(&r)
			if names = nil; err != nil {
				for _, by := range t.by { // it counts, although nobody knows where
					names = append(names, groupKey{by: by})
				}
			} else if contents.Match(&f.RecordFilter, rec) {
				names = t.names(rec)
			}
			if shared.Valid {
				known[shared.Int64] = names
			}
		}
		t.count(names, decisions.Verdict(verdict))
		if t.page.late() {
			return r.seq, nil
		}
	}
	return 0, rows.Err()
}

// counted reads a row.
func (v *view) counted(r *row) (*decisions.Record, error) {
	rec, _, err := r.decode()
	if err == nil {
		err = v.answer(rec)
	}
	return rec, err
}

// own reports whether records that share a body can be of different groups.
func (t *tallies) own() bool {
	return slices.Contains(t.by, tally.Answer) || slices.Contains(t.by, tally.Day)
}

func (t *tallies) count(names []groupKey, verdict decisions.Verdict) {
	for _, k := range names {
		t.add(k.by, k.name, verdict, 1)
	}
}

// names are the groups that a record belongs to.
func (t *tallies) names(rec *decisions.Record) (list []groupKey) {
	for _, by := range t.by {
		for _, name := range t.namesBy(by, rec) {
			list = append(list, groupKey{by, name})
		}
	}
	return list
}

func (t *tallies) namesBy(by tally.By, rec *decisions.Record) (list []string) {
	if tally.IsAct(rec.Agent.Name, rec.Tool, rec.Decision.By) != (by == tally.Act) {
		return nil
	}
	switch by {
	case tally.Answer:
		switch {
		case rec.Decision.Verdict != decisions.Ask:
			return nil
		case rec.Answer != nil:
			return []string{string(rec.Answer.Verdict)}
		case rec.Ran != nil:
			return []string{"ran"}
		}
		return []string{""}
	case tally.Agent:
		return []string{rec.Agent.Name}
	case tally.Tool, tally.Act:
		return []string{rec.Tool}
	case tally.Verdict:
		return []string{string(rec.Decision.Verdict)}
	case tally.DecidedBy:
		return []string{string(rec.Decision.By)}
	case tally.Day:
		n, found := slices.BinarySearchFunc(t.starts, rec.Time, time.Time.Compare)
		if !found {
			n--
		}
		if n < 0 || n >= len(t.starts)-1 {
			return nil
		}
		return []string{t.starts[n].Format(time.RFC3339)}
	case tally.Project:
		return []string{rec.Project}
	case tally.Program:
		return names.ProgramsOf(rec)
	case tally.Host:
		return names.HostsOf(rec)
	}
	return nil
}
