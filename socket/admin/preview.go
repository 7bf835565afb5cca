package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// MethodChoicesPreview counts what choices would have matched. It changes nothing.
const MethodChoicesPreview = "permd/choices.preview"

// MaxPreviews is the maximum number of questions, or of choices, in one preview.
const MaxPreviews = 16

// PreviewParams name what a preview is of, in exactly one of its members.
type PreviewParams struct {
	// DecisionIDs are pending questions: of each, all widths of a yes, or with the verdict deny
	// all those of a no, in Scope, or with "" in the scope that each has.
	DecisionIDs []string          `json:"decisionIds,omitzero"`
	Scope       string            `json:"scope,omitzero"`
	Verdict     decisions.Verdict `json:"verdict,omitzero"`
	// Add is a choice in words.
	Add *NewChoice `json:"add,omitzero"`
	// Change is what choices would become. Without a scope and a time limit, they are taken as
	// they are.
	Change *ChangedChoices `json:"change,omitzero"`
}

// Preview is what a choice would have matched, had it been in force: Matched of the last Requests
// requests in its scope. Denied of these were denied by a rule, a choice or a person. Unknown
// others could not be decided again: their arguments are not kept, or what they would do has changed.
type Preview struct {
	DecisionID string `json:"decisionId,omitzero"` // of the question
	Width      string `json:"width,omitzero"`      // of the question
	// Choices are what would be stored. Those that are in force have ids, and are marked as
	// earlier ones.
	Choices  []Choice `json:"choices"`
	Matched  int      `json:"matched"`
	Requests int      `json:"requests"`
	Denied   int      `json:"denied"`
	Unknown  int      `json:"unknown"`
	// Refused is why it would not be remembered, "" if it would be. Then there are no counts.
	Refused string `json:"refused,omitzero"`
}

// Previews are the previews of widths, in their order, or of choices.
type Previews struct {
	Previews []Preview `json:"previews"`
}

// Previewer counts what choices would have matched.
type Previewer interface {
	// Preview returns a preview of each width or choice. uid is whose questions and choices they
	// must be, nil for anybody's; of is for whom a line would be added. The error wraps
	// ErrRefused for what cannot be asked, and ErrNoQuestion for a question that does not wait.
	Preview(ctx context.Context, uid *uint32, of uint32, p PreviewParams) ([]Preview, error)
}

// registerPreview adds the method that counts what choices would have matched.
func registerPreview(m socket.Methods, mem Memory) {
	m[MethodChoicesPreview] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var p PreviewParams
		if err := decode(params, &p); err != nil {
			return nil, err
		}
		named := 0
		for _, is := range []bool{p.DecisionIDs != nil, p.Add != nil, p.Change != nil} {
			if is {
				named++
			}
		}
		switch {
		case named != 1 || (p.Scope != "" || p.Verdict != "") && p.DecisionIDs == nil:
			return nil, invalidParams("name one of decisionIds, add and change; a scope and a verdict belong to decisionIds")
		case p.Verdict != "" && p.Verdict != decisions.Allow && p.Verdict != decisions.Deny:
			return nil, invalidParams("the verdict of a preview is allow or deny")
		case len(p.DecisionIDs) > MaxPreviews, p.DecisionIDs != nil && len(p.DecisionIDs) == 0,
			p.Change != nil && (len(p.Change.IDs) == 0 || len(p.Change.IDs) > MaxPreviews):
			return nil, invalidParams(fmt.Sprintf("a preview is of 1 to %d questions or choices", MaxPreviews))
		}
		return func(ctx context.Context) (any, error) {
			if p.Change != nil {
				if _, err := find(mem, visible(c), p.Change.IDs); err != nil {
					return nil, err
				}
			}
			list, err := mem.Preview(ctx, visible(c), c.Peer.UID, p)
			switch {
			case errors.Is(err, ErrNoQuestion):
				return nil, &socket.Error{Code: CodeNoDecision, Message: "no question of that id waits"}
			case errors.Is(err, ErrRefused):
				return nil, invalidParams(err.Error())
			case err != nil:
				return nil, &socket.Error{Code: socket.CodeInternal, Message: "the log, or the arguments that are kept, could not be read"}
			}
			return Previews{list}, nil
		}, nil
	}
}
