package main

import (
	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/daemon"
	_ "github.com/permd/permd/cmd/permd/internal/timerslack" // set before Go starts
)

func (a *app) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon",
		Long: `Run the daemon in the foreground, for the current user. It needs no
configuration: without rules of your own, the built-in base policy applies.

  rules       ~/.config/permd/policy.d/  (organisation: /etc/permd/policy.d/)
  settings    ~/.config/permd/permd.toml (organisation: /etc/permd/permd.toml)
  data        ~/.local/share/permd/
  sockets     $XDG_RUNTIME_DIR/permd/permd.sock,
              $XDG_RUNTIME_DIR/permd-admin/admin.sock
  HTTP        off unless http.listen is set

The daemon reloads rules when their files change, and on SIGHUP. On SIGTERM or
SIGINT it answers the requests in flight and exits, within five seconds whatever
hangs. Under systemd it uses the passed sockets named permd and permd-admin and
reports readiness.

` + cli.ExitCodes,
		Example: `  permd serve`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return daemon.Serve(cmd.Context(), a.Streams, a.root)
		},
	}
}
