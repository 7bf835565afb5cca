// Package policies holds the commands that work on folders of rules: permd policy check,
// test and list.
package policies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/rego"
)

// Commands is what the commands take from the program that they are part of.
type Commands struct {
	*cli.Streams
	// Dirs returns permd's directories, and Root the prefix of /etc and /var, "" for none.
	Dirs func() (xdg.Dirs, error)
	Root func() string
}

// folderOptions select a directory of rules.
type folderOptions struct{ layer, profile string }

func (o *folderOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.layer, "layer", "", "`layer` of the rules: org, user, project or base (default: that of their folder or package)")
}

// folder returns the directory named by args, or by default the user's own rules.
func (a *Commands) folder(args []string, o *folderOptions) (policy.Folder, error) {
	f := policy.Folder{Layer: decisions.Layer(o.layer), Schema: rego.InputSchema(), Profile: o.profile}
	if o.layer != "" && !slices.Contains(decisions.Layers, f.Layer) {
		return f, cli.Failf(cli.ExitUsage, "one of: org, user, project, base", "unknown layer %q", o.layer)
	}
	var err error
	if f.Table, err = programs.Shipped(); err != nil {
		return f, fmt.Errorf("reading the program table: %w", err)
	}
	if f.Profiles, err = tools.ParseProfiles(rego.Profiles()); err != nil {
		return f, fmt.Errorf("reading the agent profiles: %w", err)
	}
	dirs, err := a.Dirs()
	if err == nil {
		f.Org, f.User = filepath.Join(dirs.Org, account.PolicyDir), filepath.Join(dirs.Config, account.PolicyDir)
	}
	switch {
	case len(args) > 0:
		f.Dir = args[0]
	case err != nil:
		return f, err
	default:
		f.Dir = filepath.Join(dirs.Config, account.PolicyDir)
	}
	_, err = os.Stat(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return f, cli.Failf(cli.ExitError, "permd init makes it, or name the directory of your rules", "there is no folder %s", f.Dir)
	}
	if err != nil {
		return f, fmt.Errorf("opening the folder of rules: %w", err)
	}
	return f, nil
}

// Check returns permd policy check.
func (a *Commands) Check() *cobra.Command {
	var o folderOptions
	cmd := &cobra.Command{
		Use:         "check [DIR]",
		Annotations: cli.ReadsOnly,
		Short:       "Check rules for errors and likely mistakes",
		Long: `Compile and test the rules in DIR (default: your own) as the daemon does, and
print each problem with file, line and a fix.

Rules with errors or failing tests are not used. A warning is about a rule that
probably does not do what it seems to: it allows more (a shell, a wrapper, a
host pattern without a boundary), misses what it is for, or never applies, or
about a file that is not read. A note points out something that may be intended.
Only errors affect the exit code.

` + cli.ExitCodes,
		Example: `  permd policy check examples/policies/user`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.check(cmd.Context(), args, o)
		},
	}
	o.flags(cmd)
	return cmd
}

// check compiles a directory of rules and prints their problems.
func (a *Commands) check(ctx context.Context, args []string, o folderOptions) error {
	f, err := a.folder(args, &o)
	if err != nil {
		return err
	}
	report, err := f.Check(ctx)
	if err != nil {
		return engine.PolicyFailure(err)
	}
	if a.JSON {
		if err := cli.PrintJSON(a.Out, report); err != nil {
			return err
		}
	} else {
		a.renderProblems(report.Problems)
		what := cli.Plural(report.Rules, "rule")
		if n := len(report.Programs); n > 0 {
			what += " and " + cli.Plural(n, "program")
		}
		if n := len(report.Agents); n > 0 {
			what += " and " + cli.Plural(n, "agent")
		}
		tests := ""
		switch {
		case report.FailedTests > 0:
			tests = fmt.Sprintf(", %d of %s failed", report.FailedTests, cli.Plural(report.Tests, "test"))
		case report.Tests > 0:
			tests = fmt.Sprintf(", %s passed", cli.Plural(report.Tests, "test"))
		}
		fmt.Fprintf(a.Out, "%s: %s in %s for the %s layer%s\n", cli.Either(report.Passed(), "ok", "not usable"),
			what, cli.Plural(report.Files, "file"), report.Layer, tests)
	}
	switch len(diag.List(report.Problems).Errors()) {
	case 0:
		return nil
	case report.FailedTests:
		return &cli.Failure{Code: cli.ExitTests}
	}
	return &cli.Failure{Code: cli.ExitCompile}
}

func (a *Commands) renderProblems(problems []diag.Problem) {
	for _, p := range problems {
		fmt.Fprintf(a.Out, "%s: %s\n", cli.Paint(a.Out, string(p.Severity), string(p.Severity)), p)
		if p.Hint != "" {
			fmt.Fprintf(a.Out, "  hint: %s\n", p.Hint)
		}
	}
}

// Test returns permd policy test.
func (a *Commands) Test() *cobra.Command {
	var o folderOptions
	var verbose bool
	cmd := &cobra.Command{
		Use:         "test [DIR]",
		Annotations: cli.ReadsOnly,
		Short:       "Run the tests of rules",
		Long: `Run the tests of the rules in DIR (default: your own) and print their line
coverage: rules in Rego (*_test.rego), and calls with the verdicts that they
must have (*_test.yaml). permd does not use rules whose tests fail.

` + cli.ExitCodes,
		Example: `  permd policy test examples/policies/user`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.test(cmd.Context(), args, o, verbose)
		},
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&o.profile, "profile", "", "`profile` of the base layer: careful, balanced or unattended (default: balanced)")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also print passing tests and uncovered lines")
	return cmd
}

// test runs the tests of a directory of rules.
func (a *Commands) test(ctx context.Context, args []string, o folderOptions, verbose bool) error {
	f, err := a.folder(args, &o)
	if err != nil {
		return err
	}
	report, err := f.Test(ctx)
	if err != nil {
		if e, ok := errors.AsType[*diag.Error](err); ok && !a.JSON {
			a.renderProblems(e.Problems)
			return &cli.Failure{Code: cli.ExitCompile}
		}
		return engine.PolicyFailure(err)
	}
	if a.JSON {
		if err := cli.PrintJSON(a.Out, report); err != nil {
			return err
		}
	} else {
		a.renderTests(report, verbose)
	}
	if !report.Passed() {
		return &cli.Failure{Code: cli.ExitTests}
	}
	return nil
}

func (a *Commands) renderTests(r *rules.TestReport, verbose bool) {
	passed, failed, skipped := 0, 0, 0
	for i := range r.Results {
		t := &r.Results[i]
		switch t.Outcome {
		case rules.Pass:
			passed++
			if verbose {
				fmt.Fprintf(a.Out, "%s:%d: %s: pass\n", t.File, t.Line, t.Name)
			}
			continue
		case rules.Skip:
			skipped++
		case rules.Fail, rules.Broken:
			failed++
		}
		fmt.Fprintf(a.Out, "%s:%d: %s: %s: %s\n", t.File, t.Line, t.Name, t.Outcome, t.Detail())
		if t.Output != "" {
			fmt.Fprintf(a.Out, "  %s\n", t.Output)
		}
	}
	if verbose {
		for _, file := range slices.Sorted(maps.Keys(r.Uncovered)) {
			fmt.Fprintf(a.Out, "%s: no test reaches the lines %v\n", file, r.Uncovered[file])
		}
	}
	fmt.Fprintf(a.Out, "%d passed, %d failed, %d skipped", passed, failed, skipped)
	if r.Coverage != nil {
		fmt.Fprintf(a.Out, ", %.0f %% of the rules' lines reached", *r.Coverage)
	}
	fmt.Fprintln(a.Out)
	if len(r.Results) == 0 {
		fmt.Fprintln(a.Out, "there are no tests: add calls to a file *_test.yaml, or rules named test_… to a file *_test.rego")
	}
}
