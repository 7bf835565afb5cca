// Package trusting is permd trust: it shows what the rules of a project would allow, and has the
// daemon trust them.
package trusting

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/policy/settings"
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

Of each entry is shown what the daemon would decide about a call that it speaks
of, were the list trusted; a * stands for a word such as x, or for nothing. An
entry that other rules ask about or deny anyway stands apart, with the reason.

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
			if err := cli.Exclusive(cmd.Flags().Changed, "list", "show", "revoke"); err != nil {
				return err
			}
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
	return cmd
}

func (c *command) run(ctx context.Context, dir string) error {
	if c.list {
		return c.listAll(ctx)
	}
	if c.revoke {
		return c.end(ctx, dir)
	}
	if !c.show && (c.lasts < trust.Least || c.lasts > trust.Max) {
		return cli.Failf(cli.ExitUsage, "such as --for 30d", "a project is trusted for a minute to 366 days, not for %s", days(c.lasts))
	}
	root, err := rootOf(dir)
	if err != nil {
		return err
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
	if !c.show {
		if err := refused(&known, p); err != nil {
			return err
		}
	}
	var tried admin.Tried
	if err := daemon.Call(ctx, admin.MethodTrustTry, admin.TrustTrial{Root: root, Text: p.text}, &tried); err != nil {
		return &cli.Failure{Code: cli.ExitError, Err: fmt.Errorf("trying what the project's rules would allow: %w", err), Hint: "permd status says what is wrong with rules"}
	}
	p.try(tried.Entries)
	if c.show {
		if c.JSON {
			return cli.PrintJSON(c.Out, p)
		}
		p.render(c.Out)
		return nil
	}
	return c.trust(ctx, daemon, p)
}

// refused is the error for what the organisation does not let the person trust, nil if it does.
func refused(known *admin.TrustedList, p *project) error {
	switch {
	case known.Counts == settings.TrustUser:
		return nil
	case p.State == "approved":
		return cli.Failf(cli.ExitError, "permd trust --show shows them", "the organisation trusts the rules of %s already, and nobody else can (project_trust)", p.Root)
	case known.Counts == settings.TrustApproved:
		return cli.Failf(cli.ExitError, "it does so by trusted in its permd.toml", "only lists that the organisation approves are trusted (project_trust): it must approve digest %s", p.Digest)
	}
	return cli.Failf(cli.ExitError, "ask who administers this machine", "the organisation lets nobody trust a project (project_trust)")
}

// trust shows a project, and has the daemon trust it if the person says so.
func (c *command) trust(ctx context.Context, daemon *client.Client, p *project) error {
	if !c.JSON {
		p.render(c.Out)
	}
	if len(p.Allows)+len(p.Asks)+len(p.Untried) == 0 {
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
		return &cli.Failure{Code: cli.ExitError, Err: fmt.Errorf("trusting the project: %w", err), Hint: "permd trust --list lists what you trust, and --revoke ends it"}
	}
	if c.JSON {
		return cli.PrintJSON(c.Out, done)
	}
	fmt.Fprintf(c.Out, "the rules of %s are trusted until %s\n", cli.Visible(done.Root), done.Until.Local().Format(time.DateOnly))
	fmt.Fprintf(c.Err, "permd: hint: to end it before: permd trust --revoke %s\n", cli.Visible(cli.Quote(done.Root)))
	return nil
}

// days is a duration, in days if it is a number of them.
func days(d time.Duration) string {
	if n := int(d / (24 * time.Hour)); n > 0 && d%(24*time.Hour) == 0 {
		return cli.Plural(n, "day")
	}
	return d.String()
}

// end ends the trust in a project that is named by a folder.
func (c *command) end(ctx context.Context, dir string) error {
	daemon, err := dial(ctx)
	if err != nil {
		return err
	}
	defer daemon.Close()
	var known admin.TrustedList
	if err := daemon.Call(ctx, admin.MethodTrustList, struct{}{}, &known); err != nil {
		return fmt.Errorf("asking what is trusted: %w", err)
	}
	root, err := trustedRoot(&known, dir)
	if err != nil {
		return err
	}
	var e admin.Ended
	if err := daemon.Call(ctx, admin.MethodTrustRevoke, map[string]string{"root": root}, &e); err != nil {
		return fmt.Errorf("ending the trust: %w", err)
	}
	if !e.Ended {
		return notTrusted(root)
	}
	if c.JSON {
		return cli.PrintJSON(c.Out, e)
	}
	fmt.Fprintf(c.Out, "the rules of %s are not trusted any more\n", cli.Visible(root))
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
		fmt.Fprintf(c.Err, "permd: warning: %s\n", cli.Visible(why))
	}
	if len(list) == 0 {
		fmt.Fprintln(c.Out, "no project is trusted")
	}
	for i := range list {
		fmt.Fprintf(c.Out, "%s  until %s  %s\n", cli.Visible(list[i].Root), list[i].Until.Local().Format(time.DateOnly), list[i].State)
	}
	return nil
}

// listed is a project that the person trusts, with what that comes to.
type listed struct {
	admin.Trusted
	State string `json:"state"` // trusted, gone, changed, ended, forbidden, or by org approved or unapproved
}

func dial(ctx context.Context) (*client.Client, error) {
	return client.Connect(ctx, client.Options{Admin: true})
}

// stateOf says in a word what the trust in a project comes to.
func stateOf(known *admin.TrustedList, t *admin.Trusted, now time.Time) string {
	if _, err := os.Lstat(t.Root); errors.Is(err, fs.ErrNotExist) {
		return "gone"
	}
	own, err := ownList(t.Root)
	switch {
	case known.Counts == settings.TrustForbid:
		return "forbidden"
	case known.Counts == settings.TrustApproved:
		return cli.Either(approves(known, t.Root, t.Digest), "approved", "unapproved")
	case !now.Before(t.Until):
		return "ended"
	case err != nil || own == nil || trust.Digest(own.Data) != t.Digest:
		return "changed"
	}
	return "trusted"
}

// trustedRoot returns the root of what is trusted by the name of a folder: the folder itself, which
// may be gone or be no root any more, else the root of the project that it belongs to.
func trustedRoot(known *admin.TrustedList, dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the folder: %w", err)
	}
	trusted := func(root string) bool {
		return slices.ContainsFunc(known.Trusted, func(t admin.Trusted) bool { return t.Root == root })
	}
	// Of a folder that is gone, links in the folders above may still lead to its root.
	resolved := path
	for above := filepath.Dir(path); ; above = filepath.Dir(above) {
		if real, err := filepath.EvalSymlinks(above); err == nil {
			resolved = filepath.Join(real, strings.TrimPrefix(path, above))
			break
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	if trusted(path) {
		return path, nil
	}
	if trusted(resolved) {
		return resolved, nil
	}
	root, err := rootOf(dir)
	if err != nil {
		return "", err
	}
	if !trusted(root) {
		return "", notTrusted(root)
	}
	return root, nil
}

func notTrusted(root string) error {
	return cli.Failf(cli.ExitError, "permd trust --list lists what is", "%s is not trusted", root)
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
