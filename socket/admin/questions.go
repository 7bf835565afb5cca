package admin

import (
	"context"
	"errors"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// The methods about pending questions of clients that could not ask their person.
const (
	MethodQuestionsList  = "permd/questions.list"
	MethodQuestionsAllow = "permd/questions.allow"
	MethodQuestionsDeny  = "permd/questions.deny"
)

// Question is a pending question.
type Question struct {
	DecisionID string    `json:"decisionId"`
	UID        uint32    `json:"uid"`
	Harness    string    `json:"harness"`
	Session    string    `json:"session"`
	Tool       string    `json:"tool"`
	Cwd        string    `json:"cwd"`
	Asked      time.Time `json:"asked"`
	// Until is when the client stops waiting for the answer. It is absent if the client
	// does not wait, and its agent has to try the call again.
	Until   time.Time `json:"until,omitzero"`
	Reason  string    `json:"reason"`
	Effects []string  `json:"effects"` // what the call would do
	// Arguments are those of a tool of which the effects only say that it is used, "" for
	// other calls.
	Arguments string            `json:"arguments,omitzero"`
	Widths    []decisions.Width `json:"widths"` // what a yes can be remembered for
	// NotRemembered says why there are no widths, "" if there are.
	NotRemembered string `json:"notRemembered,omitzero"`
	// RejectWidths are what a no can be remembered for, none if it cannot.
	RejectWidths []decisions.Width `json:"rejectWidths,omitzero"`
}

// Questions are pending questions, oldest first.
type Questions struct {
	Questions []Question `json:"questions"`
}

// Approval is a person's yes to a question.
type Approval struct {
	DecisionID string `json:"decisionId"`
	// Width is the width to remember. With "" the call is allowed once, and Scope and
	// ExpiresIn must be empty.
	Width     string `json:"width,omitzero"`
	Scope     string `json:"scope,omitzero"`
	ExpiresIn int64  `json:"expiresIn,omitzero"` // seconds
	// Via says with what the person answers; see author.Stated. Who does is never a parameter.
	Via author.Via `json:"via,omitzero"`
}

// Denial is a person's no to a question.
type Denial struct {
	DecisionID string `json:"decisionId"`
	// Width is the one of the RejectWidths to remember. With "" the call is denied once, and
	// Scope and ExpiresIn must be empty.
	Width     string `json:"width,omitzero"`
	Scope     string `json:"scope,omitzero"`
	ExpiresIn int64  `json:"expiresIn,omitzero"` // seconds
	// Via says with what the person answers; see author.Stated. Who does is never a parameter.
	Via author.Via `json:"via,omitzero"`
}

// Denied is the result of a denial.
type Denied struct {
	DecisionID string `json:"decisionId"`
	// Stored are the choices that were stored, none for a no that applies once, and Undo the
	// changes of choices that it made, for permd/choices.undo.
	Stored []decisions.StoredChoice `json:"stored,omitzero"`
	Undo   []string                 `json:"undo,omitzero"`
	// NotLogged is set if the answer counts and is not in the journal.
	NotLogged bool `json:"notLogged,omitzero"`
	// TakenBack is set if the question was allowed once before, and no call had used that.
	TakenBack bool `json:"takenBack,omitzero"`
}

// Approved is the result of an approval: the time until which the call may be made once,
// or the choices that were stored.
type Approved struct {
	// NotLogged is set if the answer counts and is not in the journal.
	NotLogged bool `json:"notLogged,omitzero"`

	Until time.Time `json:"until,omitzero"`
	// Told is set if the client waited for the answer and has it now.
	Told   bool                     `json:"told,omitzero"`
	Stored []decisions.StoredChoice `json:"stored"`
	// Undo are the changes of choices that the answer made, for permd/choices.undo.
	Undo []string `json:"undo,omitzero"`
}

// Asked holds the pending questions. A uid restricts the methods to the questions of
// that person; nil means everybody's.
type Asked interface {
	Questions(uid *uint32) []Question
	// Allow answers a question with yes; by has no Process yet. The error wraps ErrNoQuestion if there is no
	// such question, ErrRefused if what was to be remembered cannot be, and ErrNotTaken if
	// the answer does not count.
	Allow(ctx context.Context, uid *uint32, by author.Identity, a Approval) (Approved, error)
	// Deny answers a question with no. Its errors are those of Allow.
	Deny(ctx context.Context, uid *uint32, by author.Identity, no Denial) (Denied, error)
}

// ErrNotTaken is wrapped by errors for an answer for once that does not count.
var ErrNotTaken = errors.New("the answer does not count")

// ErrNoQuestion means that no question with that id is pending.
var ErrNoQuestion = errors.New("no question of that id waits")

// registerQuestions adds the methods about pending questions.
func registerQuestions(m socket.Methods, asked Asked) {
	m[MethodQuestionsList] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		if err := decode(params, &struct{}{}); err != nil {
			return nil, err
		}
		return func(context.Context) (any, error) { return Questions{asked.Questions(visible(c))}, nil }, nil
	}
	m[MethodQuestionsAllow] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var a Approval
		if err := decode(params, &a); err != nil {
			return nil, err
		}
		way, known := author.Stated(a.Via)
		switch {
		case !known:
			return nil, errVia
		case a.DecisionID == "":
			return nil, invalidParams("decisionId is missing")
		case a.Width == "" && (a.Scope != "" || a.ExpiresIn != 0):
			return nil, invalidParams("scope and expiresIn belong to a width")
		}
		return func(ctx context.Context) (any, error) {
			done, err := asked.Allow(ctx, visible(c), c.Peer.Author(way), a)
			if err != nil {
				return nil, answerError(err)
			}
			return done, nil
		}, nil
	}
	m[MethodQuestionsDeny] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var no Denial
		if err := decode(params, &no); err != nil {
			return nil, err
		}
		way, known := author.Stated(no.Via)
		switch {
		case !known:
			return nil, errVia
		case no.DecisionID == "":
			return nil, invalidParams("decisionId is missing")
		case no.Width == "" && (no.Scope != "" || no.ExpiresIn != 0):
			return nil, invalidParams("scope and expiresIn belong to a width")
		}
		return func(ctx context.Context) (any, error) {
			done, err := asked.Deny(ctx, visible(c), c.Peer.Author(way), no)
			if err != nil {
				return nil, answerError(err)
			}
			return done, nil
		}, nil
	}
}

var errVia = invalidParams("via must be command, review or web")

// answerError returns the error for an answer that was not taken.
func answerError(err error) error {
	switch {
	case errors.Is(err, ErrNoQuestion):
		return &socket.Error{Code: CodeNoDecision, Message: "no question of that id waits"}
	case errors.Is(err, ErrRefused), errors.Is(err, ErrNotTaken):
		return invalidParams(err.Error())
	}
	return &socket.Error{Code: socket.CodeInternal, Message: "the choice could not be stored; nothing was"}
}
