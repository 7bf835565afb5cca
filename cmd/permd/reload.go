package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

func (a *app) reloadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: "Let the daemon read its policies again, now",
		Long: `Let the daemon read its policies again, now, and wait until they are in force.
It does so by itself when files change; this command also says what is wrong.

` + cli.ExitCodes,
		Example: `  permd reload`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := client.Connect(cmd.Context(), client.Options{Admin: true})
			if err != nil {
				return err
			}
			defer c.Close()
			var r admin.Reloaded
			if err := c.Call(cmd.Context(), admin.MethodReload, struct{}{}, &r); err != nil {
				return &cli.Failure{Code: cli.ExitCompile, Err: err, Hint: "the rules that were good stay in force; see: permd status"}
			}
			if a.JSON {
				return cli.PrintJSON(a.Out, r)
			}
			if !r.Changed {
				fmt.Fprintf(a.Out, "nothing has changed, policy %s stays in force\n", cli.Short(r.Digest))
				return nil
			}
			fmt.Fprintf(a.Out, "policy %s is in force\n", cli.Short(r.Digest))
			return nil
		},
	}
}
