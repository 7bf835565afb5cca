package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

func (a *app) rememberUndoCommand() *cobra.Command {
	var list, preview bool
	cmd := &cobra.Command{
		Use:   "undo [CHANGE...]",
		Short: "Take back changes of remembered choices",
		Long: `Take back changes of remembered choices, those with the given ids: what was
added is forgotten, and what was forgotten is in force again, under its former
id and bound to what it was bound to. Answers of "always", permd remember add,
change, forget and import are changes, and so is an undo: undo it by its id to
have the change again. Without an id, take back the last change that is in
effect and is no undo itself. --list shows the last 20.

A choice stays forgotten if its time has passed, its session is over or an equal
choice is in force; and the text of a script that it is bound to, which was
erased when it was forgotten, is not shown again. A change that a later one
depends on is taken back after that.

` + cli.ExitCodes,
		Example: `  permd remember undo
  permd remember undo --list
  permd remember undo k3vq7xw2n5ab`,
		ValidArgsFunction: a.completeChanges,
		RunE: func(cmd *cobra.Command, args []string) error {
			if list && (preview || len(args) > 0) {
				return cli.Failf(cli.ExitUsage, "leave the rest out", "--list takes back nothing")
			}
			return withMemory(cmd.Context(), func(m *memoryClient) error {
				if list {
					return a.rememberHistory(cmd.Context(), m)
				}
				return a.rememberUndo(cmd.Context(), m, args, preview)
			})
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the last changes, newest first")
	cmd.Flags().BoolVar(&preview, "dry-run", false, "say what would be taken back, and change nothing")
	return cmd
}

// history returns the last changes.
func (m *memoryClient) history(ctx context.Context) ([]admin.PastChange, error) {
	var past admin.Past
	if err := m.c.Call(ctx, admin.MethodChoicesHistory, struct{}{}, &past); err != nil {
		return nil, fmt.Errorf("listing changes: %w", err)
	}
	return past.Changes, nil
}

// rememberHistory prints the last changes.
func (a *app) rememberHistory(ctx context.Context, m *memoryClient) error {
	list, err := m.history(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return cli.PrintJSONLines(a.Out, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Out, "no choice was changed")
	}
	w := cli.Folded(a.Out, 8)
	for i := range list {
		c := &list[i]
		words := c.What
		if c.Undoes != "" {
			words += " of " + c.Undoes
		}
		fmt.Fprintf(w, "%s  %s  %s\n", c.ID, c.Time.Local().Format("2006-01-02 15:04:05"), words)
		for n := range c.Choices {
			a.printPast("    ", cli.Either(c.Choices[n].Ended, "-", "+"), &c.Choices[n])
		}
		if c.More > 0 {
			fmt.Fprintf(w, "    and %s more\n", cli.Plural(c.More, "choice"))
		}
		switch {
		case c.UndoneBy != "":
			fmt.Fprintf(w, "    taken back by %s\n", c.UndoneBy)
		case c.Refused != "":
			fmt.Fprintf(w, "    cannot be taken back: %s\n", display.Display(c.Refused))
		}
	}
	return nil
}

// printPast prints the parts of a choice that a change was about.
func (a *app) printPast(indent, sign string, c *admin.PastChoice) {
	for _, p := range choices.Parts(&c.Choice) {
		until := ""
		if !c.Expires.IsZero() {
			until = ", until " + c.Expires.Local().Format("2006-01-02 15:04:05")
		}
		fmt.Fprintf(cli.Folded(a.Out, len(indent)+4), "%s%s %s %s %s (%s%s)\n", indent, sign, c.Verdict, p.Kind, cli.Clip(p.Rule, 200), choices.Scope(&c.Choice), until)
	}
}

// rememberUndo takes back changes one after the other, the last one if none is named.
func (a *app) rememberUndo(ctx context.Context, m *memoryClient, typed []string, preview bool) error {
	ids := []string{""}
	if len(typed) > 0 {
		list, err := m.history(ctx)
		if err != nil {
			return err
		}
		known := make([]string, len(list))
		for i := range list {
			known[i] = list[i].ID
		}
		ids = make([]string, len(typed))
		for i, t := range typed {
			if ids[i], err = whole(t, known, "change"); err != nil {
				return err
			}
		}
	}
	for _, id := range ids {
		var done admin.Undone
		err := m.c.Call(ctx, admin.MethodChoicesUndo, admin.Undo{ID: id, Preview: preview}, &done)
		if e, ok := errors.AsType[*client.Error](err); ok {
			return cli.Failf(cli.ExitError, "permd remember undo --list", "%s", e.Message)
		}
		if err != nil {
			return fmt.Errorf("taking back a change: %w", err)
		}
		if err := a.printUndone(&done); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printUndone(u *admin.Undone) error {
	if a.JSON {
		return cli.PrintJSON(a.Out, u)
	}
	preview := u.ID == ""
	fmt.Fprintf(a.Out, "%s: %s %s of %s\n", cli.Either(preview, "to be taken back", "taken back"), u.What, u.ChangeID, u.Time.Local().Format("2006-01-02 15:04:05"))
	for i := range u.Ended {
		a.printPast("  ", cli.Either(preview, "would be forgotten:", "forgotten:"), &u.Ended[i])
	}
	for i := range u.Restored {
		c := &u.Restored[i]
		a.printPast("  ", cli.Either(preview, "would hold again:", "holds again:"), c)
		if c.Erased {
			fmt.Fprintln(cli.Folded(a.Out, 4), "    "+erased(&c.Choice))
		}
	}
	for i := range u.NotRestored {
		c := &u.NotRestored[i]
		a.printPast("  ", "stays forgotten:", c)
		fmt.Fprintf(cli.Folded(a.Out, 4), "    %s\n", display.Display(c.Why))
	}
	if preview {
		return nil
	}
	return a.hintUndo([]string{u.ID})
}

// erased says what is not back of a choice that is in force again.
func erased(c *admin.Choice) string {
	if c.BoundTo == "" {
		return "its line may have held a secret, and is not shown again"
	}
	return "still bound to " + display.Display(c.BoundTo) + "; its old text cannot be shown"
}

// hintUndo says how changes are taken back; with --json in an object of their ids.
func (a *app) hintUndo(ids []string) error {
	switch {
	case len(ids) == 0:
	case a.JSON:
		return cli.PrintJSON(a.Out, map[string][]string{"undo": ids})
	default:
		fmt.Fprintf(a.Err, "permd: hint: to undo this: permd remember undo %s\n", strings.Join(ids, " "))
	}
	return nil
}
