package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Annotations: cli.ReadsOnly,
		Short:       "Print version and build information",
		Long: `Print the version of permd, the revision it was built from, and the versions of
Go and Open Policy Agent. Include the output in bug reports.

` + cli.ExitCodes,
		Example: `  permd version
  permd version --json`,
		Args: cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			return a.version()
		},
	}
}

// version prints the build information.
func (a *app) version() error {
	b := buildinfo.Read()
	if a.JSON {
		return cli.PrintJSON(a.Out, b)
	}
	fmt.Fprintf(a.Out, "permd %s\n", b.Version)
	if b.Revision != "" {
		modified := ""
		if b.Modified {
			modified = ", with uncommitted changes"
		}
		fmt.Fprintf(a.Out, "  revision  %s%s\n  from      %s\n", b.Revision, modified, b.Time)
	}
	fmt.Fprintf(a.Out, "  go        %s %s\n", b.Go, b.Platform)
	if b.OPA != "" {
		fmt.Fprintf(a.Out, "  opa       %s\n", b.OPA)
	}
	return nil
}
