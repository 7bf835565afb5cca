package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/socket/admin"
)

func (a *app) rememberForgetCommand() *cobra.Command {
	var f choiceFilter
	var all bool
	cmd := &cobra.Command{
		Use:   "forget CHOICE...",
		Short: "Forget choices; it holds from the next request",
		Long: `Forget choices by their ids, or all that the options name. It holds from the next
request, also when the disk is full.

` + exitCodes,
		Example: `  permd remember forget k3vq7xw2n5ab
  permd remember forget --project .
  permd remember forget --all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			named := 0
			for _, is := range []bool{len(args) > 0, all, !f.empty()} {
				if is {
					named++
				}
			}
			if named != 1 {
				return failf(exitUsage, "see permd remember list", "name the choices, or use --all, or say which by --kind, --verdict, --scope and --project")
			}
			return onMemory(func(ctx context.Context, m *memory, args []string) error {
				return a.rememberForget(ctx, m, args, &f)
			})(cmd, args)
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "forget everything")
	return cmd
}

func (a *app) rememberForget(ctx context.Context, m *memory, ids []string, f *choiceFilter) error {
	if len(ids) == 0 {
		chosen, err := m.choose(ctx, f)
		if err != nil {
			return err
		}
		for i := range chosen {
			ids = append(ids, chosen[i].ID)
		}
	}
	got, err := m.about(ctx, admin.MethodChoicesForget, ids)
	if err != nil {
		return err
	}
	if a.json {
		return a.printChoices(got.Choices)
	}
	for i := range got.Choices {
		c := &got.Choices[i]
		fmt.Fprintf(a.out, "forgotten: %s %s %s (%s)\n", c.Verdict, c.Kind, c.Rule, where(c))
		if again := undo(c); again != "" {
			fmt.Fprintf(a.err, "permd: hint: to have it back: %s\n", again)
		}
	}
	if len(got.Choices) == 0 {
		fmt.Fprintln(a.out, "nothing is remembered")
	}
	if got.Pending {
		return failf(exitError, "make space on the disk, then see: permd status",
			"it holds from now on, but could not be stored, and a restart may undo it")
	}
	return nil
}

// undo is the command that remembers a forgotten choice again, "" for one that
// only an answer can make.
func undo(c *admin.Choice) string {
	if !asLine(c) || effects.Display(c.Of) != c.Of || c.Scope != "project" && c.Scope != "user" {
		return ""
	}
	words := []string{"permd remember add"}
	if c.Verdict == decisions.Deny {
		words = append(words, "--reject")
	}
	words = append(words, c.Kind, quoteShell(c.Rule), "--scope", c.Scope)
	if c.Scope == "project" {
		words = append(words, "--dir", quoteShell(c.Of))
	}
	return strings.Join(words, " ")
}

// asLine reports whether a line of the list language says the same as the
// choice, or more strictly speaking what a person would write for it.
func asLine(c *admin.Choice) bool {
	bound := slices.ContainsFunc(c.Pins, func(p string) bool {
		return !strings.HasPrefix(p, "method class") && !strings.HasPrefix(p, "in the project")
	})
	if bound || strings.Contains(c.Rule, "***") {
		return false
	}
	if c.Kind == string(effects.KindUse) && !c.Line && (strings.Contains(c.Rule, "*") || strings.Count(c.Rule, ":") > 1) {
		return false // in a name; a line would speak of other tools
	}
	p, err := pattern.Parse(effects.Kind(c.Kind), c.Rule)
	return err == nil && (p.Run == nil || !strings.Contains(p.Run.Program, "/"))
}

func quoteShell(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (a *app) rememberConfirmCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "confirm CHOICE...",
		Short: "Make choices count that a client reported",
		Long: `Make choices count that a client reported. A client's word is enough for plain
effects; an allow of what is guarded (secrets, startup files, .git, agents'
settings) waits until you confirm it here.

` + exitCodes,
		Example: `  permd remember confirm k3vq7xw2n5ab`,
		Args:    cobra.MinimumNArgs(1),
		RunE: onMemory(func(ctx context.Context, m *memory, args []string) error {
			got, err := m.about(ctx, admin.MethodChoicesConfirm, args)
			if err != nil {
				return err
			}
			return a.printChoices(got.Choices)
		}),
	}
}

func (a *app) rememberExportCommand() *cobra.Command {
	var f choiceFilter
	cmd := &cobra.Command{
		Use:         "export",
		Annotations: onlyReads,
		Short:       "Print what is remembered as a rules.yaml",
		Long: `Print what is remembered as a rules.yaml, each line with where it holds. What no
line can say (scripts by their content, secrets, sessions) is left out, with a
comment. With --json the choices themselves are printed.

` + exitCodes,
		Example: `  permd remember export --scope user > rules.yaml`,
		Args:    cobra.NoArgs,
		RunE: onMemory(func(ctx context.Context, m *memory, _ []string) error {
			list, err := m.choose(ctx, &f)
			if err != nil {
				return err
			}
			if a.json {
				return a.printChoices(list)
			}
			a.exportRules(list)
			return nil
		}),
	}
	f.flags(cmd)
	return cmd
}

// exportRules prints choices in the form of rules.yaml.
func (a *app) exportRules(list []admin.Choice) {
	fmt.Fprintln(a.out, "# What permd remembered. A rule holds for everybody whom its file is for: read")
	fmt.Fprintln(a.out, "# each line before you use it.")
	left := 0
	for _, v := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
		head := string(v) + ":"
		for _, kind := range pattern.Kinds {
			under := "  " + string(kind) + ":"
			for i := range list {
				c := &list[i]
				if c.Verdict != v || c.Kind != string(kind) {
					continue
				}
				if !asLine(c) || c.Unconfirmed || strings.HasPrefix(c.Scope, "session") {
					left++
					continue
				}
				for _, title := range []string{head, under} {
					if title != "" {
						fmt.Fprintln(a.out, title)
					}
				}
				head, under = "", ""
				holds := where(c)
				if kind == effects.KindUse && !strings.Contains(c.Rule, "@") {
					holds += "; here in every version"
				}
				fmt.Fprintf(a.out, "    - '%s'  # %s\n", strings.ReplaceAll(c.Rule, "'", "''"), holds)
			}
		}
	}
	if left > 0 {
		fmt.Fprintf(a.out, "# Left out: %s that no line can say.\n", plural(left, "choice"))
	}
}
