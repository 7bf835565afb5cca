package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/bundlecommands"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/policies"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/cmd/permd/internal/replay"
	"github.com/permd/permd/cmd/permd/internal/rulecost"
	"github.com/permd/permd/cmd/permd/internal/shadow"
	"github.com/permd/permd/cmd/permd/internal/userrules"
	"github.com/permd/permd/socket/client"
)

func (a *app) policyCommand() *cobra.Command {
	long := `Check rules before permd uses them, run their tests, and list them with file and
line. Example rules are in examples/policies.`
	example := `  permd policy check ~/.config/permd/policy.d
  permd policy test ~/.config/permd/policy.d`
	of := a.policies()
	return group("policy", "Check, test and list rules", long, example, of.Check(), of.Test(), of.List(), userrules.Push(&a.Streams, a.dirs), userrules.Pull(&a.Streams), a.policyReplayCommand(), a.policyProfileCommand(), a.policyShadowCommand(), a.policyBundleCommand())
}

// policyBundleCommand returns permd policy bundle.
func (a *app) policyBundleCommand() *cobra.Command {
	of := &bundlecommands.Commands{Streams: &a.Streams, Dirs: a.dirs, Root: func() string { return a.root }}
	return group("bundle", "Make and examine bundles of rules", "Make, sign and examine bundles of the organisation's rules, in OPA's format.\nDaemons take them from a server, a registry or a file.",
		`  permd policy bundle build policy.d -o org.tar.gz --revision 42
  permd policy bundle inspect org.tar.gz`, of.Build(), of.Sign(), of.Verify(), of.Inspect(), of.Discover())
}

// policies returns the commands that work on folders of rules.
func (a *app) policies() *policies.Commands {
	return &policies.Commands{Streams: &a.Streams, Dirs: a.dirs, Root: func() string { return a.root }}
}

func (a *app) policyReplayCommand() *cobra.Command {
	var o records.Selection
	cmd := &cobra.Command{
		Use:         "replay [DIR]",
		Annotations: cli.ReadsOnly,
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
			r, err := replay.Replay(cmd.Context(), &a.Streams, a.root, f, cmp.Or(args...))
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

func (a *app) policyProfileCommand() *cobra.Command {
	var o records.Selection
	var n int
	var unmatched bool
	cmd := &cobra.Command{
		Use:         "profile [DIR]",
		Annotations: cli.ReadsOnly,
		Short:       "Show which rules are slow, and which match no call",
		Long: `Evaluate the rules again on the newest calls of the log whose arguments are
kept, each rule by itself, and print for each its share of the time, what it
takes of one call (50 and 99 of 100 calls take no longer), for how many effects
it was evaluated, and how many calls it matched. With DIR the rules in it are
measured instead of your own. Without --since calls of the last 7 days are; of
them at most ` + fmt.Sprint(rulecost.MaxCalls) + `, for at most ` + fmt.Sprint(int(rulecost.MaxTime.Seconds())) + ` seconds.

Compare shares rather than times: these are of this machine as busy as it is,
what rules share counts for each of them, and the daemon keeps results, so that
it evaluates fewer rules than that. A rule for which an index shows that it does
not match is not evaluated. One that is cut at the limit of an evaluation three
times is left out of further calls. Nothing is written.

` + cli.ExitCodes,
		Example: `  permd policy profile
  permd policy profile --since 30d --limit 5 --json
  permd policy profile --unmatched`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n < 1 {
				return cli.Failf(cli.ExitUsage, "write how many rules, such as 10", "--limit must be at least 1")
			}
			f, err := o.Filter(time.Now(), true)
			if err != nil {
				return err
			}
			r, err := rulecost.Measure(cmd.Context(), &a.Streams, a.root, f, cmp.Or(args...))
			if err != nil {
				return err
			}
			r.Cut(n, unmatched)
			return r.Print(&a.Streams)
		},
	}
	o.Times(cmd.Flags())
	cmd.Flags().IntVar(&n, "limit", 20, "show at most `n` rules")
	cmd.Flags().BoolVar(&unmatched, "unmatched", false, "only rules that matched no call")
	return cmd
}

func (a *app) policyShadowCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "shadow",
		Annotations: cli.ReadsOnly,
		Short:       "Show what shadow rules would decide",
		Long: `Show which calls shadow rules would decide differently: both verdicts, the rules
that made them, how many calls, and some of the calls. Shadow rules are those in
the folder that shadow in permd.toml names; they are evaluated in place of those
in the folder policy.d next to that file:

  shadow = "shadow.d"

The daemon evaluates them after its answer, with the same effects and the same
remembered choices. They never change an answer. Calls that come too fast to be
compared are counted. When the files of the folder change, counts restart.

` + cli.ExitCodes,
		Example: `  permd policy shadow
  permd policy shadow --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := client.Connect(cmd.Context(), client.Options{Admin: true})
			if err != nil {
				return err
			}
			defer c.Close()
			var r *shadow.Report
			if err := c.Call(cmd.Context(), shadow.Method, struct{}{}, &r); err != nil {
				return fmt.Errorf("reading the report on shadow rules: %w", err)
			}
			return r.Print(&a.Streams)
		},
	}
}
