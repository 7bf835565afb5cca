package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// usageErrors wraps the argument checks of cmd and its subcommands so that they
// fail with a usage error.
func usageErrors(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if _, ok := errors.AsType[*cli.Failure](err); ok || err == nil {
				return err
			}
			hint := "see " + c.CommandPath() + " --help"
			if len(c.ValidArgs) > 0 && len(args) < 2 {
				hint = "one of: " + strings.Join(c.ValidArgs, ", ")
			}
			if counted := wrongCount(c, args); counted != "" {
				return cli.Failf(cli.ExitUsage, hint, "%s", counted)
			}
			return cli.Failf(cli.ExitUsage, hint, "%v", err)
		}
	}
	for _, sub := range cmd.Commands() {
		usageErrors(sub)
	}
}

// wrongCount says by the names of a command's arguments which is missing, or which is one
// too many; "" if neither is, or an own check knows more.
func wrongCount(cmd *cobra.Command, args []string) string {
	names := strings.Fields(cmd.Use)[1:]
	if slices.ContainsFunc(names, func(name string) bool { return name == "[flags]" || name == "[--" }) || cmd.Name() == "try" {
		return ""
	}
	if len(args) < len(names) {
		if next := names[len(args)]; !strings.HasPrefix(next, "[") && (!strings.HasSuffix(next, "...") || len(args) == len(names)-1) {
			return strings.ReplaceAll(strings.TrimSuffix(next, "..."), "|", " or ") + " is missing"
		}
		return ""
	}
	switch {
	case len(args) == len(names), len(names) > 0 && strings.HasSuffix(strings.Trim(names[len(names)-1], "[]"), "..."):
		return ""
	case len(names) == 0:
		return cmd.CommandPath() + " takes no arguments"
	}
	return "there is an argument too many: " + cli.Quote(args[len(names)])
}

// flagError is the error for an option that does not exist or has a wrong value.
func flagError(cmd *cobra.Command, err error) error {
	hint := "see " + cmd.CommandPath() + " --help"
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if near := nearest(name, names, "--"); near != "" {
			hint = near
		}
	}
	return cli.Failf(cli.ExitUsage, hint, "%v", err)
}

// unknownCommand returns the error for a sub-command that does not exist, with those that
// may have been meant.
func unknownCommand(cmd *cobra.Command, name string) error {
	names := subcommands(cmd)
	hint := nearest(name, names, cmd.CommandPath()+" ")
	switch {
	case hint != "":
	case cmd.HasParent():
		hint = "one of: " + strings.Join(names, ", ")
	default:
		hint = "see " + cmd.CommandPath() + " --help"
	}
	return cli.Failf(cli.ExitUsage, hint, "unknown command %q for %q", name, cmd.CommandPath())
}

// subcommands returns the names of a command's sub-commands.
func subcommands(cmd *cobra.Command) []string {
	var names []string
	for _, s := range cmd.Commands() {
		if s.IsAvailableCommand() {
			names = append(names, s.Name())
		}
	}
	return names
}

// nearest asks whether one of the names was meant, each with what is before it; "" if none
// is near.
func nearest(name string, names []string, before string) string {
	// cobra compares words, of commands alone.
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, n := range names {
		all.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	near := all.SuggestionsFor(name)
	if len(near) == 0 {
		return ""
	}
	for i := range near {
		near[i] = before + near[i]
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// group returns a command that does nothing but hold subcommands.
func group(use, short, long, example string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long + "\n\n" + cli.ExitCodes, Example: example, Annotations: cli.ReadsOnly, RunE: func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return helpOf(c)
		}
		return unknownCommand(c, args[0])
	}}
	cmd.AddCommand(subs...)
	return cmd
}

// helpOf prints the help of a command that needs a sub-command. Who wants JSON would not
// read it.
func helpOf(cmd *cobra.Command) error {
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return cli.Failf(cli.ExitUsage, "one of: "+strings.Join(subcommands(cmd), ", "), "the command is missing")
	}
	return cmd.Help()
}

// helpCommand returns the command that prints the help of another one.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "help [COMMAND...]",
		Annotations: cli.ReadsOnly,
		GroupID:     "setup",
		Short:       "Help about any command",
		Long: `Print what permd COMMAND --help prints.

` + cli.ExitCodes,
		Example: `  permd help policy check`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			about, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return subcommands(about), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about := cmd.Root()
			for _, name := range args {
				i := slices.IndexFunc(about.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
				if i < 0 {
					return unknownCommand(about, name)
				}
				about = about.Commands()[i]
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}
