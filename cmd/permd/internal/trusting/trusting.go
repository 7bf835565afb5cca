// Package trusting is permd trust: it shows what the rules of a project would allow, and has the
// daemon trust them.
package trusting

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/policy/trust"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// command is what the flags of permd trust say.
type command struct {
	*cli.Streams
	lasts              time.Duration
	list, show, revoke bool
	yes                bool
}

// Command returns the command permd trust.
func Command(s *cli.Streams) *cobra.Command {
	c := command{Streams: s}
	cmd := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Trust the rules of a project",
		Long: `Show what the list of rules of a project, .permd/rules.yaml in its root, would
allow, and have it count from now on. DIR is a folder in the project, by default
the working directory. Without it, a project can only make permd stricter.

The list is trusted as it is shown, byte for byte, in this folder alone, by you
alone, and for a time. When it changes, its allows stop at once, and what it
asked about and denied stays until you trust it again, or revoke your trust.

A trusted project may allow runs in it, files in it that its list names from its
root (./), and hosts. It never allows what is guarded (secrets, start-up files,
.git, agents' settings, pipelines), what is not understood, tools of servers,
what only the agent says, or a run that a shipped rule asks about for a reason
of its own, such as sudo and git push --force. Lists in the folders above are
not trusted with it. Rules of the organisation and of you that ask or deny come
before it.

An organisation approves the digest that is shown (trusted in permd.toml).
Agents are denied this command.

` + cli.ExitCodes,
		Example: `  permd trust
  permd trust --show ~/src/shop
  permd trust --for 30d --yes ~/src/shop
  permd trust --list
  permd trust --revoke ~/src/shop`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.list && len(args) > 0 {
				return cli.Failf(cli.ExitUsage, "permd trust --show DIR shows one project", "--list takes no folder")
			}
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return c.run(cmd.Context(), dir)
		},
	}
	c.lasts = trust.Default
	f := cmd.Flags()
	f.Var(cli.Duration{To: &c.lasts}, "for", "for this `duration`, such as 30d, at most 366d")
	f.Lookup("for").DefValue = "90d"
	f.BoolVarP(&c.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&c.list, "list", false, "list the projects that you trust")
	f.BoolVar(&c.show, "show", false, "only show the rules, and what has changed since you trusted them")
	f.BoolVar(&c.revoke, "revoke", false, "trust the project no more")
	cmd.MarkFlagsMutuallyExclusive("list", "show", "revoke")
	return cmd
}

func (c *command) run(ctx context.Context, dir string) error {
	if c.list {
		return c.listAll(ctx)
	}
	root, err := rootOf(dir)
	if err != nil {
		return err
	}
	if c.revoke {
		return c.end(ctx, root)
	}
	p, err := load(root)
	if err != nil {
		return err
	}
	daemon, err := dial(ctx)
	if err != nil {
		return err
	}
	defer daemon.Close()
	var known admin.TrustedList
	if err := daemon.Call(ctx, admin.MethodTrustList, map[string]string{"root": root}, &known); err != nil {
		return fmt.Errorf("asking what is trusted: %w", err)
	}
	p.compare(&known, time.Now())
	if c.show {
		if c.JSON {
			return cli.PrintJSON(c.Out, p)
		}
		p.render(c.Out)
		return nil
	}
	return c.trust(ctx, daemon, p)
}

// trust shows a project, and has the daemon trust it if the person says so.
func (c *command) trust(ctx context.Context, daemon *client.Client, p *project) error {
	if !c.JSON {
		p.render(c.Out)
	}
	if len(p.Allows) == 0 {
		return cli.Failf(cli.ExitError, "its denies and asks are in force already", "the list of %s allows nothing that a project may allow", p.Root)
	}
	if !c.yes {
		if !c.AtTerminal() {
			return cli.Failf(cli.ExitError, "run it yourself in a terminal, or read it with --show and use --yes", "nobody is here to look at these rules")
		}
		if err := c.Confirm(fmt.Sprintf("Trust these rules for %s?", days(c.lasts))); err != nil {
			return err
		}
	}
	var done admin.Trusted
	n := admin.NewTrust{Root: p.Root, Text: p.text, Seconds: int64(c.lasts / time.Second)}
	if err := daemon.Call(ctx, admin.MethodTrustSet, n, &done); err != nil {
		return fmt.Errorf("trusting the project: %w", err)
	}
	if c.JSON {
		return cli.PrintJSON(c.Out, done)
	}
	fmt.Fprintf(c.Out, "the rules of %s are trusted until %s\n", done.Root, done.Until.Local().Format(time.DateOnly))
	fmt.Fprintf(c.Err, "permd: hint: to end it before: permd trust --revoke %s\n", cli.Quote(done.Root))
	return nil
}

// days is a duration, in days if it is a number of them.
func days(d time.Duration) string {
	if n := int(d / (24 * time.Hour)); n > 0 && d%(24*time.Hour) == 0 {
		return cli.Plural(n, "day")
	}
	return d.String()
}

// end ends the trust in a project.
func (c *command) end(ctx context.Context, root string) error {
	daemon, err := dial(ctx)
	if err != nil {
		return err
	}
	defer daemon.Close()
	var e admin.Ended
	if err := daemon.Call(ctx, admin.MethodTrustRevoke, map[string]string{"root": root}, &e); err != nil {
		return fmt.Errorf("ending the trust: %w", err)
	}
	if c.JSON {
		return cli.PrintJSON(c.Out, e)
	}
	fmt.Fprintln(c.Out, cli.Either(e.Ended, "the rules of "+root+" are not trusted any more", root+" is not trusted"))
	if e.Unstored != "" {
		fmt.Fprintf(c.Err, "permd: warning: this may not outlive the daemon, or is not in its log: %s\n", e.Unstored)
	}
	return nil
}

// listAll lists what the person trusts.
func (c *command) listAll(ctx context.Context) error {
	daemon, err := dial(ctx)
	if err != nil {
		return err
	}
	defer daemon.Close()
	var known admin.TrustedList
	if err := daemon.Call(ctx, admin.MethodTrustList, struct{}{}, &known); err != nil {
		return fmt.Errorf("asking what is trusted: %w", err)
	}
	list := make([]listed, len(known.Trusted))
	for i := range known.Trusted {
		list[i] = listed{known.Trusted[i], stateOf(&known, &known.Trusted[i], time.Now())}
	}
	if c.JSON {
		return cli.PrintJSONLines(c.Out, list)
	}
	for _, why := range known.Damage {
		fmt.Fprintf(c.Err, "permd: warning: %s\n", why)
	}
	if len(list) == 0 {
		fmt.Fprintln(c.Out, "no project is trusted")
	}
	for i := range list {
		fmt.Fprintf(c.Out, "%s  until %s  %s\n", list[i].Root, list[i].Until.Local().Format(time.DateOnly), list[i].State)
	}
	return nil
}

// listed is a project that the person trusts, with what that comes to.
type listed struct {
	admin.Trusted
	State string `json:"state"` // trusted, changed, ended or forbidden
}

func dial(ctx context.Context) (*client.Client, error) {
	return client.Connect(ctx, client.Options{Admin: true})
}

// stateOf says in a word what the trust in a project comes to.
func stateOf(known *admin.TrustedList, t *admin.Trusted, now time.Time) string {
	own, err := ownList(t.Root)
	switch {
	case known.Counts != "user":
		return "forbidden"
	case !now.Before(t.Until):
		return "ended"
	case err != nil || own == nil || trust.Digest(own.Data) != t.Digest:
		return "changed"
	}
	return "trusted"
}

// absolute returns the folder that was named.
func absolute(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the folder: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", cli.Failf(cli.ExitError, "name a folder in the project", "there is no folder %s", dir)
	}
	return dir, nil
}
