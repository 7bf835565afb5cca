package journal

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/journal/body"
	"github.com/permd/permd/decisions/journal/contents"
	"github.com/permd/permd/decisions/journal/names"
)

const (
	// spansAtOnce is how many rows of names are looked at together at first: 65,536 decisions.
	// It is doubled up to maxSpans.
	spansAtOnce = 64
	maxSpans    = 256
	// namesAtOnce bounds the names of rows that are looked at together, in bytes. A row may have
	// more.
	namesAtOnce = 4 << 20
	// denseSet is the number of decisions of a span from which on all of its records are read.
	denseSet = names.Size / 4
)

// section is a part of the bounds of a filter. If it is named, it is of one span, and no decision
// but those of the set has the names that the filter wants, and its verdict.
type section struct {
	bounds
	named bool
	row   names.Row // of what was selected
	set   names.Set
	// timed is set if all its decisions are of the filter's times.
	timed bool
}

// leftOfSpan is how many decisions there are of a span, n.span, that retention may have removed
// some of. It is NULL where it cannot have.
const leftOfSpan = `CASE WHEN n.span <= (SELECT cut FROM retained WHERE one = 1) >> 10
	THEN (SELECT count(*) FROM decisions WHERE seq BETWEEN n.span << 10 AND (n.span << 10) + 1023) END`

// nameColumns are the columns of names, by kind.
var nameColumns = [names.Kinds]string{"projects", "programs", "hosts", "paths"}

// named selects the rows of names of some spans, with the kinds that are needed.
func (f *filter) named(low, high int64, kinds [names.Kinds]bool) (q query) {
	q.add("SELECT n.span, decided")
	for kind, needed := range kinds {
		if needed {
			q.add(", " + nameColumns[kind])
		} else {
			q.add(", NULL")
		}
	}
	q.add(", true")
	if !f.Since.IsZero() {
		q.add(" AND oldest >= ?", f.Since.UnixNano())
	}
	if !f.Until.IsZero() {
		q.add(" AND newest < ?", f.Until.UnixNano())
	}
	q.add(", "+leftOfSpan+" FROM names n JOIN spans s ON s.span = n.span WHERE n.span BETWEEN ? AND ? AND decided IS NOT NULL", low, high)
	return q
}

// sections returns the first parts of the bounds, the newest first or last. Of those that are
// named, the row has the kinds.
func (v *view) sections(ctx context.Context, f *filter, b bounds, newest bool, spans, scan int64, kinds [names.Kinds]bool) ([]section, error) {
	low, high := b.low>>body.SpanBits, b.high>>body.SpanBits
	for first, last := low, high; ; spans /= 2 {
		if newest {
			low = max(first, last-spans+1)
		} else {
			high = min(last, first+spans-1)
		}
		if spans < 2 || v.sizeOfNames(ctx, low, high, kinds) <= namesAtOnce {
			break
		}
	}
	b.low, b.high = max(b.low, low<<body.SpanBits), min(b.high, (high+1)<<body.SpanBits-1)
	named, err := v.namedSections(ctx, f, b, kinds)
	if err != nil {
		return nil, err
	}
	if err := v.ofKinds(ctx, f, b, named); err != nil {
		return nil, err
	}
	var list []section
	rest := func(some bounds) { // has no names
		for some.low <= some.high {
			part := bounds{some.low, min(some.high, some.low+scan-1)}
			if newest {
				part = bounds{max(some.low, some.high-scan+1), some.high}
				some.high = part.low - 1
			} else {
				some.low = part.high + 1
			}
			list = append(list, section{bounds: part})
		}
	}
	if newest {
		slices.Reverse(named)
		for _, s := range named {
			rest(bounds{s.high + 1, b.high})
			list, b.high = append(list, s), s.low-1
		}
	} else {
		for _, s := range named {
			rest(bounds{b.low, s.low - 1})
			list, b.low = append(list, s), s.high+1
		}
	}
	rest(b)
	return list, nil
}

// sizeOfNames returns how many bytes of names of some kinds spans have, 0 if that cannot be read.
func (v *view) sizeOfNames(ctx context.Context, low, high int64, kinds [names.Kinds]bool) (n int64) {
	var columns []string
	for kind, wanted := range kinds {
		if wanted {
			columns = append(columns, "length("+nameColumns[kind]+")")
		}
	}
	if len(columns) == 0 {
		return 0
	}
	text := "SELECT coalesce(sum(" + strings.Join(columns, " + ") + "), 0) FROM names WHERE span BETWEEN ? AND ? AND decided IS NOT NULL"
	_ = v.tx.QueryRowContext(ctx, text, low, high).Scan(&n) // who reads them gets the error
	return n
}

// namedSections returns the sections within bounds that have names, in their order. Where names
// cannot be read, there are none, and the records are.
func (v *view) namedSections(ctx context.Context, f *filter, b bounds, kinds [names.Kinds]bool) ([]section, error) {
	if b.low > b.high {
		return nil, nil
	}
	list, err := v.readSections(ctx, f, b, kinds)
	if err != nil && ctx.Err() == nil {
		return list, nil
	}
	return list, err
}

// readSections returns them, and those before an error.
func (v *view) readSections(ctx context.Context, f *filter, b bounds, kinds [names.Kinds]bool) (list []section, err error) {
	needed, valid := kinds, kinds
	needed[names.Projects] = kinds[names.Projects] || f.Project != ""
	valid[names.Projects] = needed[names.Projects] // without a project, decisions would be hidden
	needed[names.Hosts] = kinds[names.Hosts] || f.Host != ""
	needed[names.Paths] = kinds[names.Paths] || f.Path != ""
	q := f.named(b.low>>body.SpanBits, b.high>>body.SpanBits, needed)
	q.add(" ORDER BY n.span")
	rows, err := v.tx.QueryContext(ctx, q.text, q.args...)
	if err != nil {
		return list, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var span int64
		var decided sql.RawBytes
		var columns [names.Kinds]sql.RawBytes
		var left sql.NullInt64
		s := section{named: true}
		if err := rows.Scan(&span, &decided, &columns[0], &columns[1], &columns[2], &columns[3], &s.timed, &left); err != nil {
			return list, err
		}
		s.row.Decided = decided
		for kind := range columns {
			s.row.Names[kind] = columns[kind]
		}
		var ok bool
		if s.set, ok = f.among(&s.row); !ok || !s.row.Valid(valid) || left.Valid && left.Int64 != int64(s.row.Len()) {
			continue // it is not as it was written: the records are read
		}
		whole := spanBounds(span)
		s.bounds = bounds{max(whole.low, b.low), min(whole.high, b.high)}
		if s.bounds != whole {
			var within names.Set
			within.AddRange(int(s.low-whole.low), int(s.high-whole.low))
			s.set.And(&within)
		}
		s.row.Decided = bytes.Clone(decided)
		for kind := range columns {
			s.row.Names[kind] = nil
			if kinds[kind] {
				s.row.Names[kind] = bytes.Clone(columns[kind])
			}
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// ofKinds removes from sections the decisions that are not of the filter's kinds.
func (v *view) ofKinds(ctx context.Context, f *filter, b bounds, list []section) error {
	if len(list) == 0 || !f.withoutVerdict().ofKind() {
		return nil
	}
	var q query
	q.add("SELECT CAST(group_concat(l.seq, ' ') AS BLOB) FROM kinds k CROSS JOIN listed l ON l.kind = k.kind WHERE k.newest >= ? AND k.oldest <= ?", b.low, b.high)
	f.ofKinds(&q, "k.")
	f.within(&q, b, "l.seq", "l.")
	var data []byte
	if err := v.tx.QueryRowContext(ctx, q.text, q.args...).Scan(&data); err != nil {
		return err
	}
	selected := map[int64]*names.Set{} // by span
	for digits := range bytes.FieldsSeq(data) {
		seq, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil {
			return fmt.Errorf("reading numbers of decisions: %w", err)
		}
		set := selected[seq>>body.SpanBits]
		if set == nil {
			set = new(names.Set)
			selected[seq>>body.SpanBits] = set
		}
		set.Add(int(seq % names.Size))
	}
	for i := range list {
		set := selected[list[i].low>>body.SpanBits]
		if set == nil {
			set = new(names.Set)
		}
		list[i].set.And(set)
	}
	return nil
}

// among returns the decisions of a span that have the filter's names and verdict.
func (f *filter) among(row *names.Row) (set names.Set, ok bool) {
	set, ok = row.Verdict(f.Verdict)
	for _, of := range []struct {
		kind   names.Kind
		text   string
		wanted func(text []byte) bool
	}{
		{names.Projects, f.Project, func(text []byte) bool { return contents.InProject(f.Project, string(text)) }},
		{names.Hosts, f.Host, func(text []byte) bool { return contents.OfHost(string(text), f.Host) }},
		{names.Paths, f.Path, func(text []byte) bool { return bytes.Contains(text, []byte(f.Path)) }},
	} {
		if of.text == "" || !ok {
			continue
		}
		if of.kind == names.Paths && !bytes.Contains(row.Names[of.kind], []byte(f.Path)) {
			return names.Set{}, true
		}
		var having names.Set
		having, ok = row.Having(of.kind, of.wanted)
		set.And(&having)
	}
	return set, ok
}

// numbers returns the numbers of the decisions of the section's set.
func (s *section) numbers() (list []int64) {
	first := s.low &^ (names.Size - 1)
	for i := range s.set.All() {
		list = append(list, first+int64(i))
	}
	return list
}

// queries returns the queries that select the records of a section that the filter may
// select, in the order of a list. A statement has at most some numbers.
func (s *section) queries(f *filter, needles [][]byte, newest bool) (list []query) {
	all := f.scanned(s.bounds, needles)
	n := s.set.Len()
	switch {
	case s.named && n == 0:
		return nil
	case !s.named || n > denseSet:
		all.add(order(newest), s.high-s.low+1)
		return []query{all}
	}
	numbers := s.numbers()
	if newest {
		slices.Reverse(numbers)
	}
	for some := range slices.Chunk(numbers, seqsAtOnce) {
		q := query{all.text, slices.Clone(all.args)}
		q.add(" AND d.seq IN (?" + strings.Repeat(", ?", len(some)-1) + ")")
		for _, seq := range some {
			q.args = append(q.args, seq)
		}
		q.add(order(newest), len(some))
		list = append(list, q)
	}
	return list
}
