package importing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/files"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/policy/imports"
)

// Print prints the rules, and the notes on standard error.
func (report *Report) Print(s cli.Streams) error {
	if s.JSON {
		return cli.PrintJSON(s.Out, report)
	}
	for _, f := range report.Files {
		if len(report.Files) > 1 {
			// This line is not valid in a file of rules, so that nobody takes one of two
			// files for all of the output.
			fmt.Fprintf(s.Out, "-- %s --\n", f.Name)
		}
		fmt.Fprint(s.Out, f.Text)
	}
	report.notes(s)
	return nil
}

// notes prints which files were read, and what became of their entries.
func (report *Report) notes(streams cli.Streams) {
	for _, s := range report.Read {
		where := "for every project"
		if s.Project != "" {
			where = "for the project " + s.Project
		}
		fmt.Fprintf(streams.Err, "read %s (%s)\n", s.File, where)
		if root := paths.FindProject(paths.OSFS{}, s.Project, ""); s.Project != "" && root != s.Project {
			fmt.Fprintf(streams.Err, "    the project there is %s for permd, so what it allows does not count\n", root)
		}
	}
	for _, p := range report.Absent {
		fmt.Fprintf(streams.Err, "not there: %s\n", p)
	}
	counts := make(map[imports.Outcome]int)
	for _, n := range report.Notes {
		counts[n.Outcome]++
		if n.Outcome == imports.Kept && n.Why == "" {
			continue
		}
		fmt.Fprintf(streams.Err, "%s: %s: %s\n", n.At, n.Outcome, display.Display(n.Text))
		if n.Why != "" {
			fmt.Fprintf(streams.Err, "    %s\n", display.Display(n.Why))
		}
		if n.Instead != "" {
			fmt.Fprintf(streams.Err, "    instead: %s\n", display.Display(n.Instead))
		}
	}
	var parts []string
	for _, o := range imports.Outcomes {
		if counts[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[o], o))
		}
	}
	if parts == nil {
		parts = []string{"no rules"}
	}
	fmt.Fprintf(streams.Err, "%s\n", strings.Join(parts, ", "))
}

// Write writes the rules into a folder. Existing files with other contents are not
// replaced, but their difference is shown.
func (report *Report) Write(s cli.Streams, folder string, force bool) error {
	dir, err := filepath.Abs(folder)
	if err != nil {
		return fmt.Errorf("finding the folder of rules: %w", err)
	}
	conflict := ""
	for _, f := range report.Files {
		name := filepath.Join(dir, f.Name)
		old, err := os.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			report.Written = append(report.Written, files.Change{Path: name, Action: "wrote"})
		case err != nil:
			return fmt.Errorf("reading what is there: %w", err)
		case bytes.Equal(old, []byte(f.Text)):
			report.Written = append(report.Written, files.Change{Path: name, Action: "unchanged"})
		default:
			report.Written = append(report.Written, files.Change{Path: name, Action: "wrote"})
			if !s.JSON {
				fmt.Fprintf(s.Out, "%s would change:\n", name)
				writeChange(s.Out, string(old), f.Text)
			}
			conflict = name
		}
	}
	if conflict != "" && !force {
		return cli.Failf(cli.ExitError, "choose another folder, such as "+filepath.Join(dir, string(report.Tool))+", or write over it with --force",
			"%s is there with other content; nothing was written", conflict)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of rules: %w", err)
	}
	for i, f := range report.Files {
		if report.Written[i].Action == "unchanged" {
			continue
		}
		if err := files.ReplaceUnsynced(report.Written[i].Path, []byte(f.Text)); err != nil {
			return fmt.Errorf("writing rules: %w", err)
		}
	}
	if s.JSON {
		return cli.PrintJSON(s.Out, report)
	}
	for _, f := range report.Written {
		fmt.Fprintf(s.Out, "%-9s  %s\n", f.Action, f.Path)
	}
	report.notes(s)
	return nil
}

// writeChange prints the lines that only one of two texts contains.
func writeChange(w io.Writer, old, text string) {
	before, after := strings.Split(strings.TrimSuffix(old, "\n"), "\n"), strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for _, l := range before {
		if !slices.Contains(after, l) {
			fmt.Fprintf(w, "- %s\n", display.Display(l))
		}
	}
	for _, l := range after {
		if !slices.Contains(before, l) {
			fmt.Fprintf(w, "+ %s\n", display.Display(l))
		}
	}
}
