package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/cmd/permd/internal/replay"
)

func (a *app) policyReplayCommand() *cobra.Command {
	var o records.Selection
	cmd := &cobra.Command{
		Use:         "replay [DIR]",
		Annotations: readsOnly,
		Short:       "Decide past calls again under changed rules",
		Long: `Decide the calls of the journal again, by the rules in DIR instead of your own,
and print which would be decided otherwise: what they were and would be, the
rule that decides now, how many, and one of them. Without DIR the rules are
those on the disk, also if the daemon does not use them yet. Without --since
calls of the last 7 days are decided.

Choices answer what they answered then. The arguments of calls are kept in the
data folder, masked; what has a secret, was too long, or is about files that
are others now, cannot be decided again, and is counted. Nothing is written.

The exit code is 4 if a call would be decided otherwise.

` + cli.ExitCodes,
		Example: `  permd policy replay
  permd policy replay --since 30d --json new-rules`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := o.Filter(time.Now(), true)
			if err != nil {
				return err
			}
			folder := ""
			if len(args) > 0 {
				folder = args[0]
			}
			r, err := replay.Replay(cmd.Context(), &a.Streams, a.root, f, folder)
			if err != nil {
				return err
			}
			if err := r.Print(&a.Streams); err != nil {
				return err
			}
			if text := o.Assumed(); text != "" && !a.JSON {
				fmt.Fprintln(a.Err, "permd: "+text)
			}
			if r.Different > 0 {
				return &cli.Failure{Code: cli.ExitTests}
			}
			return nil
		},
	}
	o.Flags(cmd.Flags())
	o.Times(cmd.Flags())
	return cmd
}
