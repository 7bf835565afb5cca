package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
)

// maxAgents is how many agents are counted separately; all others are counted as one.
const maxAgents = 32

// runCounter counts, since the start, the calls that ran without having been
// allowed. It is safe for concurrent use.
type runCounter struct {
	mu     sync.Mutex
	agents map[string]*AgentRuns
}

// AgentRuns counts the runs of one agent by what rules and memory would have decided.
type AgentRuns struct {
	Agent   string `json:"agent"` // "" for one that has no name, "…" for all further ones
	Allow   int    `json:"allow"`
	Ask     int    `json:"ask"`
	Deny    int    `json:"deny"`
	Despite int    `json:"despite"` // that were denied, and are done all the same
}

// furtherAgents is the name of the agents that are not counted separately.
const furtherAgents = "…"

// note takes in one call.
func (u *runCounter) note(agent effects.Party, d *decisions.Decision) {
	u.mu.Lock()
	defer u.mu.Unlock()
	name := agent.Name
	if u.agents == nil {
		u.agents = map[string]*AgentRuns{}
	}
	if u.agents[name] == nil && len(u.agents) >= maxAgents {
		name = furtherAgents
	}
	one := u.agents[name]
	if one == nil {
		one = &AgentRuns{Agent: name}
		u.agents[name] = one
	}
	switch {
	case d.Outcome == decisions.RanDespiteDeny:
		one.Despite++
	case d.Verdict == decisions.Allow:
		one.Allow++
	case d.Verdict == decisions.Deny:
		one.Deny++
	default:
		one.Ask++
	}
}

// list returns a copy, by name; nil when there are none.
func (u *runCounter) list() (list []AgentRuns) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, one := range u.agents {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b AgentRuns) int { return cmp.Compare(a.Agent, b.Agent) })
	return list
}

// String is one line for a person.
func (a *AgentRuns) String() string {
	var parts []string
	for _, c := range []struct {
		n    int
		text string
	}{
		{a.Deny, "would have been denied"}, {a.Ask, "asked"}, {a.Allow, "allowed"},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.text))
		}
	}
	if n := a.Allow + a.Ask + a.Deny; n > 0 {
		parts = []string{cli.Plural(n, "call") + " that the agent did not ask for: " + strings.Join(parts, ", ")}
	}
	if a.Despite > 0 {
		parts = append(parts, cli.Plural(a.Despite, "call")+" done although denied")
	}
	return display.Display(cmp.Or(a.Agent, "an agent without a name")) + ": " + strings.Join(parts, "; ")
}
