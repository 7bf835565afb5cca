package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/internal/strictjson"
)

// setAnswer adds a person's answer to the row of the record. The record itself
// is not changed, and the first answer is kept.
const setAnswer = `UPDATE decisions SET answered_at = ?, answer = ?, answer_info = ?
	WHERE seq = ? AND answered_at IS NULL`

// answerInfo is the stored part of an answer besides its verdict.
type answerInfo struct {
	Choices []string         `json:"choices,omitzero"` // ids of the remembered choices
	Author  *author.Identity `json:"author,omitzero"`
}

// Answer records a person's answer to a decision that asked, and returns when
// that is durable. If the decision is not in the journal the error is
// ErrNotFound.
func (j *Journal) Answer(ctx context.Context, id string, a decisions.HumanAnswer) error {
	seq, err := j.numberOf(ctx, id)
	if err != nil {
		return fmt.Errorf("noting an answer: %w", err)
	}
	info, err := json.Marshal(answerInfo{a.Choices, a.Author})
	if err != nil {
		return fmt.Errorf("noting an answer: %w", err)
	}
	// A separate request without records, not reused.
	req := &request{reply: make(chan reply, 1), frames: appendAnswer(nil, seq, a.Time, a.Verdict, info)}
	if err := j.pass(ctx, req); err != nil {
		return fmt.Errorf("noting an answer: %w", err)
	}
	return nil
}

// numberOf returns the number of the record of a decision, to which something is added. The
// error is ErrNotFound if there is none; nothing is added to a record that cannot be read.
func (j *Journal) numberOf(ctx context.Context, id string) (int64, error) {
	rec, err := j.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	if rec.Unreadable != "" {
		return 0, errors.New(rec.Unreadable)
	}
	return rec.Seq, nil
}

// isTakenBack reports whether an ending is that of a yes.
func isTakenBack(as string) bool { return strings.HasPrefix(as, decisions.EndedTakenBack) }

// takenBack puts a report that a yes was taken back in the place of that answer.
func takenBack(rec *decisions.Record) {
	if rec.Ended == nil || !isTakenBack(rec.Ended.As) {
		return
	}
	if a := rec.Answer; a != nil && a.Verdict == decisions.Allow {
		rec.Answer = &decisions.HumanAnswer{Time: rec.Ended.Time, Verdict: decisions.Deny, Allowed: &a.Time, AllowedBy: a.Author}
		by := new(author.Identity)
		if strictjson.Unmarshal([]byte(rec.Ended.As[len(decisions.EndedTakenBack):]), by) == nil { // else an earlier version's
			rec.Answer.Author = by
		}
	}
	rec.Ended = nil
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
		Time: time.Unix(0, a.at.Int64).UTC(), Verdict: decisions.Verdict(a.verdict.String), Choices: info.Choices, Author: info.Author,
	}
	return nil
}
