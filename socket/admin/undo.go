package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// The methods about what people have changed of choices.
const (
	MethodChoicesHistory = "permd/choices.history"
	MethodChoicesUndo    = "permd/choices.undo"
)

// maxHistory is the maximum number of changes in one answer.
const maxHistory = 20

// codeNoChange is the error code for the id of a change that is unknown, or that is about
// the choices of another person.
const codeNoChange = -32054

// PastChange is one change of choices by a person.
type PastChange struct {
	ID   string    `json:"changeId"`
	UID  uint32    `json:"uid"`
	Time time.Time `json:"time"`
	What string    `json:"what"` // add, answer, forget, change, import or undo
	// Undoes is the change that an undo took back, UndoneBy the undo that took this one back.
	Undoes   string `json:"undoes,omitzero"`
	UndoneBy string `json:"undoneBy,omitzero"`
	// Refused says why it cannot be taken back, "" if it can.
	Refused string       `json:"refused,omitzero"`
	Choices []PastChoice `json:"choices"`
	More    int          `json:"more,omitzero"` // how many choices there are besides
}

// PastChoice is a choice that a change was about.
type PastChoice struct {
	Choice
	Ended bool `json:"ended"` // it ended with the change; else it began
	// Erased is set if a text was erased when the choice ended, and is not back.
	Erased bool   `json:"erased,omitzero"`
	Why    string `json:"why,omitzero"` // why it is not in force again
}

// Past is the result of history, the newest change first.
type Past struct {
	Changes []PastChange `json:"changes"`
}

// Undo names a change to take back.
type Undo struct {
	ID      string `json:"changeId,omitzero"` // "" for the person's last one
	Preview bool   `json:"preview,omitzero"`  // change nothing
}

// Undone is the result of undo.
type Undone struct {
	// ID is that of the undo, by which it can be taken back; "" for a preview.
	ID       string       `json:"undoId,omitzero"`
	ChangeID string       `json:"changeId"`
	What     string       `json:"what"`
	Time     time.Time    `json:"time"` // of the change
	Ended    []PastChoice `json:"ended"`
	Restored []PastChoice `json:"restored"`
	// NotRestored are choices of the change that are not in force again, each with the reason.
	NotRestored []PastChoice `json:"notRestored,omitzero"`
}

// Undoer takes changes of choices back.
type Undoer interface {
	History(uid uint32, limit int) ([]PastChange, error)
	// Undo takes a change back; uid is whose it must be, nil for anybody's. The error is
	// ErrNoChange for an unknown id, or a Refusal.
	Undo(ctx context.Context, peer decisions.Peer, uid *uint32, u Undo) (Undone, error)
}

// ErrNoChange means that there is no change to take back.
var ErrNoChange = errors.New("no such change")

// registerUndo adds the methods about changes.
func registerUndo(m socket.Methods, mem Undoer) {
	m[MethodChoicesHistory] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var p struct {
			Limit int `json:"limit,omitzero"`
		}
		if err := decode(params, &p); err != nil {
			return nil, err
		}
		if p.Limit < 0 || p.Limit > maxHistory {
			return nil, invalidParams(fmt.Sprintf("limit must be between 0 and %d", maxHistory))
		}
		if p.Limit == 0 {
			p.Limit = maxHistory
		}
		return func(context.Context) (any, error) {
			list, err := mem.History(c.Peer.UID, p.Limit)
			if err != nil {
				return nil, &socket.Error{Code: socket.CodeInternal, Message: "the changes could not be read"}
			}
			return Past{Changes: list}, nil
		}, nil
	}
	m[MethodChoicesUndo] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var u Undo
		if err := decode(params, &u); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) {
			done, err := mem.Undo(ctx, c.Peer, visible(c), u)
			switch {
			case errors.Is(err, ErrNoChange) && u.ID == "":
				return nil, &socket.Error{Code: codeNoChange, Message: "there is no change to take back"}
			case errors.Is(err, ErrNoChange):
				return nil, &socket.Error{Code: codeNoChange, Message: "no change of that id: " + clipID(u.ID)}
			case errors.As(err, new(Refusal)), err == nil:
				return refused(done, err)
			}
			return nil, &socket.Error{Code: socket.CodeInternal, Message: "it could not be stored or logged; nothing was taken back"}
		}, nil
	}
}
