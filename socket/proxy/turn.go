package proxy

import (
	"slices"

	"github.com/permd/permd/internal/strictjson"
)

// turn is what is known of the turns of a session: how many of the client's
// prompts have no answer, and whether the client has cancelled them. Until the
// agent is done with what it was told to stop, it may still ask: its request and
// the cancel have crossed. A new prompt is not meant by it.
//
// In version 2 of the protocol a prompt is answered at once, and the turn lasts
// until the agent says that it is idle.
type turn struct {
	prompts   int
	cancelled bool
}

func (t *turn) prompted() { t.prompts, t.cancelled = t.prompts+1, false }

func (t *turn) answered() {
	if t.prompts--; t.prompts <= 0 {
		*t = turn{}
	}
}

// cancel notes a session/cancel. Without a prompt there is nothing that it
// could be about.
func (t *turn) cancel() { t.cancelled = t.prompts > 0 }

// updateState is the update of version 2 with the state of the agent.
const updateState = "state_update"

// idle handles the agent's reports about its turn in version 2.
func (c *core) idle(s *session, update strictjson.Value) {
	if c.version == 2 && text(update, "state") == "idle" {
		s.turn = turn{}
	}
}

// cancelled reports whether the client has cancelled the turn that a session is
// in, or that of a session which started it.
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
