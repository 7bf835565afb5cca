package native

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

type chooseParams struct {
	DecisionID string            `json:"decisionId"`
	OptionID   string            `json:"optionId"`
	Verdict    decisions.Verdict `json:"verdict"`
	Width      string            `json:"width"`
	Scope      string            `json:"scope"`
	ExpiresIn  strictjson.Value  `json:"expiresIn"` // seconds
}

// chooseResult is the answer of permd/choose.
type chooseResult struct {
	// Stored are the choices that were remembered; none for an answer that applies once.
	Stored []decisions.StoredChoice `json:"stored"`
	// NotStored says why nothing was remembered, if the answer was meant for more than
	// this call.
	NotStored string `json:"notStored,omitzero"`
	// Result is what to send the agent, absent when the protocol has no
	// answer of its own.
	Result any `json:"result,omitzero"`
}

// choose handles the person's answer to a question of this connection. A question
// accepts one answer; one that does not fit leaves it open.
func (h *handler) choose(c *socket.Conn, params strictjson.Value) (run, error) {
	var p chooseParams
	if err := socket.ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	switch {
	case p.DecisionID == "":
		return nil, socket.Refuse("decisionId is missing")
	case (p.OptionID == "") == (p.Verdict == ""):
		return nil, socket.Refuse("exactly one of optionId and verdict is needed")
	case p.Verdict != "" && p.Verdict != decisions.Allow && p.Verdict != decisions.Deny:
		return nil, socket.Refuse("verdict must be allow or deny")
	}
	if err := CheckExpiresIn(p.ExpiresIn); err != nil {
		return nil, err
	}
	asks := &StateOf(c).Questions
	// From here on no other answer is accepted, while this one is stored.
	a, err := p.reserve(asks, c.Peer.Author(author.Client), false)
	if err != nil {
		return nil, err
	}
	c.OnRefused(func() { asks.release(a.ask) }) // the person can answer again
	uid, now := c.Owner().UID, a.ask.current()
	return func(ctx context.Context) (any, error) {
		done, err := h.store(ctx, uid, asks, a, now)
		if err != nil {
			return nil, err
		}
		return done, nil
	}, nil
}

// reservedAnswer is a person's answer to a question that accepts no other meanwhile.
type reservedAnswer struct {
	ask      *PendingQuestion
	picked   Resolution
	remember *decisions.Answer // nil for an answer that applies once
	// fromElsewhere is set for an answer that the client of the question does not know of:
	// then the end of the question that it has reported comes first.
	fromElsewhere bool
	by            author.Identity
}

// reserve reserves the question for this answer. One that does not fit leaves it open.
func (p *chooseParams) reserve(asks *PendingQuestions, by author.Identity, fromElsewhere bool) (*reservedAnswer, error) {
	ask, err := asks.reserve(p.DecisionID)
	if err != nil {
		return nil, err
	}
	picked, err := ask.Resolve(Selection{OptionID: p.OptionID, Verdict: p.Verdict})
	if err != nil {
		asks.release(ask)
		return nil, socket.Refuse("answering the question: %v", err)
	}
	if ask.ID != p.DecisionID && picked.Verdict != decisions.Deny {
		asks.finish(ask)
		return nil, errAskedAnew // this is the answer to what was asked before
	}
	remember, err := p.choice(ask, picked, fromElsewhere)
	if err != nil {
		asks.release(ask)
		return nil, err
	}
	return &reservedAnswer{ask: ask, picked: picked, remember: remember, fromElsewhere: fromElsewhere, by: by}, nil
}

// store stores an answer. now is the request of the question with the session of now, nil
// when nothing is kept of it. On an error the question is open only if its choice could
// not be stored.
func (h *handler) store(ctx context.Context, uid uint32, asks *PendingQuestions, a *reservedAnswer, now *decisions.Request) (*chooseResult, error) {
	ask, picked := a.ask, &a.picked
	once := a.remember == nil
	if once && !asks.finish(ask) && a.fromElsewhere {
		return nil, errNotOpen // it has ended meanwhile
	}
	if err := h.checkUnchanged(ctx, uid, ask, now, *picked); err != nil {
		asks.finish(ask)
		return nil, err
	}
	if once && a.fromElsewhere && picked.Verdict == decisions.Allow && ask.lostSession() {
		return nil, errNotOpen
	}
	done := &chooseResult{Stored: []decisions.StoredChoice{}, Result: picked.Result}
	if once {
		done.NotStored = ask.notStored(*picked)
	} else {
		var err error
		if done.Stored, err = h.keep(ctx, asks, ask, *a.remember, ask.lostSession); err != nil {
			return nil, err
		}
	}
	if err := h.recordAnswer(ctx, ask.ID, picked.Verdict, a.by, done.Stored); err != nil {
		return nil, err
	}
	picked.stored(Accepted{Remembered: !once, By: a.by})
	return done, nil
}

// errNotOpen is the error for an answer to a question that is not open.
var errNotOpen = socket.Refuse("no question of that decisionId is open on this connection")

// notStored says why an answer that is meant for more than the call applies to it alone, ""
// for one that is meant for it.
func (a *PendingQuestion) notStored(picked Resolution) string {
	switch {
	case !picked.Remember:
		return ""
	case picked.Verdict == decisions.Allow && a.Decision != nil && a.Decision.NotRemembered != "":
		return a.Decision.NotRemembered
	}
	return "nothing of this question can be remembered"
}

// limit returns how long the choice lasts.
func (p *chooseParams) limit() (time.Duration, error) {
	n, err := strconv.ParseInt(string(p.ExpiresIn), 10, 64)
	if err == nil && n > 0 && n <= math.MaxInt64/int64(time.Second) {
		return time.Duration(n) * time.Second, nil
	}
	return 0, socket.Refuse("expiresIn must be a whole number of seconds, at least 1")
}

// limited reports whether there is a limit.
func (p *chooseParams) limited() bool {
	return len(p.ExpiresIn) > 0 && strictjson.Kind(p.ExpiresIn) != 'n'
}

// CheckExpiresIn returns an error for an expiresIn that is no number of seconds; it may be
// absent.
func CheckExpiresIn(v strictjson.Value) error {
	p := chooseParams{ExpiresIn: v}
	if !p.limited() {
		return nil
	}
	_, err := p.limit()
	return err
}

// choice returns what to remember of the person's answer, nil for an answer that applies
// once. Only an answer from elsewhere names a width of a deny: the client of the question is not
// told of those.
func (p *chooseParams) choice(ask *PendingQuestion, picked Resolution, fromElsewhere bool) (*decisions.Answer, error) {
	limited := p.limited()
	// With a scope or a limit, an answer is meant for more than this call.
	more := p.Scope != "" || limited
	switch picked.Verdict {
	case decisions.Allow:
		if p.Width == "" && !picked.Remember {
			if more {
				return nil, socket.Refuse("scope and expiresIn belong to a width, and none was chosen")
			}
			return nil, nil
		}
		if !more && p.Width == "" && (ask.Offer == nil || len(ask.Offer.Sets) == 0) {
			return nil, nil // "always" was meant, but is not possible
		}
	case decisions.Deny:
		if p.Width != "" && !fromElsewhere {
			return nil, socket.Refuse("a width belongs to an allow")
		}
		if !more && p.Width == "" && (!picked.Remember || ask.Offer == nil || ask.Offer.Reject == nil) {
			return nil, nil
		}
	case decisions.Ask:
		fallthrough
	default:
		if p.Width != "" || more {
			return nil, socket.Refuse("an answer to a question of the agent is never remembered")
		}
		return nil, nil
	}
	a := &decisions.Answer{DecisionID: ask.ID, Verdict: picked.Verdict, Offer: ask.Offer, Width: p.Width, Scope: p.Scope}
	if a.Offer == nil {
		if p.Width != "" {
			return nil, socket.Refuse("no width of that id was offered")
		}
		return nil, socket.Refuse("nothing of this question can be remembered")
	}
	var err error
	if limited {
		a.For, err = p.limit()
	}
	return a, err
}

// keep stores the person's choice. The question stays open if that fails. lost, if not nil,
// reports whether the session of the question has ended or changed, for an allow.
func (h *handler) keep(ctx context.Context, asks *PendingQuestions, ask *PendingQuestion, a decisions.Answer, lost func() bool) ([]decisions.StoredChoice, error) {
	if h.Keeper == nil {
		asks.release(ask)
		return nil, socket.Refuse("this permd remembers nothing")
	}
	kept, err := h.Keeper.Keep(ctx, a)
	if err != nil {
		asks.release(ask)
		if errors.Is(err, decisions.ErrNotKept) {
			return nil, socket.Refuse("%v", err)
		}
		return nil, &socket.Error{Code: socket.CodeInternal, Message: "the choice could not be stored; nothing was"}
	}
	if !asks.finish(ask) || a.Verdict == decisions.Allow && lost != nil && lost() {
		// The question has ended while the choice was being stored: the session, its turn or
		// the request did. The answer is too late, as one that comes now. Only a reject for
		// more than the session is kept, since it allows nothing.
		var late []string
		for i := range kept {
			if !kept[i].Earlier && (a.Verdict == decisions.Allow || strings.HasPrefix(kept[i].Scope, "session")) {
				late = append(late, kept[i].ID)
			}
		}
		if late != nil {
			if err := h.Keeper.Drop(context.WithoutCancel(ctx), late...); err != nil {
				return nil, &socket.Error{Code: socket.CodeInternal, Message: "the question ended, and that its choice is revoked could not be stored"}
			}
		}
		return nil, errNotOpen
	}
	return kept, nil
}
