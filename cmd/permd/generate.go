package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/manpage"
)

// generateCommand is for packagers. Its output depends on the program only, so
// builds are reproducible.
func (a *app) generateCommand() *cobra.Command {
	cmd := group("generate", "Write manual pages and shell completions",
		"Write the files that a package of permd installs in addition to the program.",
		`  permd generate man out/man1
  permd generate completion out/completions`,
		&cobra.Command{
			Use:   "man DIR",
			Short: "Write a manual page for each command",
			Long: `Write a manual page for each command to DIR, creating it if necessary.

` + cli.ExitCodes,
			Example: `  permd generate man out/man1`,
			Args:    cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				var files []generatedFile
				for _, p := range manpage.Pages(cmd.Root()) {
					files = append(files, generatedFile{p.Name, func(w io.Writer) error {
						_, err := w.Write(p.Text)
						return err
					}})
				}
				return generateInto(args[0], files)
			},
		},
		&cobra.Command{
			Use:   "completion DIR",
			Short: "Write completion scripts for bash, zsh and fish",
			Long: `Write permd.bash, _permd (for zsh) and permd.fish to DIR, creating it if
necessary.

` + cli.ExitCodes,
			Example: `  permd generate completion out/completions`,
			Args:    cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				var files []generatedFile
				for _, s := range shellCompletions {
					files = append(files, generatedFile{s.file, func(w io.Writer) error { return writeCompletion(cmd.Root(), s.shell, w) }})
				}
				return generateInto(args[0], files)
			},
		},
	)
	cmd.Hidden = true
	return cmd
}

// generatedFile is a file to write.
type generatedFile struct {
	name  string
	write func(io.Writer) error
}

func generateInto(dir string, files []generatedFile) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // pages for all users of the machine
		return fmt.Errorf("making the folder: %w", err)
	}
	for _, g := range files {
		f, err := os.Create(filepath.Join(dir, g.name))
		if err != nil {
			return fmt.Errorf("writing %s: %w", g.name, err)
		}
		err = g.write(f)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fmt.Errorf("writing %s: %w", g.name, err)
		}
	}
	return nil
}
