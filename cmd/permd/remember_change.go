package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
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
		for _, p := range partsOf(c) {
			fmt.Fprintf(a.out, "forgotten: %s %s %s (%s)\n", c.Verdict, p.Kind, p.Rule, where(c))
		}
		for _, again := range undo(c) {
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

// undo are the commands that remember a forgotten choice again, none for one that
// only an answer can make. What they make holds for the same effects, no others.
func undo(c *admin.Choice) []string {
	if display.Display(c.Of) != c.Of || c.Scope != "project" && c.Scope != "user" || c.Changed != "" {
		return nil
	}
	var commands []string
	for _, p := range partsOf(c) {
		// The facts of an allow are more than a line says, but for a file.
		exact := c.Verdict == decisions.Deny || p.Line || p.Kind == "read" || p.Kind == "write" || p.Kind == "delete"
		if !exact || !asLine(c, p) {
			return nil // all of it or nothing
		}
		words := []string{"permd remember add"}
		if c.Verdict == decisions.Deny {
			words = append(words, "--reject")
		}
		words = append(words, p.Kind, quoteShell(p.Rule), "--scope", c.Scope)
		if c.Scope == "project" {
			words = append(words, "--dir", quoteShell(c.Of))
		}
		commands = append(commands, strings.Join(words, " "))
	}
	return commands
}

// asLine reports whether a line of the list language says the same as a part of
// the choice, or more strictly speaking what a person would write for it.
func asLine(c *admin.Choice, part admin.ChoicePart) bool {
	bound := slices.ContainsFunc(c.Pins, func(p string) bool {
		return !strings.HasPrefix(p, "in the project") && p != moreOptions
	})
	if bound || strings.Contains(part.Rule, "***") || len(c.Parts) > 0 && !part.Line {
		return false
	}
	if part.Kind == string(effects.KindUse) && !part.Line && (strings.Contains(part.Rule, "*") || strings.Count(part.Rule, ":") > 1) {
		return false // in a name; a line would speak of other tools
	}
	if !part.Line && c.Scope == "user" && strings.HasPrefix(part.Rule, "./") {
		return false // an earlier permd did not say in which project that is
	}
	p, err := pattern.Parse(effects.Kind(part.Kind), part.Rule)
	return err == nil && (p.Run == nil || c.Verdict == decisions.Deny || !strings.Contains(p.Run.Program, "/"))
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

A reject of an earlier permd that asks (permd remember list --changed) denies
what its lines speak of once it is confirmed.

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
	left := map[string]bool{} // by id
	for _, v := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
		head := string(v) + ":"
		for _, kind := range pattern.Kinds {
			under := "  " + string(kind) + ":"
			for _, part := range exported(list, v, kind) {
				c := part.of
				line, placed := inPlace(c, part.ChoicePart)
				if !placed || !asLine(c, part.ChoicePart) || c.Unconfirmed || c.Changed != "" || strings.HasPrefix(c.Scope, "session") {
					left[c.ID] = true
					continue
				}
				for _, title := range []string{head, under} {
					if title != "" {
						fmt.Fprintln(a.out, title)
					}
				}
				head, under = "", ""
				holds := where(c)
				if kind == effects.KindUse && !strings.Contains(part.Rule, "@") {
					holds += "; here in every version"
				}
				fmt.Fprintf(a.out, "    - '%s'  # %s\n", strings.ReplaceAll(line, "'", "''"), holds)
			}
		}
	}
	for i := range list {
		// Text that is not understood is of no kind that a list has.
		if slices.ContainsFunc(partsOf(&list[i]), func(p admin.ChoicePart) bool { return !slices.Contains(pattern.Kinds, effects.Kind(p.Kind)) }) {
			left[list[i].ID] = true
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(a.out, "# Left out: all or a part of %s that no line can say.\n", plural(len(left), "choice"))
	}
}

// exportPart is a part of a choice.
type exportPart struct {
	admin.ChoicePart
	of *admin.Choice
}

// exported are the parts of a kind and a verdict.
func exported(list []admin.Choice, v decisions.Verdict, kind effects.Kind) (parts []exportPart) {
	for i := range list {
		for _, p := range partsOf(&list[i]) {
			if list[i].Verdict == v && p.Kind == string(kind) {
				parts = append(parts, exportPart{p, &list[i]})
			}
		}
	}
	return parts
}

// inPlace is a line as it holds outside of the project that its choice is for: a
// path in the project is named by where it is. A rule is for every project, and
// the ./ of one means each project's own. It is false for a folder whose name a
// line would have to quote.
func inPlace(c *admin.Choice, part admin.ChoicePart) (string, bool) {
	rest, ok := strings.CutPrefix(part.Rule, "./")
	if !ok || c.Scope != "project" {
		return part.Rule, true
	}
	if part.Kind == string(effects.KindRun) && strings.Trim(c.Of, unquoted) != "" {
		return "", false
	}
	p, err := pattern.Parse(effects.Kind(part.Kind), path.Join("/", pathEscaper.Replace(c.Of))+"/"+rest)
	if err != nil {
		return "", false
	}
	return p.String(), true
}

// unquoted are the characters of a folder that no line quotes.
const unquoted = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"

// pathEscaper makes a folder's name stand for itself in a line.
var pathEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)
