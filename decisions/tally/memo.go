package tally

import (
	"strings"
	"sync"

	"github.com/permd/permd/decisions"
)

// Values are what the decisions of one kind have in common.
type Values struct{ Agent, Tool, DecidedBy, Verdict string }

// Name returns the name of the group that such decisions of a day belong to, "" for none. It is
// false if they are not counted in that way.
func (v *Values) Name(by By, day string) (string, bool) {
	act := IsAct(v.Agent, v.Tool, decisions.DecidedBy(v.DecidedBy))
	switch by {
	case Agent:
		return v.Agent, !act
	case Tool:
		return v.Tool, !act
	case DecidedBy:
		return v.DecidedBy, !act
	case Verdict:
		return v.Verdict, !act
	case Day:
		return day, !act && day != ""
	case Act:
		return v.Tool, act
	case Answer, Project, Program, Host:
	}
	return "", !act
}

// IsAct reports whether a record is about what a person did with a command of permd, such as a
// pause, and about no call. The command is its tool, and no agent has said it.
func IsAct(agent, tool string, by decisions.DecidedBy) bool {
	return by == decisions.ByHuman && agent == "" && strings.HasPrefix(tool, "permd ")
}

// Memo keeps the counts of decisions that are stored and not removed yet: they do not
// change. The zero Memo is empty.
type Memo struct {
	mu    sync.Mutex
	known map[string]map[Values]int64
}

// maxKnown bounds what a memo keeps: some hundred bytes for each of them.
const maxKnown = 1024

// Get returns the counts that were put under a key, nil if they are not known. They must
// not be changed.
func (m *Memo) Get(key string) map[Values]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[key]
}

// Put keeps counts.
func (m *Memo) Put(key string, counts map[Values]int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxKnown {
		m.known = map[string]map[Values]int64{}
	}
	m.known[key] = counts
}
