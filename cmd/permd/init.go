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
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/xdg"
)

// initial is what a new configuration begins with. Nothing in it allows
// anything.
//
//go:embed initial
var initial embed.FS

// initialRules are the files of the rules' folder.
var initialRules = []string{"rules.yaml", "example.rego", "example_test.rego"}

// initReport is what was made. Its JSON form is kept.
type initReport struct {
	Files []files.Change `json:"files"` // actions: wrote, kept
	Next  []string       `json:"next"`
}

func (a *app) initCommand() *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a first configuration to change",
		Long: `Write settings with all keys and their defaults, and first rules with a test,
into ~/.config/permd. Nothing in them allows anything: what to allow is there to
be uncommented.

With --project, write .permd/rules.yaml of the project of this folder instead:
what everybody who works in it is asked or denied.

What exists is kept: a permd.toml as it is, and a folder of rules with anything
in it whole, since a rule that is added to others changes what they mean.

` + cli.ExitCodes,
		Example: `  permd init
  permd init --project`,
		Args: cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			return a.initialise(project)
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "write the rules of the project of this folder")
	return cmd
}

// initialise writes a first configuration, or that of a project.
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
		return cli.PrintIndented(a.Out, report)
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

// writeProject writes the list of the project that the working directory belongs
// to.
func writeProject() (*initReport, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding the working directory: %w", err)
	}
	home := (&account.Users{}).Lookup(uint32(os.Geteuid())).Home
	root := effects.FindProject(effects.OSFS{}, cwd, home)
	if root == "" {
		return nil, cli.Failf(cli.ExitError, "run it in the folder of a project", "%s is no project: a home or a system folder never is", cwd)
	}
	dir := filepath.Join(root, ".permd")
	if err := os.MkdirAll(dir, 0o755); err != nil {
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

// writeInitial writes what is not there yet.
func writeInitial(dirs xdg.Dirs) (*initReport, error) {
	if err := os.MkdirAll(dirs.Config, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of settings: %w", err)
	}
	report := &initReport{Next: []string{
		"permd policy check       # what permd makes of your rules",
		"permd policy test        # their tests, which permd runs before it uses them",
		"permd serve              # or, to keep it running: permd service install",
		"permd doctor             # what is not as it should be",
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

// writeRules makes the folder of rules, beside its place and then at once: a
// daemon that runs must not see half of them. The error is fs.ErrExist if there
// is a folder with something in it, or anything else of that name.
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
			_ = os.Remove(filepath.Join(made, name)) // what is not there need not go
		}
		err = errors.Join(err, os.Remove(made))
	}()
	for _, name := range initialRules {
		if err := writeNew(filepath.Join(made, name), name); err != nil {
			return err
		}
	}
	// It removes an empty folder only.
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(made, dir)
}

// writeNew writes an initial file where there is none; else the error is
// fs.ErrExist.
func writeNew(file, name string) error { return writeInitialFile(file, name, 0o600) }

func writeInitialFile(file, name string, mode fs.FileMode) (err error) {
	data, err := initial.ReadFile(path.Join("initial", name))
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
