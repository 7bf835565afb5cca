package proxy

import (
	"slices"

	"github.com/permd/permd/internal/strictjson"
)

// turn is the state of a session's turns: the number of unanswered prompts, and whether
// the client has cancelled them. Until the agent has stopped it may still send requests,
// which have crossed with the cancel. A new prompt is not affected.
//
// In version 2 of the protocol a prompt is answered at once, and the turn lasts until
// the agent reports that it is idle.
type turn struct {
	prompts   int
	cancelled bool
}

func (t *turn) onPrompt() { t.prompts, t.cancelled = t.prompts+1, false }

func (t *turn) onPromptAnswered() {
	if t.prompts--; t.prompts <= 0 {
		*t = turn{}
	}
}

// cancel records a session/cancel. Without a prompt it has no effect.
func (t *turn) cancel() { t.cancelled = t.prompts > 0 }

// updateState is the update of version 2 that reports the agent's state.
const updateState = "state_update"

// idle handles the agent's reports about its turn in version 2.
func (c *core) idle(s *session, update strictjson.Value) {
	if c.version == 2 && text(update, "state") == "idle" {
		s.turn = turn{}
	}
}

// cancelled reports whether the client has cancelled the turn of a session, or that of a
// session which started it.
func (c *core) cancelled(id string) bool {
	var seen []string
	for s := c.sessions.byID[id]; s != nil && !slices.Contains(seen, s.id); s = c.sessions.byID[s.parent] {
		if s.turn.cancelled {
			return true
		}
		seen = append(seen, s.id)
	}
	return false
}
