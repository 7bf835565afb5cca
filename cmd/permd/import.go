package main

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

	"github.com/spf13/cobra"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/imports"
	"github.com/permd/permd/rego"
)

type importOptions struct {
	output     string
	force      bool
	project    string
	everywhere bool
	check      bool
	log        logOptions
}

func (a *app) importCommand() *cobra.Command {
	var o importOptions
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

` + exitCodes,
		Example: `  permd import claude
  permd import claude --output ~/.config/permd/policy.d/claude
  permd import zed ~/.config/zed/settings.json --check`,
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			peer := imports.Peer(args[0])
			if !slices.Contains(imports.Peers, peer) {
				return failf(exitUsage, "one of: "+strings.Join(names, ", "), "permd cannot import from %q", args[0])
			}
			report, im, err := a.importRules(peer, args[1:], &o)
			if err != nil {
				return err
			}
			switch {
			case o.check:
				return a.importCheck(cmd.Context(), report, im, &o)
			case o.output != "":
				return a.importWrite(report, im, &o)
			}
			return a.importPrint(report, im)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.output, "output", "", "write the rules into this folder")
	f.BoolVar(&o.force, "force", false, "write over files with other content")
	f.StringVar(&o.project, "project", "", "the rules hold in the project in this folder alone")
	f.BoolVar(&o.everywhere, "everywhere", false, "rules of a project's settings hold in every project")
	f.BoolVar(&o.check, "check", false, "compare with the decisions of the journal")
	f.DurationVar(&o.log.since, "since", 0, "with --check: only the last of this time, such as 24h")
	f.IntVar(&o.log.limit, "limit", 1000, "with --check: at most this many decisions")
	cmd.MarkFlagsMutuallyExclusive("project", "everywhere")
	cmd.MarkFlagsMutuallyExclusive("output", "check")
	return cmd
}

// importReport is what --json prints.
type importReport struct {
	*imports.Import
	// Absent are the usual places where there was nothing.
	Absent []string `json:"absent,omitzero"`
	// Written says what became of each file of --output.
	Written []serviceFile `json:"written,omitzero"`
	Check   *importCheck  `json:"check,omitzero"`
}

// importRules reads the settings and makes the rules.
func (a *app) importRules(peer imports.Peer, named []string, o *importOptions) (*importReport, *imports.Import, error) {
	home := (&users{}).user(uint32(os.Geteuid())).Home
	files, absent, err := importFiles(peer, named, home)
	if err != nil {
		return nil, nil, err
	}
	if len(files) == 0 {
		return nil, nil, failf(exitError, "name the file: permd import "+string(peer)+" FILE", "there are no settings of %s at %s", peer.Name(), strings.Join(absent, ", "))
	}
	opts := imports.Options{Home: home, Everywhere: o.everywhere}
	if o.project != "" {
		if opts.Project, err = filepath.Abs(o.project); err != nil {
			return nil, nil, fmt.Errorf("finding the project: %w", err)
		}
	}
	if opts.Table, err = programs.ParseTable(rego.Programs()); err != nil {
		return nil, nil, fmt.Errorf("reading the program table: %w", err)
	}
	if opts.Profiles, err = tools.ParseProfiles(rego.Profiles()); err != nil {
		return nil, nil, fmt.Errorf("reading the agent profiles: %w", err)
	}
	im, err := imports.Translate(peer, files, opts)
	if err != nil {
		return nil, nil, err
	}
	if err := checkImported(im); err != nil {
		return nil, nil, err
	}
	return &importReport{Import: im, Absent: absent}, im, nil
}

// checkImported compiles the rules as the daemon would, before anybody uses them.
func checkImported(im *imports.Import) error {
	if len(im.Files) == 0 {
		return nil
	}
	dir, err := writeScratch(im)
	if dir != "" {
		defer removeScratch(dir, im)
	}
	if err != nil {
		return err
	}
	report, err := policy.Folder{Dir: dir, Layer: decisions.User, Schema: rego.InputSchema()}.Check()
	if err != nil {
		return policyFailure(err)
	}
	if !report.Passed() {
		return failf(exitCompile, "please report it with the settings", "the imported rules do not compile: %s", report.Problems[0].Text)
	}
	return nil
}

// writeScratch writes the rules into a folder of their own.
func writeScratch(im *imports.Import) (string, error) {
	dir, err := os.MkdirTemp("", "permd-import-")
	if err != nil {
		return "", fmt.Errorf("making a folder for the rules: %w", err)
	}
	for _, f := range im.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(f.Text), 0o600); err != nil {
			return dir, fmt.Errorf("writing rules: %w", err)
		}
	}
	return dir, nil
}

func removeScratch(dir string, im *imports.Import) {
	for _, f := range im.Files {
		_ = os.Remove(filepath.Join(dir, f.Name)) // what is left lies in the folder of temporary files
	}
	_ = os.Remove(dir)
}

// importPrint prints the rules, and what became of each on standard error.
func (a *app) importPrint(report *importReport, im *imports.Import) error {
	if a.json {
		return printIndented(a.out, report)
	}
	for _, f := range im.Files {
		if len(im.Files) > 1 {
			// With such a line the output is no file of rules, so that nobody takes
			// one half for the whole.
			fmt.Fprintf(a.out, "-- %s --\n", f.Name)
		}
		fmt.Fprint(a.out, f.Text)
	}
	a.importNotes(report)
	return nil
}

// importNotes says what was read and what became of it.
func (a *app) importNotes(report *importReport) {
	for _, s := range report.Read {
		where := "for every project"
		if s.Project != "" {
			where = "for the project " + s.Project
		}
		fmt.Fprintf(a.err, "read %s (%s)\n", s.File, where)
		if root := paths.FindProject(paths.OSFS{}, s.Project, ""); s.Project != "" && root != s.Project {
			fmt.Fprintf(a.err, "    the project there is %s for permd, so what it allows does not count\n", root)
		}
	}
	for _, p := range report.Absent {
		fmt.Fprintf(a.err, "not there: %s\n", p)
	}
	counts := map[imports.Outcome]int{}
	for _, n := range report.Notes {
		counts[n.Outcome]++
		if n.Outcome == imports.Kept && n.Why == "" {
			continue
		}
		fmt.Fprintf(a.err, "%s: %s: %s\n", n.At, n.Outcome, display.Display(n.Text))
		if n.Why != "" {
			fmt.Fprintf(a.err, "    %s\n", display.Display(n.Why))
		}
		if n.Instead != "" {
			fmt.Fprintf(a.err, "    instead: %s\n", display.Display(n.Instead))
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
	fmt.Fprintf(a.err, "%s\n", strings.Join(parts, ", "))
}

// importWrite writes the rules into a folder. What is there with other content
// stays, and is shown.
func (a *app) importWrite(report *importReport, im *imports.Import, o *importOptions) error {
	dir, err := filepath.Abs(o.output)
	if err != nil {
		return fmt.Errorf("finding the folder of rules: %w", err)
	}
	conflict := ""
	for _, f := range im.Files {
		name := filepath.Join(dir, f.Name)
		old, err := os.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			report.Written = append(report.Written, serviceFile{name, "wrote"})
		case err != nil:
			return fmt.Errorf("reading what is there: %w", err)
		case bytes.Equal(old, []byte(f.Text)):
			report.Written = append(report.Written, serviceFile{name, "unchanged"})
		default:
			report.Written = append(report.Written, serviceFile{name, "wrote"})
			if !a.json {
				fmt.Fprintf(a.out, "%s would change:\n", name)
				writeChange(a.out, string(old), f.Text)
			}
			conflict = name
		}
	}
	if conflict != "" && !o.force {
		return failf(exitError, "choose another folder, such as "+filepath.Join(dir, string(im.Peer))+", or write over it with --force",
			"%s is there with other content; nothing was written", conflict)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of rules: %w", err)
	}
	for i, f := range im.Files {
		if report.Written[i].Action == "unchanged" {
			continue
		}
		if err := replaceFile(report.Written[i].Path, []byte(f.Text)); err != nil {
			return fmt.Errorf("writing rules: %w", err)
		}
	}
	if a.json {
		return printIndented(a.out, report)
	}
	for _, f := range report.Written {
		fmt.Fprintf(a.out, "%-9s  %s\n", f.Action, f.Path)
	}
	a.importNotes(report)
	return nil
}

// writeChange shows the lines that are only in one of two texts.
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
