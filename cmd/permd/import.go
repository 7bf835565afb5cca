package main

import (
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
	names := make([]string, len(imports.Peers))
	for i, p := range imports.Peers {
		names[i] = string(p)
	}
	cmd := &cobra.Command{
		Use:   "import TOOL [FILE...]",
		Short: "Make rules out of another tool's permission settings",
		Long: `Read the permission settings of TOOL (` + strings.Join(names, ", ") + `)
and print the rules of permd that come nearest, each with the file and line it
comes from. What could not be carried over, and why, goes to standard error. It
never makes permd looser than the settings are: an allow is kept as far as its
words say what runs, and a deny that cannot be kept exactly becomes wider, or asks.

FILE is a settings file or a folder of them; without it, the usual places of this
person and of the project of this folder are read. Settings of a project make
rules that hold in that project alone. When more than one file of rules comes out,
each is printed after a line with its name.

With --output the rules are written into a folder, such as a sub-folder of your
own rules, once permd has checked them; a file with other content is shown and
kept, unless --force is given.

With --check nothing is written. Each decision of the journal is compared: what
the tool's settings would have said of it, and what permd says with the imported
rules and the shipped ones, without your own.

` + cli.ExitCodes,
		Example: `  permd import claude
  permd import claude --output ~/.config/permd/policy.d/claude
  permd import zed ~/.config/zed/settings.json --check`,
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			peer := imports.Peer(args[0])
			if !slices.Contains(imports.Peers, peer) {
				return cli.Failf(cli.ExitUsage, "one of: "+strings.Join(names, ", "), "permd cannot import from %q", args[0])
			}
			return a.importRules(cmd.Context(), peer, args[1:], &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.output, "output", "", "write the rules into this folder")
	f.BoolVar(&o.force, "force", false, "write over files with other content")
	f.StringVar(&o.Project, "project", "", "the rules hold in the project in this folder alone")
	f.BoolVar(&o.Everywhere, "everywhere", false, "rules of a project's settings hold in every project")
	f.BoolVar(&o.check, "check", false, "compare with the decisions of the journal")
	f.DurationVar(&o.log.since, "since", 0, "with --check: only the last of this time, such as 24h")
	f.IntVar(&o.log.limit, "limit", 1000, "with --check: at most this many decisions")
	cmd.MarkFlagsMutuallyExclusive("project", "everywhere")
	cmd.MarkFlagsMutuallyExclusive("output", "check")
	return cmd
}

func (a *app) importRules(ctx context.Context, peer imports.Peer, named []string, o *importFlags) error {
	report, err := importing.Read(peer, named, o.Options)
	if err != nil {
		return err
	}
	switch {
	case o.check:
		f, err := o.log.filter(time.Now())
		if err != nil {
			return err
		}
		return report.Compare(ctx, a.Streams, a.root, f)
	case o.output != "":
		return report.Write(a.Streams, o.output, o.force)
	}
	return report.Print(a.Streams)
}
