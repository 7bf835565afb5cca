package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/socket/admin"
)

// minShort is the least number of characters of a shortened id.
const minShort = 4

// whole returns the only one of all ids that begins with what was typed, as git does with
// hashes. Without one it returns what was typed, which whoever looks it up will not find.
func whole(typed string, all []string, what string) (string, error) {
	if slices.Contains(all, typed) {
		return typed, nil
	}
	var fit []string
	for _, id := range all {
		if strings.HasPrefix(id, typed) && !slices.Contains(fit, id) {
			fit = append(fit, id)
		}
	}
	switch {
	case len(fit) == 0:
		return typed, nil
	case len(typed) < minShort:
		return "", cli.Failf(cli.ExitUsage, fmt.Sprintf("type at least %d characters of it", minShort), "the id %q is too short", typed)
	case len(fit) == 1:
		return fit[0], nil
	}
	slices.Sort(fit)
	const most = 5
	shown := strings.Join(fit[:min(most, len(fit))], ", ") + cli.Either(len(fit) > most, ", …", "")
	return "", cli.Failf(cli.ExitUsage, "type more of it", "the id %q is short for several %ss: %s", typed, what, shown)
}

// wholeDecision returns the id of the decision that a text is short for.
func wholeDecision(ctx context.Context, log *records.Log, typed string) (string, error) {
	if decisionID().MatchString(typed) {
		return typed, nil
	}
	ids, err := log.IDs(ctx, nil, strings.ToLower(typed), admin.MaxFound)
	if err != nil {
		return "", fmt.Errorf("reading the journal: %w", err)
	}
	return whole(strings.ToLower(typed), ids, "decision")
}

// wholeChoices returns the ids of the choices that texts are short for.
func (m *memoryClient) wholeChoices(ctx context.Context, typed []string) ([]string, error) {
	out := make([]string, len(typed))
	for i, t := range typed {
		var fit admin.Choices
		if err := m.c.Call(ctx, admin.MethodChoicesList, admin.ChoiceQuery{Limit: admin.MaxFound, ChoiceFilter: admin.ChoiceFilter{ID: t}}, &fit); err != nil {
			return nil, fmt.Errorf("listing choices: %w", err)
		}
		ids := make([]string, len(fit.Choices))
		for i := range fit.Choices {
			ids[i] = fit.Choices[i].ID
		}
		var err error
		if out[i], err = whole(t, ids, "choice"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// wholeQuestion returns the id of the waiting question that a text is short for. It must be
// short for no other decision of the journal either: what is allowed must not depend on
// which questions happen to wait.
func (m *memoryClient) wholeQuestion(ctx context.Context, typed string) (string, error) {
	if decisionID().MatchString(typed) {
		return typed, nil
	}
	typed = strings.ToLower(typed)
	var waiting admin.Questions
	if err := m.c.Call(ctx, admin.MethodQuestionsList, struct{}{}, &waiting); err != nil {
		return "", fmt.Errorf("listing the questions: %w", err)
	}
	all, err := records.Remote{Client: m.c}.IDs(ctx, nil, typed, admin.MaxFound)
	if err != nil {
		return "", fmt.Errorf("reading the journal: %w", err)
	}
	for i := range waiting.Questions {
		all = append(all, waiting.Questions[i].DecisionID)
	}
	return whole(typed, all, "decision")
}
