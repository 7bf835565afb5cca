package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/socket"
)

// maxChoices is how many choices of a client hold at the same time.
const maxChoices = 4

// choice is what a client has had remembered of one of its own commands.
type choice struct {
	command, id string
	is          remembered
	session     bool // for the session only
}

// storedChoice is a choice as the daemon describes it.
type storedChoice struct {
	ChoiceID, Label string
}

// question is a request that was left to the person.
type question struct {
	*decision
	asked *request
}

// remembered returns what is remembered of a command.
func (c *connection) remembered(command string) remembered {
	for _, known := range c.choices {
		if command != "" && known.command == command {
			return known.is
		}
	}
	return nothing
}

// endSession drops the choices of the session.
func (c *connection) endSession() {
	c.choices = slices.DeleteFunc(c.choices, func(known choice) bool { return known.session })
}

// answer sends the person's answer to a question. It is remembered where that is
// possible.
func (c *connection) answer(q question) error {
	params := map[string]any{"decisionId": q.DecisionID}
	keep := choice{command: q.asked.own}
	if q.asked.own != "" && len(q.Widths) > 0 && len(c.choices) < maxChoices && c.remembered(q.asked.own) == nothing {
		scope := pick(c.rand, "project", "user", "session")
		keep.is, keep.session = anAllow, scope == "session"
		switch isACP := q.asked.method == "session/request_permission"; {
		case isACP && c.rand.IntN(2) == 0:
			params["optionId"], params["scope"] = "always", scope
		case c.rand.IntN(4) == 0:
			params["verdict"], params["scope"] = "deny", scope
			keep.is = aReject
		default:
			params["verdict"], params["width"], params["scope"] = "allow", q.Widths[0].ID, scope
		}
	} else {
		params["verdict"] = pick(c.rand, "allow", "deny")
	}
	c.load.counts.chosen.Add(1)
	r, err := c.call("permd/choose", params)
	refused, ok := errors.AsType[*replyError](err)
	switch {
	case ok && refused.Code == socket.CodeParams && strings.Contains(refused.Message, "what the call would do has changed"):
		// Deciding it once more took too long: nothing that it does changes here.
		c.load.late(refused.Message)
		return nil
	case ok && refused.Code == socket.CodeParams && strings.Contains(refused.Message, "ask again"):
		// It is right only if there are other rules than those of the question.
		in := c.load.rules.since(q.asked.first)
		if edition := c.load.oracle.edition(q.Policy.Digest); in.first == in.last && in.has(edition) {
			return fmt.Errorf("a yes was refused, and nothing has changed: %w", err)
		}
		c.load.counts.overtaken.Add(1)
		return nil
	case ok && refused.Code == socket.CodeParams && strings.Contains(refused.Message, "no question of that decisionId") &&
		len(q.asked.describe())+512*len(q.Effects) > 32<<10:
		// Large questions are forgotten when all connections need the memory.
		c.load.counts.busy.Add(1)
		return nil
	case err != nil:
		return fmt.Errorf("%s, answered with %v: %w", q.asked.describe(), params, err)
	}
	stored := r.Result.Stored
	if keep.is == nothing && len(stored) > 0 || keep.is != nothing && len(stored) != 1 {
		return fmt.Errorf("%s, answered with %v: stored %v", q.asked.describe(), params, stored)
	}
	if keep.is == nothing {
		return nil
	}
	if !strings.Contains(stored[0].Label, keep.command) {
		return fmt.Errorf("%s: stored %q", keep.command, stored[0].Label)
	}
	keep.id = stored[0].ChoiceID
	c.choices = append(c.choices, keep)
	c.load.counts.stored.Add(1)
	return nil
}

// changeChoices does what a person does with permd remember: forgets a choice, or adds
// one.
func (c *connection) changeChoices(ctx context.Context) error {
	if len(c.choices) > 0 && (len(c.choices) == maxChoices || c.rand.IntN(2) == 0) {
		i := c.rand.IntN(len(c.choices))
		if err := c.load.admin.Call(ctx, "permd/choices.forget", map[string]any{"choiceIds": []string{c.choices[i].id}}, nil); err != nil {
			return fmt.Errorf("forgetting the choice about %s: %w", c.choices[i].command, err)
		}
		c.choices = slices.Delete(c.choices, i, i+1)
		c.load.counts.forgotten.Add(1)
		return nil
	}
	c.id++
	keep := choice{command: fmt.Sprintf("edtool %d %s%dn%d", c.rand.IntN(editions), ownWord, c.number, c.id), is: anAllow}
	verdict := "allow"
	if c.rand.IntN(3) == 0 {
		keep.is, verdict = aReject, "deny"
	}
	var added struct {
		Choices []struct {
			ChoiceID string `json:"choiceId"`
		} `json:"choices"`
	}
	params := map[string]any{"verdict": verdict, "kind": "run", "line": keep.command, "scope": "project", "dir": c.load.daemon.project}
	if err := c.load.admin.Call(ctx, "permd/choices.add", params, &added); err != nil {
		return fmt.Errorf("adding a choice about %s: %w", keep.command, err)
	}
	if len(added.Choices) != 1 {
		return fmt.Errorf("adding a choice about %s: %d were stored", keep.command, len(added.Choices))
	}
	keep.id = added.Choices[0].ChoiceID
	c.choices = append(c.choices, keep)
	c.load.counts.stored.Add(1)
	return nil
}
