package importing

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/decide"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy/imports"
	"github.com/permd/permd/socket/client"
)

// replayer decides past calls again, from what the journal kept of them.
type replayer struct {
	to       client.Caller
	sessions map[string]bool
}

// compare adds one decision to the comparison.
func (r *replayer) compare(ctx context.Context, check *Comparison, im *imports.Import, rec *decisions.Record, home string) error {
	past := parseRecord(rec)
	if past == nil {
		check.Unknown++
		return nil
	}
	says := im.Decide(rec.Project, home, past.items)
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
	row := Difference{DecisionID: rec.Decision.ID, Time: rec.Time, Call: past.text, Tool: says, Permd: verdict, Reason: reason, Recorded: rec.Decision.Verdict}
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

// pastCall is a past call, as far as the journal knows it: as the other tool sees
// it, and as calls that have its effects.
type pastCall struct {
	text  string
	items []imports.Item
	calls []pastToolCall
	// open are effects that no rule can allow.
	open int
}

type pastToolCall struct {
	tool  string
	input map[string]string
}

// parseRecord reads a record; nil when it does not say all that the call was. Of
// a record from before effects had details nothing is known but their text.
func parseRecord(rec *decisions.Record) *pastCall {
	if len(rec.Details) != len(rec.Decision.Effects) {
		return nil
	}
	past := &pastCall{}
	var runs, rest []string
	for i, e := range rec.Decision.Effects {
		switch d := &rec.Details[i]; {
		case d.Partial:
			return nil
		case e.Kind == effects.KindRun:
			runs = append(runs, strings.Join(d.Words, " "))
		default:
			rest = append(rest, e.Text)
		}
	}
	line := strings.Join(runs, "; ")
	for _, text := range runs {
		past.items = append(past.items, imports.Command(text, line))
		past.calls = append(past.calls, pastToolCall{"Bash", map[string]string{"command": text}})
	}
	past.text = line
	if past.text == "" {
		past.text = strings.Join(rest, "; ")
	}
	for i, e := range rec.Decision.Effects {
		if !past.effect(e.Kind, &rec.Details[i], len(runs) > 0) {
			return nil
		}
	}
	return past
}

// effect adds an effect that is no run. With a command the other tool judges the
// command, not its files.
func (p *pastCall) effect(kind effects.Kind, d *decisions.EffectDetail, ofCommand bool) bool {
	item := func(i imports.Item) {
		if !ofCommand {
			p.items = append(p.items, i)
		}
	}
	if d.Recursive {
		return ofCommand // of a command it comes out of its run again
	}
	switch kind {
	case effects.KindRun:
	case effects.KindRead:
		item(imports.Reading(d.Path))
		p.calls = append(p.calls, pastToolCall{"Read", map[string]string{"file_path": d.Path}})
	case effects.KindWrite:
		item(imports.Writing(d.Path))
		if ofCommand { // a redirection, which is not what an edit tool writes
			p.calls = append(p.calls, pastToolCall{"Bash", map[string]string{"command": "true > " + cli.Quote(d.Path)}})
			break
		}
		p.calls = append(p.calls, pastToolCall{"Write", map[string]string{"file_path": d.Path}})
	case effects.KindDelete:
		if ofCommand {
			break // it comes out of its run again
		}
		item(imports.Deleting(d.Path))
		p.open++ // a deletion of a tool's own has no other form here
	case effects.KindConnect:
		if d.Host == "" {
			break // inherent to its run, whose call has it again
		}
		host := d.Host
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		if d.Port != 0 {
			host += ":" + strconv.Itoa(d.Port)
		}
		item(imports.Fetching("https://" + host + "/"))
		p.calls = append(p.calls, pastToolCall{"WebFetch", map[string]string{"url": "https://" + host + "/"}})
	case effects.KindUse:
		item(imports.Using(d.Server, d.Tool))
		name := d.Tool
		if d.Server != "" {
			name = "mcp__" + d.Server + "__" + d.Tool
		}
		p.calls = append(p.calls, pastToolCall{name, map[string]string{}})
	case effects.KindState, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
		p.open++
	}
	return true
}

// decide is what permd says about the call now: the strictest of its parts.
func (r *replayer) decide(ctx context.Context, rec *decisions.Record, past *pastCall) (verdict decisions.Verdict, reason string, err error) {
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
