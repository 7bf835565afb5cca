package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

func (a *app) rememberChangeCommand() *cobra.Command {
	var c admin.ChangedChoices
	var limit time.Duration
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "change CHOICE...",
		Short: "Change the line, the scope or the time limit of choices",
		Long: `Give choices another scope, another time limit, or both, all of them or none.
The changed choices match what they matched, from the next request on, and have
new ids. With --line, one choice gets another line, which is wider or narrower:
it then matches what remember add would match, and holds where the former did.
A choice that depends on more than its line, such as the text of a script, is
not changed so.

A scope is only taken that the choice could have had from the beginning: what is
bound to files of a project, or runs git, stays in its project, and a choice of
a session becomes one of the project only if it says which that is. With --scope
project, a choice for the user becomes one for the project of the current
directory. With --dry-run, nothing is changed; it shows what the choices would
be, and how many of the latest requests of the log they would have matched.

` + cli.ExitCodes,
		Example: `  permd remember change k3vq7xw2n5ab --for 8h
  permd remember change k3vq7xw2n5ab --scope project --for-ever
  permd remember change k3vq7xw2n5ab --line "go test ./..."`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeChoices,
		RunE: func(cmd *cobra.Command, args []string) error {
			timed := cmd.Flags().Changed("for")
			switch {
			case c.Line == "" && c.Scope == "" && !timed && !c.Forever:
				return cli.Failf(cli.ExitUsage, "name --line, --scope, --for or --for-ever", "nothing to change")
			case c.Line != "" && len(args) > 1:
				return cli.Failf(cli.ExitUsage, "change one after the other", "one choice at a time gets another --line")
			case timed && c.Forever:
				return cli.Failf(cli.ExitUsage, "leave one of them out", "--for and --for-ever exclude each other")
			case c.Scope != "" && c.Scope != "project" && c.Scope != "user":
				return cli.Failf(cli.ExitUsage, "one of: project, user", "unknown scope %q", c.Scope)
			}
			if err := checkLimit(cmd, limit); err != nil {
				return err
			}
			c.ExpiresIn = int64(limit / time.Second)
			var err error
			if c.Dir, err = filepath.Abs(c.Dir); err != nil {
				return fmt.Errorf("finding the folder: %w", err)
			}
			return a.rememberChange(cmd.Context(), args, c, dryRun)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&dryRun, "dry-run", false, "change nothing, and show what would be")
	f.StringVar(&c.Line, "line", "", "new `line`, as of remember add")
	f.StringVar(&c.Scope, "scope", "", "new `scope`: project or user")
	f.StringVar(&c.Dir, "dir", "", "`directory` in the project (default: the current one)")
	f.Var(cli.Duration{To: &limit}, "for", "forget the choices after this `duration` from now, such as 8h or 7d")
	f.BoolVar(&c.Forever, "for-ever", false, "remove the time limit")
	return cmd
}

// rememberChange changes choices and prints what they are now.
func (a *app) rememberChange(ctx context.Context, ids []string, c admin.ChangedChoices, dryRun bool) error {
	return withMemory(ctx, func(m *memoryClient) error {
		var err error
		if c.IDs, err = m.wholeChoices(ctx, ids); err != nil {
			return err
		}
		if dryRun {
			return a.previewChange(ctx, m, c)
		}
		var got admin.Choices
		err = m.c.Call(ctx, admin.MethodChoicesChange, c, &got)
		if e, ok := errors.AsType[*client.Error](err); ok && e.Code == admin.CodeNoChoice {
			return cli.Failf(cli.ExitError, "permd remember list", "%s", e.Message)
		}
		if err != nil {
			return fmt.Errorf("changing choices: %w", err)
		}
		if err := a.printChoices(got.Choices); err != nil {
			return err
		}
		return a.hintUndo(got.Undo)
	})
}

// previewChange prints what choices would become.
func (a *app) previewChange(ctx context.Context, m *memoryClient, c admin.ChangedChoices) error {
	var list []admin.Preview
	for ids := range slices.Chunk(c.IDs, admin.MaxPreviews) {
		some := c
		some.IDs = ids
		got, err := choices.Previews(ctx, m.c, admin.PreviewParams{Change: &some})
		if err != nil {
			return err
		}
		list = append(list, got...)
	}
	return a.printPreviews(list, nil)
}

// printPreviews prints what would be stored.
func (a *app) printPreviews(list []admin.Preview, err error) error {
	if err != nil {
		return err
	}
	refused := 0
	for i := range list {
		if list[i].Refused != "" {
			refused++
		}
		if !a.JSON {
			choices.RenderPreview(a.Out, &list[i])
		} else if err := cli.PrintJSON(a.Out, &list[i]); err != nil {
			return err
		}
	}
	if refused > 0 {
		return cli.Failf(cli.ExitError, "permd remember add --help says what can be remembered", "nothing was stored, and %s would be refused", cli.Plural(refused, "choice"))
	}
	return nil
}
