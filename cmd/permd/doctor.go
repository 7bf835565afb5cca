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
		Annotations: cli.ReadsOnly,
		Short:       "Diagnose problems",
		Long: `Check permd's directories, settings, rules, databases, sockets, daemon and
systemd units, and the configuration of harnesses and ACP clients. Also list
installed agents and editors that do not use permd yet, and settings in which
other tools have rules of their own. Each problem is printed with the command
that fixes it.

Nothing is changed. With systemd's socket activation, the check starts the
daemon.

The exit code is 1 if there are errors, 0 if there are only warnings.

` + cli.ExitCodes,
		Example: `  permd doctor
  permd doctor --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.doctor(cmd.Context())
		},
	}
}

// doctor runs all checks and prints the findings.
func (a *app) doctor(ctx context.Context) error {
	dirs, err := a.dirs()
	if err != nil {
		return err
	}
	found := doctor.Examine(ctx, dirs, a.root)
	if a.JSON {
		if err := cli.PrintJSON(a.Out, map[string]any{"version": buildinfo.Version(), "findings": found.All}); err != nil {
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
	// Commands are not folded: they are copied.
	w, text := a.Out, cli.Folded(a.Out, 18)
	for _, f := range x.All {
		fmt.Fprintf(text, "%-5s  %-9s  %s\n", f.State, f.Check, f.Text)
		if f.Fix != "" {
			fmt.Fprintf(w, "%-18sfix: %s\n", "", f.Fix)
		}
	}
	fmt.Fprintf(w, "\n%s, %s\n", cli.Plural(x.Count(findings.Error), "error"), cli.Plural(x.Count(findings.Warn), "warning"))
}
