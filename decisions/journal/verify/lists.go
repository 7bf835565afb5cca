package verify

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/permd/permd/decisions/journal/body"
)

// maxMisplaced is the maximum number of faults that are reported one by one for decisions with a
// wrong row in the tables of lists; the others are counted.
const maxMisplaced = 10

// lists are the tables that lists are found by, as they are stored. Nothing hashes them:
// they follow from the decisions, and are compared with them.
type lists struct {
	listed []listing // by number
	kinds  map[int64]*listedKind
	spans  map[int64][2]int64 // oldest and newest time
	bodies int64              // that no decision uses, set when all was read
}

// listing is a row of listed.
type listing struct{ seq, time, kind int64 }

// listedKind is a row of kinds.
type listedKind struct {
	session, agent, tool, verdict, decidedBy, outcome string
	uid                                               int64 // as stored
	oldest, newest                                    int64
	low, high                                         int64 // of its rows in listed, 0 for none
}

const (
	selectListed = `SELECT seq, time, kind FROM listed`
	selectKinds  = `SELECT kind, uid, session, agent, tool, verdict, decided_by, outcome, oldest, newest FROM kinds`
	selectSpans  = `SELECT span, oldest, newest FROM spans`
)

// readLists reads the tables.
func readLists(ctx context.Context, conn *sql.Conn) (*lists, error) {
	l := &lists{kinds: map[int64]*listedKind{}, spans: map[int64][2]int64{}}
	err := conn.Raw(func(raw any) error {
		for _, table := range []struct {
			query string
			add   func(row []driver.Value)
		}{{selectKinds, l.addKind}, {selectListed, l.addListed}, {selectSpans, l.addSpan}} {
			if err := eachRow(ctx, raw.(driver.Conn), table.query, table.add); err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortFunc(l.listed, func(a, b listing) int { return cmp.Compare(a.seq, b.seq) })
	return l, err
}

// eachRow calls f with each row of a query.
func eachRow(ctx context.Context, conn driver.Conn, text string, f func(row []driver.Value)) (err error) {
	c, err := query(conn, text)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for err = c.next(); err == nil && c.more; err = c.next() {
		if f(c.row); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return err
}

func (l *lists) addKind(row []driver.Value) {
	k := &listedKind{uid: number(row[1]), oldest: number(row[8]), newest: number(row[9])}
	for i, to := range []*string{&k.session, &k.agent, &k.tool, &k.verdict, &k.decidedBy, &k.outcome} {
		*to, _ = row[2+i].(string)
	}
	l.kinds[number(row[0])] = k
}

func (l *lists) addListed(row []driver.Value) {
	at := listing{number(row[0]), number(row[1]), number(row[2])}
	l.listed = append(l.listed, at)
	if k := l.kinds[at.kind]; k != nil {
		if k.high == 0 {
			k.low = at.seq
		}
		k.low, k.high = min(k.low, at.seq), max(k.high, at.seq)
	}
}

func (l *lists) addSpan(row []driver.Value) {
	l.spans[number(row[0])] = [2]int64{number(row[1]), number(row[2])}
}

// misplaced says what is wrong with how lists find a decision.
type misplaced struct {
	kind FaultKind // "" for nothing
	text string
}

// place compares how lists find a decision with what it is; the record is nil where it
// cannot be read.
func (l *lists) place(e *entry, record []byte, outcome func([]byte) string) misplaced {
	i, _ := slices.BinarySearchFunc(l.listed, e.seq, func(a listing, seq int64) int { return cmp.Compare(a.seq, seq) })
	if i == len(l.listed) || l.listed[i].seq != e.seq {
		return misplaced{Missing, "lists by session, tool and the like lack it"}
	}
	if i+1 < len(l.listed) && l.listed[i+1].seq == e.seq {
		return misplaced{Forged, "lists have it more than once"}
	}
	k := l.kinds[l.listed[i].kind]
	switch {
	case k == nil:
		return misplaced{Missing, "lists by session, tool and the like lack it: what they know of its kind is gone"}
	case l.listed[i].time != e.time:
		return misplaced{Changed, "lists have it at another time"}
	case k.uid != number(e.row[colUID]) || record != nil && k.outcome != outcome(record):
		return misplaced{Changed, "lists have it below another user or outcome"}
	}
	for _, has := range []struct {
		col  int
		want string
	}{{colSession, k.session}, {colAgent, k.agent}, {colTool, k.tool}, {colVerdict, k.verdict}, {colBy, k.decidedBy}} {
		if text, _ := e.row[has.col].(string); text != has.want {
			return misplaced{Changed, "lists have it below another session, agent, tool, verdict or decider"}
		}
	}
	return misplaced{}
}

// misplace reports that lists do not have a decision where it belongs.
func (v *verifier) misplace(e *entry, m misplaced) {
	if m.kind == "" {
		return
	}
	if v.misplaced++; v.misplaced <= maxMisplaced {
		v.fault(e, m.kind, "%s", m.text)
	}
}

// listedUpTo goes on in listed to a decision that is there; those before it are not.
func (v *verifier) listedUpTo(e *entry) {
	l := v.lists
	for ; v.nextListed < len(l.listed) && l.listed[v.nextListed].seq < e.seq; v.nextListed++ {
		v.misplace(at(l.listed[v.nextListed].seq), misplaced{Forged, "lists have it, and there is no such decision"})
	}
	for v.nextListed < len(l.listed) && l.listed[v.nextListed].seq == e.seq {
		v.nextListed++
	}
	if span := e.seq >> body.SpanBits; span != v.span || v.times == nil {
		if v.span, v.times = span, v.spans[span]; v.times == nil {
			v.times = &[2]int64{e.time, e.time}
			v.spans[span] = v.times
		}
	}
	v.times[0], v.times[1] = min(v.times[0], e.time), max(v.times[1], e.time)
}

// finishLists compares what lists know of many decisions at once. Up to the cut it may be
// more than what is left.
func (v *verifier) finishLists() {
	l := v.lists
	for ; v.nextListed < len(l.listed); v.nextListed++ {
		v.misplace(at(l.listed[v.nextListed].seq), misplaced{Forged, "lists have it, and there is no such decision"})
	}
	if more := v.misplaced - maxMisplaced; more > 0 {
		v.fault(at(0), Changed, "lists have %d further decisions in a wrong place, or not at all", more)
	}
	for n, k := range l.kinds {
		if k.newest < k.high || k.newest > max(k.high, v.cut) || k.high != 0 && (k.oldest > k.low || k.oldest < k.low && (k.oldest > v.cut || k.oldest < 1)) ||
			k.newest != k.high && k.high > v.cut {
			v.fault(at(k.high), Changed, "lists have the bounds %d and %d of kind %d, whose decisions are %d to %d", k.oldest, k.newest, n, k.low, k.high)
		}
	}
	for span, times := range v.spans {
		first := span << body.SpanBits
		has, ok := l.spans[span]
		switch {
		case !ok:
			v.fault(at(first), Missing, "the times of decisions %d to %d are missing, by which lists find them", first, first+1<<body.SpanBits-1)
		case has[0] > times[0] || has[1] < times[1] || first > v.cut && has != *times:
			v.fault(at(first), Changed, "the times of decisions %d to %d, by which lists find them, are not theirs", first, first+1<<body.SpanBits-1)
		}
	}
	for span := range l.spans {
		if _, ok := v.spans[span]; !ok && (span < 0 || span > v.cut>>body.SpanBits) {
			v.fault(at(span<<body.SpanBits), Forged, "lists have times of decisions that are not there")
		}
	}
	if l.bodies > 0 {
		v.fault(at(0), Forged, "%d texts are there that no decision shares", l.bodies)
	}
}
