package imports

import (
	"net/url"
	"path/filepath"

	"github.com/permd/permd/decisions"
)

// Command is one command of a line, as the peer's rules see it.
func Command(text, line string) Item { return Item{area: runArea, Text: text, Line: line} }

// Reading, Writing and Deleting are what tools do to a file; the path is
// absolute.
func Reading(path string) Item  { return Item{area: readArea, Path: path} }
func Writing(path string) Item  { return Item{area: editArea, Path: path} }
func Deleting(path string) Item { return Item{area: deleteArea, Path: path} }

// Fetching is what a tool does with an address.
func Fetching(address string) Item {
	i := Item{area: fetchArea, URL: address}
	if u, err := url.Parse(address); err == nil {
		i.Host = u.Hostname()
	}
	return i
}

// Using is the call of a named tool; no server means the agent's own.
func Using(server, tool string) Item { return Item{area: toolArea, Server: server, Tool: tool} }

// PeerDecision is what the rules of the peer say about a call.
type PeerDecision struct {
	// Verdict is "" when no rule is about some part of the call: then the peer
	// does what it does by default.
	Verdict decisions.Verdict `json:"verdict,omitzero"`
	// At and Text are the rule that decided.
	At   string `json:"at,omitzero"`
	Text string `json:"text,omitzero"`
}

// Decide returns what the peer's rules say about the parts of a call in a project, by
// the peer's own documentation: each part by itself, and the strictest counts.
// Rules that hold only in some cases, which a call does not show, are left out.
func (im *Import) Decide(project, home string, items []Item) PeerDecision {
	var all PeerDecision
	silent := len(items) == 0
	for i := range items {
		item := items[i]
		item.Project, item.Home = filepath.Clean(project), home
		if project == "" {
			item.Project = ""
		}
		one, ok := im.decidePart(&item)
		switch {
		case !ok:
			silent = true
		case all.Verdict == "" || decisions.Stricter(all.Verdict, one.Verdict) != all.Verdict:
			all = one
		}
	}
	if silent && all.Verdict != decisions.Deny && all.Verdict != decisions.Ask {
		return PeerDecision{}
	}
	return all
}

// decidePart is the rule that decides one part: of the highest rank the strictest.
func (im *Import) decidePart(item *Item) (PeerDecision, bool) {
	var best *rule
	for i := range im.rules {
		r := &im.rules[i]
		if r.only != "" || r.project != "" && r.project != item.Project || r.m.says == nil || !r.m.says(item) {
			continue
		}
		if best == nil || r.rank > best.rank || r.rank == best.rank && strict(r.set) > strict(best.set) {
			best = r
		}
	}
	if best == nil {
		return PeerDecision{}, false
	}
	return PeerDecision{Verdict: decisions.Verdict(best.set), At: best.at.String(), Text: best.text}, true
}
