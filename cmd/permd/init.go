package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/files"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/xdg"
)

// initialFiles holds the files of a starter configuration. None of them allows
// anything.
//
//go:embed initial
var initialFiles embed.FS

// initialRules are the files written to policy.d.
var initialRules = []string{"rules.yaml", "example.rego", "example_test.rego"}

// initReport is the output of permd init. Its JSON form is stable.
type initReport struct {
	Files []files.Change `json:"files"` // actions: wrote, kept
	Next  []string       `json:"next"`
}

func (a *app) initCommand() *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a starter configuration",
		Long: `Write a permd.toml with every setting and its default, and example rules with a
test, to ~/.config/permd. The examples allow nothing until you uncomment them.

With --project, write .permd/rules.yaml for the project of the current directory
instead: rules that ask or deny for everyone who works on it.

Existing files are never changed: permd.toml is skipped if it exists, and the
rules are skipped if policy.d is not empty.

` + cli.ExitCodes,
		Example: `  permd init
  permd init --project`,
		Args: cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			return a.initialise(project)
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "write rules for the project of the current directory")
	return cmd
}

// initialise writes a starter configuration for the user or for a project.
func (a *app) initialise(project bool) error {
	dirs, err := account.OwnDirs(a.root)
	if err != nil {
		return err
	}
	var report *initReport
	if project {
		report, err = writeProject()
	} else {
		report, err = writeInitial(dirs)
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return cli.PrintJSON(a.Out, report)
	}
	for _, f := range report.Files {
		fmt.Fprintf(a.Out, "%-5s  %s\n", f.Action, f.Path)
	}
	fmt.Fprintf(a.Out, "\nTo try next:\n")
	for _, n := range report.Next {
		fmt.Fprintf(a.Out, "  %s\n", n)
	}
	return nil
}

// writeProject writes the rules of the project that contains the working
// directory.
func writeProject() (*initReport, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding the working directory: %w", err)
	}
	home := (&account.Users{}).Lookup(uint32(os.Geteuid())).Home
	root := paths.FindProject(paths.OSFS{}, cwd, home)
	if root == "" {
		return nil, cli.Failf(cli.ExitError, "run it in the folder of a project", "%s is no project: a home or a system folder never is", cwd)
	}
	dir := filepath.Join(root, ".permd")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as the folders of the project are
		return nil, fmt.Errorf("making the folder of the project's rules: %w", err)
	}
	list := files.Change{Path: filepath.Join(dir, "rules.yaml"), Action: "wrote"}
	switch err := writeInitialFile(list.Path, "project.yaml", 0o644); {
	case errors.Is(err, fs.ErrExist):
		list.Action = "kept"
	case err != nil:
		return nil, fmt.Errorf("writing rules: %w", err)
	}
	return &initReport{Files: []files.Change{list}, Next: []string{
		"permd policy check --layer project " + cli.Quote(dir),
		"permd explain --local FILE   # what they change",
	}}, nil
}

// writeInitial writes the files that do not exist yet.
func writeInitial(dirs xdg.Dirs) (*initReport, error) {
	if err := os.MkdirAll(dirs.Config, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of settings: %w", err)
	}
	report := &initReport{Next: []string{
		"permd policy check       # check your rules",
		"permd policy test        # run their tests; permd uses no rules whose tests fail",
		"permd serve              # or, to keep it running: permd service install",
		"permd doctor             # diagnose problems",
	}}
	settings := files.Change{Path: filepath.Join(dirs.Config, account.SettingsName), Action: "wrote"}
	switch err := writeNew(settings.Path, account.SettingsName); {
	case errors.Is(err, fs.ErrExist):
		settings.Action = "kept"
	case err != nil:
		return nil, fmt.Errorf("writing settings: %w", err)
	}
	report.Files = append(report.Files, settings)

	rules := filepath.Join(dirs.Config, account.PolicyDir)
	switch err := writeRules(rules); {
	case errors.Is(err, fs.ErrExist):
		report.Files = append(report.Files, files.Change{Path: rules, Action: "kept"})
		return report, nil
	case err != nil:
		return nil, fmt.Errorf("writing rules: %w", err)
	}
	for _, name := range initialRules {
		report.Files = append(report.Files, files.Change{Path: filepath.Join(rules, name), Action: "wrote"})
	}
	return report, nil
}

// writeRules creates the directory of rules. It fills a temporary directory and
// renames it, so that a running daemon never sees half of the rules. The error is
// fs.ErrExist if dir exists and is not an empty directory.
func writeRules(dir string) (err error) {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		return fs.ErrExist
	}
	if err == nil {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			return fs.ErrExist
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	made, err := os.MkdirTemp(filepath.Dir(dir), "."+account.PolicyDir+"-")
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		for _, name := range initialRules {
			_ = os.Remove(filepath.Join(made, name)) // it may not exist
		}
		err = errors.Join(err, os.Remove(made))
	}()
	for _, name := range initialRules {
		if err := writeNew(filepath.Join(made, name), name); err != nil {
			return err
		}
	}
	// Remove fails for a directory that has been filled meanwhile.
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(made, dir)
}

// writeNew writes an initial file. The error is fs.ErrExist if file exists.
func writeNew(file, name string) error { return writeInitialFile(file, name, 0o600) }

func writeInitialFile(file, name string, mode fs.FileMode) (err error) {
	data, err := initialFiles.ReadFile(path.Join("initial", name))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}
