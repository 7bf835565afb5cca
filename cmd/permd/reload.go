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
		Short: "Let the daemon read its policies again, now",
		Long: `Let the daemon read its policies again, now, and wait until they are in force.
It does so by itself when files change; this command also says what is wrong.

` + cli.ExitCodes,
		Example: `  permd reload`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.reload(cmd.Context())
		},
	}
}

// reload lets the daemon read its policies and says what came of it.
func (a *app) reload(ctx context.Context) error {
	c, err := client.Connect(ctx, client.Options{Admin: true})
	if err != nil {
		return err
	}
	defer c.Close()
	var r admin.Reloaded
	if err := c.Call(ctx, admin.MethodReload, struct{}{}, &r); err != nil {
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
}
