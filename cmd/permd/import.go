package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/importing"
	"github.com/permd/permd/policy/imports"
)

type importFlags struct {
	importing.Options
	output string
	force  bool
	check  bool
	log    logOptions
}

func (a *app) importCommand() *cobra.Command {
	var o importFlags
	names := make([]string, len(imports.Tools))
	for i, p := range imports.Tools {
		names[i] = string(p)
	}
	cmd := &cobra.Command{
		Use:   "import TOOL [FILE...]",
		Short: "Convert another tool's permission settings to rules",
		Long: `Read the permission settings of TOOL
(` + strings.Join(names, ", ") + `)
and print the closest permd rules, each with the file and line it comes from.
What could not be converted is reported on standard error, with the reason. The
rules are never looser than the settings: an allow is kept only as far as it is
clear what it runs, and a deny without an exact equivalent becomes broader, or
an ask.

FILE is a settings file or a directory of them. By default, your settings and
those of the project of the current directory are read. A project's settings
become rules for that project only. If the result is more than one file, each is
preceded by a line with its name.

With --output, write the rules to a directory, such as a subdirectory of your
policy.d, after checking them. A file with different content is shown and kept,
unless --force is given.

With --check, write nothing. For each decision in the journal, compare what the
tool's settings would have decided with what permd decides by the imported and
the built-in rules, without your own.

` + cli.ExitCodes,
		Example: `  permd import claude
  permd import claude --output ~/.config/permd/policy.d/claude
  permd import zed ~/.config/zed/settings.json --check`,
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			given := cmd.Flags().Changed
			if err := cmp.Or(cli.Exclusive(given, "project", "everywhere"), cli.Exclusive(given, "output", "check")); err != nil {
				return err
			}
			tool := imports.Tool(args[0])
			if !slices.Contains(imports.Tools, tool) {
				return cli.Failf(cli.ExitUsage, "one of: "+strings.Join(names, ", "), "permd cannot import from %q", args[0])
			}
			return a.importRules(cmd.Context(), tool, args[1:], &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.output, "output", "", "write the rules to this `directory`")
	f.BoolVar(&o.force, "force", false, "overwrite files with different content")
	f.StringVar(&o.Project, "project", "", "make rules for the project in this `directory` only")
	f.BoolVar(&o.Everywhere, "everywhere", false, "make rules for all projects from a project's settings")
	f.BoolVar(&o.check, "check", false, "compare with the decisions in the journal")
	o.log.SinceFlag(f, "with --check: ")
	f.IntVar(&o.log.limit, "limit", 1000, "with --check: at most `n` decisions")
	return cmd
}

func (a *app) importRules(ctx context.Context, tool imports.Tool, named []string, o *importFlags) error {
	report, err := importing.Read(ctx, tool, named, o.Options)
	if err != nil {
		return err
	}
	switch {
	case o.check:
		f, err := o.log.filter(time.Now(), false)
		if err != nil {
			return err
		}
		return report.Compare(ctx, a.Streams, a.root, f)
	case o.output != "":
		return report.Write(a.Streams, o.output, o.force)
	}
	return report.Print(a.Streams)
}
