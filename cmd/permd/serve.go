package main

import (
	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/daemon"
)

func (a *app) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon",
		Long: `Run the daemon in the foreground, for this user. It needs no configuration:
without rules of your own the shipped base policy decides.

  rules       ~/.config/permd/policy.d/  (of the organisation: /etc/permd/policy.d/)
  settings    ~/.config/permd/permd.toml (of the organisation: /etc/permd/permd.toml)
  data        ~/.local/share/permd/
  sockets     $XDG_RUNTIME_DIR/permd/permd.sock, $XDG_RUNTIME_DIR/permd-admin/admin.sock
  HTTP        off, or as http.listen of the settings says

SIGTERM and SIGINT answer what is in flight and end it, SIGHUP reads the rules
again. Changed rules are read by themselves. Under systemd it takes the sockets
named permd and permd-admin and reports its state.

` + cli.ExitCodes,
		Example: `  permd serve`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return daemon.Serve(cmd.Context(), a.Streams, a.root)
		},
	}
}
