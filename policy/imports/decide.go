package imports

import (
	"net/url"
	"path/filepath"

	"github.com/permd/permd/decisions"
)

// Command is one command of a line, as the tool sees it.
func Command(text, line string) Item { return Item{area: runArea, text: text, line: line} }

// Reading, Writing and Deleting are operations of tools on a file; the path is
// absolute.
func Reading(path string) Item  { return Item{area: readArea, path: path} }
func Writing(path string) Item  { return Item{area: editArea, path: path} }
func Deleting(path string) Item { return Item{area: deleteArea, path: path} }

// Fetching is a tool's access to an address.
func Fetching(address string) Item {
	i := Item{area: fetchArea, url: address}
	if u, err := url.Parse(address); err == nil {
		i.host = u.Hostname()
	}
	return i
}

// Using is a call of a named tool; an empty server means the agent's own.
func Using(server, tool string) Item { return Item{area: toolArea, server: server, tool: tool} }

// ToolDecision is the tool's decision about a call.
type ToolDecision struct {
	// Verdict is "" if no rule matches some part of the call, so that the
	// tool's default applies.
	Verdict decisions.Verdict `json:"verdict,omitzero"`
	// At and Text are the rule that decided.
	At   string `json:"at,omitzero"`
	Text string `json:"text,omitzero"`
}

// Decide returns the tool's decision about the parts of a call in a project,
// following the tool's own documentation: each part is decided alone, and the
// strictest counts. Rules that apply only in cases which a call does not show
// are left out.
func (im *Import) Decide(project, home string, items []Item) ToolDecision {
	var all ToolDecision
	silent := len(items) == 0
	for i := range items {
		item := items[i]
		item.project, item.home = filepath.Clean(project), home
		if project == "" {
			item.project = ""
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
		return ToolDecision{}
	}
	return all
}

// decidePart returns the rule that decides one part: the strictest of the
// highest rank.
func (im *Import) decidePart(item *Item) (ToolDecision, bool) {
	var best *rule
	for i := range im.rules {
		r := &im.rules[i]
		if r.condition != "" || r.project != "" && r.project != item.project || r.m.decides == nil || !r.m.decides(item) {
			continue
		}
		if best == nil || r.rank > best.rank || r.rank == best.rank && strict(r.set) > strict(best.set) {
			best = r
		}
	}
	if best == nil {
		return ToolDecision{}, false
	}
	return ToolDecision{Verdict: decisions.Verdict(best.set), At: best.at.String(), Text: best.text}, true
}
