package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/cmd/permd/internal/replay"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

func (a *app) reloadCommand() *cobra.Command {
	var safe bool
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Reload the daemon's policies",
		Long: `Make the daemon reload its policies and wait until they are in force. The daemon
does this by itself when files change, unless reload in permd.toml
says otherwise; use this command to see errors at once. If the new rules do not
compile or their tests fail, the old ones stay in force.

With --if-replay-safe the calls of the last 7 days are decided again first, as
permd policy replay does. If one that was asked or denied would now be allowed,
or none could be decided again, nothing is reloaded and the exit code is 4.

` + cli.ExitCodes,
		Example: `  permd reload
  permd reload --if-replay-safe`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			digest := ""
			if safe {
				var err error
				if digest, err = a.replaySafe(cmd.Context()); err != nil {
					return err
				}
			}
			return a.reload(cmd.Context(), digest)
		},
	}
	cmd.Flags().BoolVar(&safe, "if-replay-safe", false, "only if no call of the last 7 days that was asked or denied would now be allowed")
	return cmd
}

// replaySafe returns the digest of the rules on the disk, or an error if they would allow
// what was asked or denied.
func (a *app) replaySafe(ctx context.Context) (digest string, err error) {
	r, err := replay.Replay(ctx, &a.Streams, a.root, decisions.RecordFilter{Since: time.Now().AddDate(0, 0, -7)}, "")
	if err != nil {
		return "", err
	}
	loosened := r.Loosened()
	if len(loosened) > 0 {
		r.Groups = loosened
		if err := r.Print(&a.Streams); err != nil {
			return "", err
		}
		n := 0
		for _, g := range loosened {
			n += g.Count
		}
		calls := cli.Plural(n, "call") + " that " + cli.Either(n == 1, "was", "were") + " asked or denied"
		return "", a.notReloaded(ctx, r.Digest, "permd policy replay shows all that would differ", "they allow "+calls, "the new rules allow "+calls)
	}
	if r.Decisions > 0 && r.Same+r.Different == 0 {
		const none = "no call of the last 7 days could be decided again"
		return "", a.notReloaded(ctx, r.Digest, "permd policy replay says why", none, none)
	}
	if n := r.Decisions - r.Same - r.Different; n > 0 && !a.JSON {
		fmt.Fprintf(a.Err, "permd: %s could not be decided again; permd policy replay says why\n", cli.Plural(n, "decision"))
	}
	return r.Digest, nil
}

// notReloaded is the error where rules are not reloaded, or where the daemon has them in force by
// itself, as it sees changes.
func (a *app) notReloaded(ctx context.Context, digest, hint, inForce, otherwise string) error {
	c, err := client.Connect(ctx, client.Options{Admin: true})
	if err != nil {
		return err
	}
	defer c.Close()
	var s daemon.Status
	if err := c.Call(ctx, admin.MethodStatus, struct{}{}, &s); err != nil {
		return err
	}
	if s.Digest != digest {
		return cli.Failf(cli.ExitTests, hint, "nothing was reloaded: %s", otherwise)
	}
	var since time.Time
	for i := range s.Policy.Layers {
		if l := &s.Policy.Layers[i]; l.Project == "" && l.Since.After(since) {
			since = l.Since
		}
	}
	return cli.Failf(cli.ExitTests, hint, "these rules are in force already, since %s: %s", since.Local().Format(time.DateTime), inForce)
}

// reload makes the daemon reload its policies and prints the result. replayed is the digest
// that is expected then, "" for any.
func (a *app) reload(ctx context.Context, replayed string) error {
	c, err := client.Connect(ctx, client.Options{Admin: true})
	if err != nil {
		return err
	}
	defer c.Close()
	var r admin.Reloaded
	if err := c.Call(ctx, admin.MethodReload, admin.ReloadParams{Digest: replayed}, &r); err != nil {
		return &cli.Failure{Code: cli.ExitCompile, Err: err, Hint: "the previous rules stay in force; see: permd status"}
	}
	if replayed != "" && r.Digest != replayed {
		return cli.Failf(cli.ExitError, "run permd policy replay, and permd status",
			"policy %s is in force, and policy %s was replayed: the rules have changed meanwhile, or an earlier file still counts", cli.Short(r.Digest), cli.Short(replayed))
	}
	if a.JSON {
		return cli.PrintJSON(a.Out, r)
	}
	settings := ""
	if len(r.Settings) > 0 {
		settings = "; changed settings: " + strings.Join(r.Settings, ", ")
	}
	if !r.Changed {
		fmt.Fprintf(a.Out, "the rules have not changed, policy %s stays in force%s\n", cli.Short(r.Digest), settings)
		return nil
	}
	fmt.Fprintf(a.Out, "policy %s is in force%s\n", cli.Short(r.Digest), settings)
	return nil
}
