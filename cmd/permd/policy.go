package main

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
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/rego"
)

func (a *app) policyCommand() *cobra.Command {
	long := `Check rules before permd uses them, run their tests, and list them with file and
line. Example rules are in examples/policies.`
	example := `  permd policy check ~/.config/permd/policy.d
  permd policy test ~/.config/permd/policy.d`
	return group("policy", "Check, test and list rules", long, example, a.policyCheckCommand(), a.policyTestCommand(), a.policyListCommand(), a.policyReplayCommand(), a.policyProfileCommand(), a.policyShadowCommand())
}

// folderOptions select a directory of rules.
type folderOptions struct{ layer, profile string }

func (o *folderOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.layer, "layer", "", "`layer` of the rules: org, user, project or base (default: that of their folder or package)")
}

// folder returns the directory named by args, or by default the user's own rules.
func (a *app) folder(args []string, o *folderOptions) (policy.Folder, error) {
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
	dirs, err := a.dirs()
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

func (a *app) policyCheckCommand() *cobra.Command {
	var o folderOptions
	cmd := &cobra.Command{
		Use:         "check [DIR]",
		Annotations: readsOnly,
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
			return a.policyCheck(cmd.Context(), args, o)
		},
	}
	o.flags(cmd)
	return cmd
}

// policyCheck compiles a directory of rules and prints their problems.
func (a *app) policyCheck(ctx context.Context, args []string, o folderOptions) error {
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

func (a *app) renderProblems(problems []diag.Problem) {
	for _, p := range problems {
		fmt.Fprintf(a.Out, "%s: %s\n", cli.Paint(a.Out, string(p.Severity), string(p.Severity)), p)
		if p.Hint != "" {
			fmt.Fprintf(a.Out, "  hint: %s\n", p.Hint)
		}
	}
}

func (a *app) policyTestCommand() *cobra.Command {
	var o folderOptions
	var verbose bool
	cmd := &cobra.Command{
		Use:         "test [DIR]",
		Annotations: readsOnly,
		Short:       "Run the tests of rules",
		Long: `Run the tests of the rules in DIR (default: your own) and print their line
coverage: rules in Rego (*_test.rego), and calls with the verdicts that they
must have (*_test.yaml). permd does not use rules whose tests fail.

` + cli.ExitCodes,
		Example: `  permd policy test examples/policies/user`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.policyTest(cmd.Context(), args, o, verbose)
		},
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&o.profile, "profile", "", "`profile` of the base layer: careful, balanced or unattended (default: balanced)")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also print passing tests and uncovered lines")
	return cmd
}

// policyTest runs the tests of a directory of rules.
func (a *app) policyTest(ctx context.Context, args []string, o folderOptions, verbose bool) error {
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

func (a *app) renderTests(r *rules.TestReport, verbose bool) {
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

func (a *app) policyListCommand() *cobra.Command {
	var o folderOptions
	cmd := &cobra.Command{
		Use:         "list [DIR]",
		Annotations: readsOnly,
		Short:       "List rules with id, file and line",
		Long: `List the rules in DIR, the programs that it adds to the program table or
extends, and the agents that it has profiles of. Without DIR, list those of all
layers, as a daemon started now would use them.

` + cli.ExitCodes,
		Example: `  permd policy list
  permd policy list examples/policies/org`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.policyList(cmd.Context(), args, o)
		},
	}
	o.flags(cmd)
	return cmd
}

// policyList lists rules, and the programs and agents that layers describe.
func (a *app) policyList(ctx context.Context, args []string, o folderOptions) error {
	rules, err := a.rules(ctx, args, &o)
	if err != nil {
		return engine.PolicyFailure(err)
	}
	if a.JSON {
		return cli.PrintJSONLines(a.Out, rules)
	}
	t := cli.Table{Flexible: []int{3, 4}, Ends: []int{4}}
	for _, r := range rules {
		what := r.Title
		if what == "" {
			what = r.Reason
		}
		t.Row(string(r.Layer), string(r.Set), r.ID, cli.Clip(what, 60), r.At)
	}
	return t.Write(a.Out)
}

func (a *app) rules(ctx context.Context, args []string, o *folderOptions) ([]rules.RuleInfo, error) {
	if len(args) > 0 || o.layer != "" {
		f, err := a.folder(args, o)
		if err != nil {
			return nil, err
		}
		rules, err := f.List()
		if err != nil {
			return nil, err
		}
		programs, err := f.Programs()
		if err != nil {
			return nil, err
		}
		agents, err := f.Agents()
		return append(rules, asListEntries(programs, agents)...), err
	}
	dirs, err := a.dirs()
	if err != nil {
		return nil, err
	}
	store, err := engine.OpenRules(ctx, dirs, a.root != "", nil)
	if err != nil {
		return nil, err
	}
	return append(store.List(), asListEntries(store.Programs(), store.Agents())...), nil
}

// asListEntries returns programs and agents in the form of list entries.
func asListEntries(programs []rules.ProgramInfo, agents []rules.AgentInfo) []rules.RuleInfo {
	out := make([]rules.RuleInfo, len(programs))
	for i, p := range programs {
		out[i] = rules.RuleInfo{
			ID: p.Program, Layer: p.Layer, Set: "program", At: p.At, UID: p.UID,
			Title: cli.Either(p.Extends, "extends a program", "adds a program"),
		}
	}
	for _, g := range agents {
		out = append(out, rules.RuleInfo{
			ID: g.Agent, Layer: g.Layer, Set: "agent", At: g.At, UID: g.UID,
			Title: cli.Either(g.Redefines, "describes an agent anew", "describes an agent"),
		})
	}
	return out
}
