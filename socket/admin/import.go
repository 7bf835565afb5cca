package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// MethodChoicesImport adds choices of a file. MethodChoicesTryImport returns what it would add: it
// is no parameter, since a daemon that did not know that would store the choices.
const (
	MethodChoicesImport    = "permd/choices.import"
	MethodChoicesTryImport = "permd/choices.tryImport"
)

// ImportedChoice is a choice that was exported, or a line of a list.
type ImportedChoice struct {
	NewChoice
	// Of is the project that a choice for a project must be for, "" for that of Dir.
	Of string `json:"of,omitzero"`
}

// Imported is the result of an import.
type Imported struct {
	Choices []Choice `json:"choices"` // those of the file, whether they were in force before or not
	// Refused are the others, by their index in the request.
	Refused []RefusedChoice `json:"refused"`
	// Undo is the change that was made, in a list; none if nothing was added.
	Undo []string `json:"undo,omitzero"`
}

// RefusedChoice is a choice that was not imported.
type RefusedChoice struct {
	Index int    `json:"index"`
	Why   string `json:"why"`
}

// Importer adds choices of a file as one change.
type Importer interface {
	// A preview stores nothing; the choices that would be added have no ids.
	Import(ctx context.Context, uid uint32, list []ImportedChoice, preview bool) (Imported, error)
}

// registerImport adds the methods that import choices.
func registerImport(m socket.Methods, mem Memory) {
	m[MethodChoicesImport] = importing(mem, false)
	m[MethodChoicesTryImport] = importing(mem, true)
}

func importing(mem Memory, preview bool) func(*socket.Conn, strictjson.Value) (run, error) {
	return func(c *socket.Conn, params strictjson.Value) (run, error) {
		var p struct {
			Choices []ImportedChoice `json:"choices"`
		}
		if err := decode(params, &p); err != nil {
			return nil, err
		}
		if len(p.Choices) == 0 || len(p.Choices) > MaxList {
			return nil, invalidParams(fmt.Sprintf("choices must hold 1 to %d choices", MaxList))
		}
		return func(ctx context.Context) (any, error) {
			done, err := mem.Import(ctx, c.Peer.UID, p.Choices, preview)
			if errors.Is(err, ErrRefused) {
				return nil, invalidParams(err.Error())
			}
			if err != nil {
				return nil, &socket.Error{Code: socket.CodeInternal, Message: "the choices could not be stored; nothing was"}
			}
			if !preview {
				added := slices.DeleteFunc(slices.Clone(done.Choices), func(c Choice) bool { return c.Earlier })
				mem.Record(ctx, c.Peer, "permd remember import", "added", added)
			}
			return done, nil
		}, nil
	}
}
