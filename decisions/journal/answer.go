package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// setAnswer notes a person's answer in the row of the record, which stays as it was;
// the first answer stays as well.
const setAnswer = `UPDATE decisions SET answered_at = ?, answer = ?, answer_info = ?
	WHERE seq = ? AND answered_at IS NULL`

// answerInfo is what is stored of an answer besides its verdict.
type answerInfo struct {
	Choices []string `json:"choices,omitzero"` // that were remembered
}

// Answer notes what the person answered to a decision that asked, and returns
// when that is durable. A decision that is not in the journal is ErrNotFound.
func (j *Journal) Answer(ctx context.Context, id string, a decisions.HumanAnswer) error {
	rec, err := j.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("noting an answer: %w", err)
	}
	info, err := json.Marshal(answerInfo{a.Choices})
	if err != nil {
		return fmt.Errorf("noting an answer: %w", err)
	}
	// A request of its own, without records: it is not used again.
	req := &request{reply: make(chan reply, 1), frames: appendAnswer(nil, rec.Seq, a.Time, a.Verdict, info)}
	if err := j.pass(ctx, req); err != nil {
		return fmt.Errorf("noting an answer: %w", err)
	}
	return nil
}

// answerColumns is an answer as it is read.
type answerColumns struct {
	at      sql.NullInt64
	verdict sql.NullString
	info    []byte
}

func (a *answerColumns) to(rec *decisions.Record) error {
	rec.Answer = nil
	if !a.at.Valid {
		return nil
	}
	var info answerInfo
	if len(a.info) > 0 {
		if err := strictjson.Unmarshal(a.info, &info); err != nil {
			return errors.New("its answer cannot be read")
		}
	}
	rec.Answer = &decisions.HumanAnswer{
		Time: time.Unix(0, a.at.Int64).UTC(), Verdict: decisions.Verdict(a.verdict.String), Choices: info.Choices,
	}
	return nil
}
