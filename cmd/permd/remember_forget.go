package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket/admin"
)

func (a *app) rememberForgetCommand() *cobra.Command {
	var f choiceFilter
	var all bool
	cmd := &cobra.Command{
		Use:   "forget CHOICE...",
		Short: "Forget choices",
		Long: `Forget the choices with the given ids, or all that match the options. They no
longer apply from the next request on, even if the disk is full.

` + cli.ExitCodes,
		Example: `  permd remember forget k3vq7xw2n5ab
  permd remember forget --project .
  permd remember forget --all`,
		ValidArgsFunction: a.completeChoices,
		RunE: func(cmd *cobra.Command, args []string) error {
			named := 0
			for _, is := range []bool{len(args) > 0, all, !f.empty()} {
				if is {
					named++
				}
			}
			if named != 1 {
				return cli.Failf(cli.ExitUsage, "see permd remember list", "give the ids of choices, or --all, or a filter such as --kind, --project, --agent or --dormant")
			}
			return withMemory(cmd.Context(), func(m *memoryClient) error {
				return a.rememberForget(cmd.Context(), m, args, &f)
			})
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "forget all choices")
	return cmd
}

func (a *app) rememberForget(ctx context.Context, m *memoryClient, ids []string, f *choiceFilter) error {
	if len(ids) > 0 {
		var err error
		if ids, err = m.wholeChoices(ctx, ids); err != nil {
			return err
		}
	} else {
		chosen, err := m.choose(ctx, f, false)
		if err != nil {
			return err
		}
		for i := range chosen {
			ids = append(ids, chosen[i].ID)
		}
	}
	got, err := m.callWithIDs(ctx, admin.MethodChoicesForget, ids)
	if err != nil {
		return err
	}
	switch {
	case a.JSON:
		err = a.printChoices(got.Choices)
	case len(got.Choices) == 0:
		fmt.Fprintln(a.Out, cli.Either(f.empty(), "nothing is remembered", "no choice matches"))
	default:
		for i := range got.Choices {
			c := &got.Choices[i]
			for _, p := range choices.Parts(c) {
				fmt.Fprintf(a.Out, "forgotten: %s %s %s (%s)\n", c.Verdict, p.Kind, p.Rule, choices.Scope(c))
			}
		}
	}
	if err := errors.Join(err, a.hintUndo(got.Undo)); err != nil {
		return err
	}
	if got.Pending {
		return cli.Failf(cli.ExitError, "make space on the disk, then see: permd status",
			"it holds from now on, but could not be stored, and a restart may undo it")
	}
	return nil
}

func (a *app) rememberConfirmCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "confirm CHOICE...",
		Short: "Confirm choices reported by a client",
		Long: `Confirm choices that a client reported. Most choices take effect without it, but
an allow of guarded paths (secrets, startup files, .git, agent settings) does
not until you confirm it here.

Confirming a reject that an earlier version of permd stored (see permd remember
list --changed) makes it deny again what its lines match, instead of asking.

` + cli.ExitCodes,
		Example:           `  permd remember confirm k3vq7xw2n5ab`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeChoices,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.rememberConfirm(cmd.Context(), args)
		},
	}
}

// rememberConfirm confirms choices.
func (a *app) rememberConfirm(ctx context.Context, ids []string) error {
	return withMemory(ctx, func(m *memoryClient) error {
		ids, err := m.wholeChoices(ctx, ids)
		if err != nil {
			return err
		}
		got, err := m.callWithIDs(ctx, admin.MethodChoicesConfirm, ids)
		if err != nil {
			return err
		}
		return a.printChoices(got.Choices)
	})
}
