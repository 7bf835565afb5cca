package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// The methods about remembered choices.
const (
	MethodChoicesList    = "permd/choices.list"
	MethodChoicesShow    = "permd/choices.show"
	MethodChoicesForget  = "permd/choices.forget"
	MethodChoicesAdd     = "permd/choices.add"
	MethodChoicesConfirm = "permd/choices.confirm"
	MethodChoicesChange  = "permd/choices.change"
)

// CodeNoChoice is the error code for a choice id that is unknown, or that belongs to
// another person.
const CodeNoChoice = -32053

// MoreOptions is the note among the pins of a rejected run: its line also matches runs with
// further options. It is no condition of the choice, so it is left out where the line
// is exported.
const MoreOptions = "also with more options"

// Choice is a remembered answer in JSON.
type Choice struct {
	ID      string            `json:"choiceId"`
	Verdict decisions.Verdict `json:"verdict"`
	Kind    string            `json:"kind"`
	Rule    string            `json:"rule"` // the rule line, secrets masked
	Line    bool              `json:"line"` // matched by that line, not by the exact details of the effect
	// Parts are the effects that a reject is about.
	Parts []ChoicePart `json:"parts,omitzero"`
	// Changed says why a choice that an earlier permd stored no longer has its former
	// meaning. It is "" for all others, and after the person has confirmed the choice.
	Changed string   `json:"changed,omitzero"`
	Scope   string   `json:"scope"`         // session, session+children, project or user
	Of      string   `json:"of,omitzero"`   // the project's folder or the session's id
	Pins    []string `json:"pins,omitzero"` // further conditions, described in words
	// BoundTo is the file, or the part of one, whose content the choice is bound to;
	// BoundText is the text of a short part when the choice was made, secrets masked.
	BoundTo   string `json:"boundTo,omitzero"`
	BoundText string `json:"boundText,omitzero"`
	UID       uint32 `json:"uid"`
	// DecisionID is the decision that the choice answered, as the client reported it; ""
	// if the choice was made over the management socket.
	DecisionID string    `json:"decisionId,omitzero"`
	Created    time.Time `json:"created"`
	Expires    time.Time `json:"expires,omitzero"`
	Confirmed  time.Time `json:"confirmed,omitzero"`
	// Unconfirmed is set while the choice has no effect because nobody has confirmed it.
	Unconfirmed bool `json:"unconfirmed,omitzero"`
	// How often and when last it matched an effect, also where a rule decided; the
	// names in JSON are those of the first version.
	Matches     int64     `json:"uses"`
	LastMatched time.Time `json:"lastUsed,omitzero"`
	// Dormant is set if it has matched nothing for 90 days, and is older than that.
	Dormant bool `json:"dormant,omitzero"`
	// CoveredBy is another choice in force that matches everything this one matches, for
	// at least as long. Covers are the choices of which this one is named there, at most
	// MaxCovers of them. Not all are found: only choices that are matched by lines.
	CoveredBy string   `json:"coveredBy,omitzero"`
	Covers    []string `json:"covers,omitzero"`
	// UsedFor is set for an allow that is wider than what it was used for.
	UsedFor *UsedFor `json:"usedFor,omitzero"`
	// DeniedBy is the deny line of the organisation's lists, with its place, that denies
	// all that an allow matches.
	DeniedBy string `json:"deniedBy,omitzero"`
	// Earlier is set in the results of add and import if the choice was in force before.
	Earlier bool `json:"earlier,omitzero"`
	// From is the request that was answered, in the result of show alone. It is nil if no
	// decision is named; FromRemoved is set if the decision is no longer in the log, or cannot be
	// read there.
	From        *Origin `json:"from,omitzero"`
	FromRemoved bool    `json:"fromRemoved,omitzero"`
	// Author is who gave the answer that made the choice, in the result of show, and of a list that
	// is asked for it. It is nil where the log does not have it.
	Author *author.Identity `json:"author,omitzero"`
}

// UsedFor is what an allow was used for.
type UsedFor struct {
	// Line is a narrower line of the same kind, which would have matched all of the newest uses,
	// Seen of them: those that the log has, not more than a few.
	Line string `json:"line"`
	Seen int    `json:"uses"`
}

// MaxCovers is the maximum number of ids in Covers.
const MaxCovers = 20

// ChoicePart is one of the effects that a reject is about.
type ChoicePart struct {
	Kind string `json:"kind"` // of effect; "unknown" for text that permd could not parse
	Rule string `json:"rule"` // the rule line, or a description, secrets masked
	Line bool   `json:"line"` // matched by that line, not by a digest of the words
}

// NewChoice is a choice that a person adds with permd remember add.
type NewChoice struct {
	Verdict   decisions.Verdict `json:"verdict"`
	Kind      string            `json:"kind"`
	Line      string            `json:"line"`
	Scope     string            `json:"scope"`              // project or user
	Dir       string            `json:"dir,omitzero"`       // a folder of the project
	ExpiresIn int64             `json:"expiresIn,omitzero"` // seconds
}

// ChangedChoices are choices that get another line, scope or time limit, all of them or none.
type ChangedChoices struct {
	IDs   []string `json:"choiceIds"`
	Scope string   `json:"scope,omitzero"` // project or user, "" to keep it
	Dir   string   `json:"dir,omitzero"`   // a folder of the project, for a choice that was for the user
	// ExpiresIn is the new time limit in seconds from now, 0 to keep the one there is.
	ExpiresIn int64 `json:"expiresIn,omitzero"`
	Forever   bool  `json:"forever,omitzero"` // without a time limit
	// Line is the line that a choice is matched by from now on, in its kind, "" to keep it. Only
	// one choice at a time gets another.
	Line string `json:"line,omitzero"`
}

// Choices is the result of list, show and forget. Next is the id to continue the list
// after, "" at the end. Of list, Total is how many choices the filter selects, and All how many
// there are.
type Choices struct {
	Choices []Choice `json:"choices"`
	Next    string   `json:"next,omitzero"`
	Total   int      `json:"total,omitzero"`
	All     int      `json:"all,omitzero"`
	// Pending is set if the choices are revoked, but the change could not be stored yet.
	Pending bool `json:"pending,omitzero"`
	// Undo are the ids of the changes that were made, to be taken back with
	// permd/choices.undo; none if nothing has changed, or if that could not be stored.
	Undo []string `json:"undo,omitzero"`
}

// Memory holds the remembered choices.
type Memory interface {
	// Select returns the part of the list that a query asks for, marked as by Mark.
	Select(ctx context.Context, uid *uint32, q ChoiceQuery) (Choices, error)
	// Find returns the choices of a person that have these ids, in their order, and the first id
	// that none has, "" if all have one.
	Find(uid *uint32, ids []string) (found []Choice, missing string)
	// Mark adds to some of them what is known by comparing them with all of that person, with
	// rules and with what they were used for, which takes longer.
	Mark(ctx context.Context, uid *uint32, some []Choice)
	// Forget revokes choices. stored is false if the change could not be stored and would
	// be lost on restart.
	Forget(ctx context.Context, ids []string) (stored bool, err error)
	Confirm(ctx context.Context, ids []string) error
	// Change replaces choices of a person and returns those that take their places. The error wraps
	// ErrRefused if one must not be remembered in that way.
	Change(ctx context.Context, uid uint32, c ChangedChoices) ([]Choice, error)
	// Record writes into the log what a person has done to choices, with which command.
	Record(ctx context.Context, peer decisions.Peer, command, what string, list []Choice)
	Undoer
	Importer
	Previewer
	// ChangesOf returns the ids of the newest changes that choices began or ended with, as far
	// as they can be taken back.
	ChangesOf(ctx context.Context, choices []Choice) []string
	// Add stores a choice; where a run is bound to content, one for each program that it
	// starts. added are those that were not in force before. The error wraps ErrRefused if the
	// choice must not be remembered.
	Add(ctx context.Context, uid uint32, c NewChoice) (all, added []Choice, err error)
}

// ErrRefused is wrapped by errors for a choice that must not be remembered, or an answer
// that a question does not allow.
var ErrRefused = errors.New("not remembered")

// registerChoices adds the methods about remembered choices.
func registerChoices(m socket.Methods, mem Memory, log Log) {
	m[MethodChoicesList] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var q ChoiceQuery
		if err := decode(params, &q); err != nil {
			return nil, err
		}
		if err := q.check(); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) {
			page, err := mem.Select(ctx, visible(c), q)
			if err != nil {
				return nil, fmt.Errorf("reading the journal: %w", err)
			}
			if q.Authors {
				err = setAuthors(ctx, log, page.Choices)
			}
			return page, err
		}, nil
	}
	m[MethodChoicesShow] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		ids, err := idsOf(params)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) {
			found, err := find(mem, visible(c), ids)
			if err != nil {
				return nil, err
			}
			mem.Mark(ctx, visible(c), found)
			for i := range found {
				if err := setOrigin(ctx, log, &found[i]); err != nil {
					return nil, err
				}
			}
			return Choices{Choices: found}, nil
		}, nil
	}
	m[MethodChoicesForget] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		ids, err := idsOf(params)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) {
			found, err := find(mem, visible(c), ids)
			if err != nil {
				return nil, err
			}
			stored, err := mem.Forget(ctx, ids)
			if err != nil {
				return nil, fmt.Errorf("forgetting: %w", err)
			}
			mem.Record(ctx, c.Peer, "permd remember forget", "forgotten", found)
			done := Choices{Choices: found, Pending: !stored}
			if stored {
				done.Undo = mem.ChangesOf(ctx, found)
			}
			return done, nil
		}, nil
	}
	m[MethodChoicesConfirm] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		ids, err := idsOf(params)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) {
			if _, err := find(mem, visible(c), ids); err != nil {
				return nil, err
			}
			if err := mem.Confirm(ctx, ids); errors.Is(err, ErrRefused) {
				return nil, invalidParams(err.Error())
			} else if err != nil {
				return nil, &socket.Error{Code: socket.CodeInternal, Message: "the confirmation could not be stored"}
			}
			found, err := find(mem, visible(c), ids)
			mem.Record(ctx, c.Peer, "permd remember confirm", "confirmed", found)
			return Choices{Choices: found}, err
		}, nil
	}
	registerChange(m, mem)
	registerUndo(m, mem)
	registerImport(m, mem)
	registerPreview(m, mem)
	m[MethodChoicesAdd] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var n NewChoice
		if err := decode(params, &n); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) {
			all, added, err := mem.Add(ctx, c.Peer.UID, n)
			if errors.Is(err, ErrRefused) {
				return nil, invalidParams(err.Error())
			}
			if err != nil {
				return nil, &socket.Error{Code: socket.CodeInternal, Message: "the choice could not be stored; nothing was"}
			}
			mem.Record(ctx, c.Peer, "permd remember add", "added", added)
			return Choices{Choices: all, Undo: mem.ChangesOf(ctx, added)}, nil
		}, nil
	}
}

// registerChange adds the method that changes choices.
func registerChange(m socket.Methods, mem Memory) {
	m[MethodChoicesChange] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var p ChangedChoices
		if err := decode(params, &p); err != nil {
			return nil, err
		}
		if len(p.IDs) == 0 || len(p.IDs) > MaxList {
			return nil, invalidParams(fmt.Sprintf("choiceIds must hold 1 to %d ids", MaxList))
		}
		if p.Line == "" && p.Scope == "" && p.ExpiresIn == 0 && !p.Forever || p.ExpiresIn != 0 && p.Forever {
			return nil, invalidParams("name a line, a scope, and expiresIn or forever")
		}
		if p.Line != "" && len(p.IDs) != 1 {
			return nil, invalidParams("one choice at a time gets another line")
		}
		return func(ctx context.Context) (any, error) {
			found, err := find(mem, visible(c), p.IDs)
			if err != nil {
				return nil, err
			}
			for i := range found {
				if found[i].UID != found[0].UID {
					return nil, invalidParams("the choices belong to several people")
				}
			}
			list, err := mem.Change(ctx, found[0].UID, p)
			if errors.Is(err, ErrRefused) {
				return nil, invalidParams(err.Error())
			}
			if err != nil {
				return nil, &socket.Error{Code: socket.CodeInternal, Message: "the change could not be stored; nothing was changed"}
			}
			mem.Record(ctx, c.Peer, "permd remember change", "changed to", list)
			return Choices{Choices: list, Undo: mem.ChangesOf(ctx, append(found, list...))}, nil
		}, nil
	}
}

// visible returns the owner of the choices that a peer may see and change: the peer's
// own uid, or nil (everybody's) for root and the admins of a daemon that serves several people.
func visible(c *socket.Conn) *uint32 {
	if c.Everybody() {
		return nil
	}
	uid := c.Peer.UID
	return &uid
}

func idsOf(params strictjson.Value) ([]string, error) {
	var p struct {
		IDs []string `json:"choiceIds"`
	}
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	if len(p.IDs) == 0 || len(p.IDs) > MaxList {
		return nil, invalidParams(fmt.Sprintf("choiceIds must hold 1 to %d ids", MaxList))
	}
	return p.IDs, nil
}

// find returns the choices with those ids, or an error if one is unknown.
func find(mem Memory, uid *uint32, ids []string) ([]Choice, error) {
	found, missing := mem.Find(uid, ids)
	if len(found) < len(ids) {
		return nil, &socket.Error{Code: CodeNoChoice, Message: "no choice of that id: " + clipID(missing)}
	}
	return found, nil
}

// clipID shortens and quotes an id that is repeated in an error.
func clipID(id string) string {
	const maxBytes = 40
	if len(id) > maxBytes {
		id = id[:maxBytes]
	}
	return fmt.Sprintf("%q", id)
}
