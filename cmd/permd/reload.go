package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

func (a *app) reloadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: "Reload the daemon's policies",
		Long: `Make the daemon reload its policies and wait until they are in force. The daemon
does this by itself when files change; use this command to see errors at once.
If the new rules do not compile or their tests fail, the old ones stay in force.

` + cli.ExitCodes,
		Example: `  permd reload`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.reload(cmd.Context())
		},
	}
}

// reload makes the daemon reload its policies and prints the result.
func (a *app) reload(ctx context.Context) error {
	c, err := client.Connect(ctx, client.Options{Admin: true})
	if err != nil {
		return err
	}
	defer c.Close()
	var r admin.Reloaded
	if err := c.Call(ctx, admin.MethodReload, struct{}{}, &r); err != nil {
		return &cli.Failure{Code: cli.ExitCompile, Err: err, Hint: "the previous rules stay in force; see: permd status"}
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
}
