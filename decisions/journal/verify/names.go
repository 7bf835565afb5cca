package verify

import (
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/body"
	"github.com/permd/permd/decisions/journal/contents"
	"github.com/permd/permd/decisions/journal/names"
	"github.com/permd/permd/decisions/tally"
)

// namer finds the names of records. Those of bodies are kept, since records share them.
type namer struct {
	known map[int64][]names.Name
	rec   decisions.Record
}

// maxNamed bounds the bodies whose names are kept.
const maxNamed = 4 * body.SharedFor

// fill sets the names of an entry that is a record, none if they cannot be read.
func (n *namer) fill(e *entry, wanted map[int64]*names.Sum) {
	if _, ok := wanted[e.seq>>body.SpanBits]; !ok || e.row[colSeq] == nil {
		return
	}
	for i, to := range []*string{&e.values.Agent, &e.values.Tool, &e.values.DecidedBy, &e.values.Verdict} {
		*to, _ = e.row[[...]int{colAgent, colTool, colBy, colVerdict}[i]].(string)
	}
	shared := number(e.row[colShared])
	switch format := number(e.row[colFormat]); {
	case format == body.FormatSplit && shared > 0:
		list, ok := n.known[shared]
		if !ok {
			if n.known == nil || len(n.known) > maxNamed {
				n.known = map[int64][]names.Name{}
			}
			list = n.of(blob(e.row[colBody]))
			n.known[shared] = list
		}
		e.names = list
	case format == body.FormatWhole && e.row[colShared] == nil:
		e.names = n.of(blob(e.row[colRecord]))
	}
}

func (n *namer) of(text []byte) []names.Name {
	if contents.Brief(&n.rec, text) != nil {
		return nil
	}
	return names.Of(&n.rec)
}

// spanNames makes the rows of spans.
type spanNames struct {
	span   int64
	sum    *names.Sum // of Options.Names, nil if there is nothing to be made
	row    names.Builder
	values tally.Values // of the latest records
	n      int64        // of these
}

// add adds the names of a record.
func (s *spanNames) add(e *entry, wanted map[int64]*names.Sum) {
	if span := e.seq >> body.SpanBits; s.sum == nil || span != s.span {
		s.finish()
		if _, ok := wanted[span]; !ok {
			return
		}
		*s = spanNames{span: span, sum: new(names.Sum)}
		wanted[span] = s.sum
	}
	s.row.Add(int(e.seq%names.Size), decisions.Verdict(e.values.Verdict), e.names)
	if e.values != s.values {
		s.count()
		s.values = e.values
	}
	s.n++
}

func (s *spanNames) count() {
	if s.n > 0 {
		s.row.Count(s.values, s.n)
	}
	s.n = 0
}

// finish makes the row of the latest span.
func (s *spanNames) finish() {
	if s.sum == nil {
		return
	}
	s.count()
	row := s.row.Row()
	*s.sum = row.Sum()
	s.sum = nil
}
