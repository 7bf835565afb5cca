package main

import (
	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/daemon"
	_ "github.com/permd/permd/cmd/permd/internal/timerslack" // set before Go starts
)

func (a *app) serveCommand() *cobra.Command {
	var system bool
	cmd := &cobra.Command{
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

With --system it serves several people: those in the group permd, each of whom
sees and manages only what is their own. It runs as a user of its own, and its
rules are root's. See docs/system.md.

  rules       /etc/permd/policy.d/, and each person's: permd policy push
  settings    /etc/permd/permd.toml
  data        /var/lib/permd/
  sockets     /run/permd/permd.sock, /run/permd-admin/admin.sock

` + cli.ExitCodes,
		Example: `  permd serve`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !system {
				return daemon.Serve(cmd.Context(), a.Streams, a.root)
			}
			if a.root != "" {
				return cli.Failf(cli.ExitUsage, "leave --root out", "--root moves the organisation's rules, which permd serve --system does not do")
			}
			return daemon.ServeSystem(cmd.Context(), a.Streams)
		},
	}
	cmd.Flags().BoolVar(&system, "system", false, "serve several people, as a user of its own")
	return cmd
}
