package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/socket/admin"
)

// maxImport bounds a file of choices, in bytes.
const maxImport = 32 << 20

func (a *app) rememberExportCommand() *cobra.Command {
	var f choiceFilter
	format := "rules"
	cmd := &cobra.Command{
		Use:         "export [CHOICE...]",
		Annotations: cli.ReadsOnly,
		Short:       "Print remembered choices as rules",
		Long: `Print remembered choices in the format of rules.yaml, each with a comment that
says where it applies: those with the given ids, or all that match the options.
Choices that no line can express (about script contents, secrets or sessions,
or with a time limit) are left out; a comment counts them.

With --format rego, print a file of rules in Rego that decide as the choices do,
also where they apply; a comment for each that is left out says why. With
--format jsonl, as with --json, print the choices themselves.

` + cli.ExitCodes,
		Example: `  permd remember export --scope user > rules.yaml
  permd remember export --format rego > remembered.rego`,
		ValidArgsFunction: a.completeChoices,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && !f.empty() {
				return cli.Failf(cli.ExitUsage, "leave one of them out", "ids of choices and a filter exclude each other")
			}
			if !slices.Contains(exportFormats, format) {
				return cli.Failf(cli.ExitUsage, "one of: "+strings.Join(exportFormats, ", "), "unknown format %q", format)
			}
			return a.rememberExport(cmd.Context(), args, f, format)
		},
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&format, "format", format, "`format`: "+strings.Join(exportFormats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(exportFormats, noFiles)) // it is not registered twice
	return cmd
}

// exportFormats are the formats of an export of choices.
var exportFormats = []string{"rules", "rego", "jsonl"}

// rememberExport prints choices in a format: those with the ids, or without any, those that match.
func (a *app) rememberExport(ctx context.Context, ids []string, f choiceFilter, format string) error {
	return withMemory(ctx, func(m *memoryClient) error {
		list, err := m.chosen(ctx, ids, &f)
		if err != nil {
			return err
		}
		switch {
		case a.JSON, format == "jsonl":
			return cli.PrintJSONLines(a.Out, list)
		case format == "rego":
			table, err := programs.Shipped()
			if err != nil {
				return fmt.Errorf("reading the program table: %w", err)
			}
			return choices.ExportRego(a.Out, list, table)
		}
		choices.Export(a.Out, list)
		return nil
	})
}

// chosen returns the choices with the ids, or without any, those that match the filter.
func (m *memoryClient) chosen(ctx context.Context, ids []string, f *choiceFilter) ([]admin.Choice, error) {
	if len(ids) == 0 {
		return m.choose(ctx, f, false)
	}
	ids, err := m.wholeChoices(ctx, ids)
	if err != nil {
		return nil, err
	}
	got, err := m.callWithIDs(ctx, admin.MethodChoicesShow, ids)
	return got.Choices, err
}

func (a *app) rememberImportCommand() *cobra.Command {
	o := admin.NewChoice{Scope: "project"}
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Add the choices of a file",
		Long: `Add the choices of a file (- for standard input), as permd remember add would.
Each 1,000 of them are one change; the undo command that is printed names all.
The file is what permd remember export prints: with --json, each choice gets the
scope, the project and the rest of the time that it had; a rules.yaml says none
of these, so that its allow and deny entries hold in the project of the current
directory, or everywhere with --scope user.

Left out, each with the reason, is what would not be the same: choices of
sessions, bound to content, not confirmed, or for a project that is not here.
With --dry-run, nothing is stored, and what would be is shown.

` + cli.ExitCodes,
		Example: `  permd remember import choices.jsonl
  permd remember import rules.yaml --scope user`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Scope != "project" && o.Scope != "user" {
				return cli.Failf(cli.ExitUsage, "one of: project, user", "unknown scope %q", o.Scope)
			}
			var err error
			if o.Dir, err = filepath.Abs(o.Dir); err != nil {
				return fmt.Errorf("finding the folder: %w", err)
			}
			data, err := a.readImport(args[0])
			if err != nil {
				return err
			}
			if choices.SaysScopes(data) && (cmd.Flags().Changed("scope") || cmd.Flags().Changed("dir")) {
				return cli.Failf(cli.ExitUsage, "leave --scope and --dir out; permd remember change gives choices another scope", "each choice of this file has a scope of its own")
			}
			return a.rememberImport(cmd.Context(), data, &o, dryRun)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&dryRun, "dry-run", false, "store nothing, and show what would be")
	f.StringVar(&o.Scope, "scope", o.Scope, "`scope` of the entries of a rules.yaml: project or user")
	f.StringVar(&o.Dir, "dir", "", "`directory` in the project of a rules.yaml (default: the current one)")
	return cmd
}

func (a *app) readImport(name string) ([]byte, error) {
	in := a.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("reading choices: %w", err)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxImport+1))
	if err != nil {
		return nil, fmt.Errorf("reading choices: %w", err)
	}
	if len(data) > maxImport {
		return nil, cli.Failf(cli.ExitError, "import it in parts", "the file is longer than %d bytes", maxImport)
	}
	return data, nil
}

// rememberImport adds the choices of a file.
func (a *app) rememberImport(ctx context.Context, data []byte, o *admin.NewChoice, dryRun bool) error {
	p, err := choices.ParseImport(data, o, time.Now())
	if err != nil {
		return err
	}
	method := cli.Either(dryRun, admin.MethodChoicesTryImport, admin.MethodChoicesImport)
	return withMemory(ctx, func(m *memoryClient) error {
		var done admin.Imported
		seen := map[[6]string]bool{}
		for start := 0; start < len(p.Choices); start += admin.MaxList {
			var got admin.Imported
			part := p.Choices[start:min(len(p.Choices), start+admin.MaxList)]
			if err := m.c.Call(ctx, method, map[string]any{"choices": part}, &got); err != nil {
				return fmt.Errorf("importing choices: %w", err)
			}
			for _, c := range got.Choices { // equal lines are one choice
				key := [...]string{c.ID, string(c.Verdict), c.Kind, c.Rule, c.Scope, c.Of}
				if !seen[key] {
					seen[key] = true
					done.Choices = append(done.Choices, c)
				}
			}
			done.Undo = append(done.Undo, got.Undo...)
			for _, r := range got.Refused {
				p.LeaveOut(p.Words[start+r.Index], r.Why)
			}
		}
		if dryRun && !a.JSON {
			for i := range done.Choices {
				choices.RenderChoice(a.Out, &done.Choices[i])
			}
		} else if err := a.printAdded(done.Choices); err != nil {
			return err
		}
		if len(p.Choices)+len(p.LeftOut) == 0 && !a.JSON {
			fmt.Fprintln(a.Out, "the file has no choices")
		}
		for _, words := range p.LeftOut {
			if a.JSON {
				if err := cli.PrintJSON(a.Out, map[string]string{"leftOut": words}); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(cli.Folded(a.Err, 4), "permd: left out: %s\n", words)
		}
		return a.hintUndo(done.Undo)
	})
}
