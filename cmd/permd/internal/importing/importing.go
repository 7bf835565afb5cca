// Package importing converts the permission settings of other tools to rules: it finds
// the settings, translates them with policy/imports, and writes the rules or compares
// both on past decisions.
package importing

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/files"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy/imports"
	"github.com/permd/permd/rego"
)

// Report is the output of permd import.
type Report struct {
	*imports.Import
	// Absent are the usual places that do not exist.
	Absent []string `json:"absent,omitzero"`
	// Written says what was done with each file of --output.
	Written []files.Change `json:"written,omitzero"`
	Check   *Comparison    `json:"check,omitzero"`
}

// Options are the options of an import.
type Options struct {
	Project    string // the rules apply only to the project in this folder
	Everywhere bool   // rules from a project's settings apply to every project
}

// Read converts the settings of a tool in the named files and folders, or in the usual
// places.
func Read(ctx context.Context, tool imports.Tool, named []string, o Options) (*Report, error) {
	home := (&account.Users{}).Lookup(uint32(os.Geteuid())).Home
	files, absent, err := importFiles(tool, named, home)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, cli.Failf(cli.ExitError, "name the file: permd import "+string(tool)+" FILE", "there are no settings of %s at %s", tool.Name(), strings.Join(absent, ", "))
	}
	opts := imports.Options{Home: home, Everywhere: o.Everywhere}
	if o.Project != "" {
		if opts.Project, err = filepath.Abs(o.Project); err != nil {
			return nil, fmt.Errorf("finding the project: %w", err)
		}
	}
	if opts.Table, err = programs.Shipped(); err != nil {
		return nil, fmt.Errorf("reading the program table: %w", err)
	}
	if opts.Profiles, err = tools.ParseProfiles(rego.Profiles()); err != nil {
		return nil, fmt.Errorf("reading the agent profiles: %w", err)
	}
	im, err := imports.Translate(tool, files, opts)
	if err != nil {
		return nil, err
	}
	if err := checkImported(ctx, im); err != nil {
		return nil, err
	}
	return &Report{Import: im, Absent: absent}, nil
}
