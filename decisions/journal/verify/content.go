package verify

import (
	"github.com/permd/permd/decisions/journal/body"
	"github.com/permd/permd/decisions/journal/chain"

	"bytes"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
)

// keepBytes bounds the memory that is used again.
const keepBytes = 64 << 10

// kept returns a buffer to use again, empty, nil if it has grown large.
func kept(b []byte) []byte {
	if cap(b) > keepBytes {
		return nil
	}
	return b[:0]
}

// buffers are memory that is used again.
type buffers struct{ record, content []byte }

// fill makes the content of a record's entry.
func (b *buffers) fill(e *entry, id *chain.ID, start int64, l *lists, outcome func([]byte) string) {
	if e.kind != chain.Record || e.row[colSeq] == nil {
		return
	}
	b.additions(e)
	record, err := b.json(e)
	if err != nil {
		record = nil
	}
	e.misplaced = l.place(e, record, outcome)
	if e.seq <= start && e.hash == nil {
		return // it has none
	}
	if err != nil {
		e.bad = err.Error()
		return
	}
	uid := number(e.row[colUID])
	if uid < 0 || uid > math.MaxUint32 {
		e.bad = fmt.Sprintf("its uid is %d", uid)
		return
	}
	var texts [chain.RecordTexts]string
	for i, col := range [chain.RecordTexts]int{colID, colSession, colAgent, colTool, colVerdict, colBy} {
		texts[i], _ = e.row[col].(string)
	}
	time, latency := e.time, number(e.row[colLatency])
	content := func(seq int64, to, record []byte) []byte {
		return chain.AppendRecord(to, seq, time, uint32(uid), latency, &texts, record)
	}
	b.content = content(e.seq, kept(b.content), record)
	e.content = sha256.Sum256(b.content)
	if len(e.prev) == len(e.content) && len(e.hash) == len(e.content) {
		prev := chain.Hash(e.prev)
		if chain.Linked(id, &prev, &e.content) == chain.Hash(e.hash) {
			e.linked, e.row = true, rawRow{} // which is not needed any more
			return
		}
	}
	held := bytes.Clone(record)
	e.contentAt = func(seq int64) chain.Hash { return sha256.Sum256(content(seq, nil, held)) }
}

// json returns the record's JSON, as it was appended.
func (b *buffers) json(e *entry) ([]byte, error) {
	record := blob(e.row[colRecord])
	switch format := number(e.row[colFormat]); {
	case format == body.FormatWhole && e.row[colShared] != nil:
		return nil, errors.New("it is stored whole, and shares a body")
	case format == body.FormatWhole:
		return record, nil
	case format == body.FormatSplit && e.row[colBody] == nil:
		return nil, errors.New("what it shares with others is missing")
	case format == body.FormatSplit:
		own, err := body.DecodeOwn(record, e.idText, e.time)
		if err != nil {
			return nil, err
		}
		b.record, err = body.Join(kept(b.record), blob(e.row[colBody]), &own)
		return b.record, err
	default:
		return nil, fmt.Errorf("its format is %d", format)
	}
}

// additions notes what was added to a record.
func (b *buffers) additions(e *entry) {
	r := &e.row
	add := func(kind byte, at driver.Value, texts []string, rest []byte) {
		b.content = chain.AppendAdded(kept(b.content), kind, e.seq, number(at), texts, rest)
		e.added = append(e.added, addition{kind, sha256.Sum256(b.content)})
	}
	if r[colAnsweredAt] != nil {
		verdict, _ := r[colAnswer].(string)
		add(chain.Answer, r[colAnsweredAt], []string{verdict}, blob(r[colAnswerInfo]))
	} else if r[colAnswer] != nil || r[colAnswerInfo] != nil {
		e.odd = "it has an answer without a time"
	}
	if r[colRanAt] != nil {
		add(chain.Ran, r[colRanAt], nil, nil)
	}
	if r[colEndedAt] != nil {
		as, _ := r[colEndedAs].(string)
		add(chain.Ended, r[colEndedAt], nil, []byte(as))
	} else if r[colEndedAs] != nil {
		e.odd = "it says how its call ended, and not when"
	}
}
