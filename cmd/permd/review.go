package main

import (
	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/review"
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
			return review.Run(cmd.Context(), &a.Streams, a.explainTo)
		},
	}
}
