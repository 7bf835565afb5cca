package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/doctor"
	"github.com/permd/permd/cmd/permd/internal/findings"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "doctor",
		Annotations: onlyReads,
		Short:       "Look for what is not as it should be",
		Long: `Look at permd's folders, settings, rules, databases, sockets, daemon and units,
at the hooks of harnesses and the ACP clients that ask permd, and for agents and
editors that are installed. Each finding comes with the command that mends it.
Nothing is changed; where systemd holds the sockets, the daemon is started by being
asked.

The exit code is 1 if there is an error, 0 with warnings alone.

` + cli.ExitCodes,
		Example: `  permd doctor
  permd doctor --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.doctor(cmd.Context())
		},
	}
}

// doctor looks at everything and prints the findings.
func (a *app) doctor(ctx context.Context) error {
	dirs, err := a.dirs()
	if err != nil {
		return err
	}
	found := doctor.Examine(ctx, dirs, a.root)
	if a.JSON {
		if err := cli.PrintIndented(a.Out, map[string]any{"version": buildinfo.Version(), "findings": found.All}); err != nil {
			return err
		}
	} else {
		a.renderFindings(found)
	}
	if found.Count(findings.Error) > 0 {
		return &cli.Failure{Code: cli.ExitError}
	}
	return nil
}

func (a *app) renderFindings(x *findings.List) {
	w := a.Out
	for _, f := range x.All {
		fmt.Fprintf(w, "%-5s  %-9s  %s\n", f.State, f.Check, f.Text)
		if f.Fix != "" {
			fmt.Fprintf(w, "%-18sfix: %s\n", "", f.Fix)
		}
	}
	fmt.Fprintf(w, "\n%s, %s\n", cli.Plural(x.Count(findings.Error), "error"), cli.Plural(x.Count(findings.Warn), "warning"))
}
