package tally

import "sync"

// Values are what the decisions of one kind have in common.
type Values struct{ Agent, Tool, DecidedBy, Verdict string }

// Name returns the name of the group that such decisions belong to, "" if these values do
// not say it.
func (v *Values) Name(by By) string {
	switch by {
	case Agent:
		return v.Agent
	case Tool:
		return v.Tool
	case DecidedBy:
		return v.DecidedBy
	case Verdict:
		return v.Verdict
	case Day, Answer, Project, Program, Host:
	}
	return ""
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
