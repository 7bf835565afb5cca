package importing

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/decide"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy/imports"
	"github.com/permd/permd/socket/client"
)

// replayed decides past calls again, from what the journal kept of them.
type replayed struct {
	to       client.Caller
	sessions map[string]bool
}

// compare adds one decision to the comparison.
func (r *replayed) compare(ctx context.Context, check *Comparison, im *imports.Import, rec *decisions.Record, home string) error {
	past := recall(rec, home)
	if past == nil {
		check.Unknown++
		return nil
	}
	says := im.Says(rec.Project, home, past.items)
	if says.Verdict == "" {
		check.Silent++
		return nil
	}
	verdict, reason, err := r.decide(ctx, rec, past)
	if err != nil {
		return err
	}
	if verdict == says.Verdict {
		check.Same++
		return nil
	}
	row := Difference{DecisionID: rec.Decision.ID, Time: rec.Time, Call: past.text, Peer: says, Permd: verdict, Reason: reason, Recorded: rec.Decision.Verdict}
	if rec.Answer != nil {
		row.Answered = &rec.Answer.Verdict
	}
	if row.Looser = decisions.Stricter(verdict, says.Verdict) != verdict; row.Looser {
		check.Looser++
	} else {
		check.Stricter++
	}
	check.Rows = append(check.Rows, row)
	return nil
}

// recalled is a past call, as far as the journal knows it: as the other tool sees
// it, and as calls that have its effects.
type recalled struct {
	text  string
	items []imports.Item
	calls []recalledCall
	// open are effects that no rule can allow.
	open int
}

type recalledCall struct {
	tool  string
	input map[string]string
}

// recall reads a record; nil when something in it is not as it was.
func recall(rec *decisions.Record, home string) *recalled {
	past := &recalled{}
	var runs, rest []string
	for _, e := range rec.Decision.Effects {
		if !imports.Replayable(e.Text) {
			return nil
		}
		_, text, _ := strings.Cut(e.Text, " ")
		if e.Kind == effects.KindRun {
			runs = append(runs, text)
		} else {
			rest = append(rest, e.Text)
		}
	}
	line := strings.Join(runs, "; ")
	for _, text := range runs {
		past.items = append(past.items, imports.Command(text, line))
		past.calls = append(past.calls, recalledCall{"Bash", map[string]string{"command": text}})
	}
	past.text = line
	if past.text == "" {
		past.text = strings.Join(rest, "; ")
	}
	for _, e := range rec.Decision.Effects {
		if !past.effect(rec, &e, len(runs) > 0, home) {
			return nil
		}
	}
	return past
}

// effect adds an effect that is no run. With a command the other tool judges the
// command, not its files.
func (p *recalled) effect(rec *decisions.Record, e *decisions.EffectDecision, ofCommand bool, home string) bool {
	_, text, _ := strings.Cut(e.Text, " ")
	item := func(i imports.Item) {
		if !ofCommand {
			p.items = append(p.items, i)
		}
	}
	switch e.Kind {
	case effects.KindRun:
	case effects.KindRead, effects.KindWrite, effects.KindDelete:
		path, _, _ := strings.Cut(text, " (given as ")
		path, whole := strings.CutSuffix(path, " and all below")
		if whole || e.Kind == effects.KindDelete && ofCommand {
			// Of a command it comes out of its run again.
			return ofCommand
		}
		switch {
		case strings.HasPrefix(path, "~/"):
			path = home + path[1:]
		case path == "." || strings.HasPrefix(path, "./"):
			path = filepath.Join(rec.Project, path)
		}
		if !filepath.IsAbs(path) {
			return false
		}
		switch e.Kind {
		case effects.KindRead:
			item(imports.Reading(path))
			p.calls = append(p.calls, recalledCall{"Read", map[string]string{"file_path": path}})
		case effects.KindWrite:
			item(imports.Writing(path))
			if ofCommand { // a redirection, which is not what an edit tool writes
				p.calls = append(p.calls, recalledCall{"Bash", map[string]string{"command": "true > " + cli.Quote(path)}})
				break
			}
			p.calls = append(p.calls, recalledCall{"Write", map[string]string{"file_path": path}})
		case effects.KindDelete, effects.KindRun, effects.KindConnect, effects.KindUse, effects.KindState, effects.KindMode,
			effects.KindQuestion, effects.KindUnknown:
			item(imports.Deleting(path))
			p.open++ // a deletion of a tool's own has no other form here
		}
	case effects.KindConnect:
		host, _, _ := strings.Cut(text, " ")
		if strings.HasPrefix(text, "to ") {
			return true // inherent to its run, whose call has it again
		}
		item(imports.Fetching("https://" + host + "/"))
		p.calls = append(p.calls, recalledCall{"WebFetch", map[string]string{"url": "https://" + host + "/"}})
	case effects.KindUse:
		server, tool, ok := strings.Cut(text, ":")
		if !ok {
			server, tool = "", text
		}
		item(imports.Using(server, tool))
		name := tool
		if server != "" {
			name = "mcp__" + server + "__" + tool
		}
		p.calls = append(p.calls, recalledCall{name, map[string]string{}})
	case effects.KindState, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
		fallthrough
	default:
		p.open++
	}
	return true
}

// decide is what permd says of the call now: the strictest of its parts.
func (r *replayed) decide(ctx context.Context, rec *decisions.Record, past *recalled) (verdict decisions.Verdict, reason string, err error) {
	s := decide.Session{Cwd: rec.Cwd, Agent: "claude-agent-acp"}
	id := "import " + rec.Cwd
	if !r.sessions[id] && rec.Cwd != "" {
		if err := s.Declare(ctx, r.to, id); err != nil {
			return "", "", err
		}
		r.sessions[id] = true
	}
	verdict, reason = decisions.Allow, ""
	if past.open > 0 {
		verdict, reason = decisions.Ask, "a part of it is never allowed by a rule"
	}
	for _, c := range past.calls {
		session := ""
		if rec.Cwd != "" {
			session = id
		}
		list, err := client.Decide(ctx, r.to, session, client.ToolCall{ID: "1", Tool: client.Tool{Name: c.tool}, Input: c.input})
		if err != nil {
			return "", "", fmt.Errorf("deciding %s again: %w", rec.Decision.ID, err)
		}
		if d := list[0]; decisions.Stricter(verdict, d.Verdict) != verdict || reason == "" && d.Verdict == verdict {
			verdict, reason = decisions.Stricter(verdict, d.Verdict), d.Reason
		}
	}
	return verdict, reason, nil
}
