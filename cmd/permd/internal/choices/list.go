package choices

import (
	"context"
	"fmt"
	"slices"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// List returns the choices that a filter selects, oldest first. To read a part of them takes as
// long as the daemon needs for the next one, so that is asked for before. authors says that each has its
// Author.
func List(ctx context.Context, c *client.Client, f admin.ChoiceFilter, authors bool) ([]admin.Choice, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := admin.ChoiceQuery{Authors: authors, ChoiceFilter: f}
	part := ask(ctx, c, q)
	all := make([]admin.Choice, 0, admin.MaxList)
	for {
		got := <-part
		if got.err != nil {
			return nil, fmt.Errorf("listing choices: %w", got.err)
		}
		if q.After = got.next; q.After != "" {
			part = ask(ctx, c, q)
		}
		// Each part is read into its place.
		page := admin.Choices{Choices: all[len(all):]}
		if err := strictjson.UnmarshalChecked(got.answer, &page); err != nil {
			return nil, fmt.Errorf("listing choices: reading permd's answer: %w", err)
		}
		if f != (admin.ChoiceFilter{}) && page.All < len(page.Choices) {
			// It returns all choices, which the caller may forget.
			return nil, cli.Failf(cli.ExitError, "restart permd serve", "the daemon is of an earlier version, and does not select choices")
		}
		all = append(all, page.Choices...)
		if q.After == "" {
			return all, nil
		}
		all = slices.Grow(all, max(0, min(page.Total-len(all), maxGrow)))
	}
}

// maxGrow bounds for how many choices room is made at once, whatever the daemon says.
const maxGrow = 100_000

// listPart is a part of a list as the daemon sends it, and the choice after which the next
// one begins.
type listPart struct {
	answer strictjson.Value
	next   string
	err    error
}

// ask asks for a part of a list.
func ask(ctx context.Context, c *client.Client, q admin.ChoiceQuery) <-chan listPart {
	to := make(chan listPart, 1)
	go func() {
		var p listPart
		if p.err = c.Call(ctx, admin.MethodChoicesList, q, &p.answer); p.err == nil {
			p.next, _ = strictjson.ParseString(strictjson.Find(p.answer, "next"))
		}
		to <- p
	}()
	return to
}
