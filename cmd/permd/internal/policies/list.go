package policies

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/policy/rules"
)

// Rules returns the rules, and the programs and agents that layers describe, of all layers.
func (a *Commands) Rules(ctx context.Context) ([]rules.RuleInfo, error) {
	return a.rules(ctx, nil, &folderOptions{})
}

// List returns permd policy list.
func (a *Commands) List() *cobra.Command {
	var o folderOptions
	cmd := &cobra.Command{
		Use:         "list [DIR]",
		Annotations: cli.ReadsOnly,
		Short:       "List rules with id, file and line",
		Long: `List the rules in DIR, the programs that it adds to the program table or
extends, and the agents that it has profiles of. Without DIR, list those of all
layers, as a daemon started now would use them.

` + cli.ExitCodes,
		Example: `  permd policy list
  permd policy list examples/policies/org`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.list(cmd.Context(), args, o)
		},
	}
	o.flags(cmd)
	return cmd
}

// list lists rules, and the programs and agents that layers describe.
func (a *Commands) list(ctx context.Context, args []string, o folderOptions) error {
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

func (a *Commands) rules(ctx context.Context, args []string, o *folderOptions) ([]rules.RuleInfo, error) {
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
	dirs, err := a.Dirs()
	if err != nil {
		return nil, err
	}
	store, err := engine.OpenRules(ctx, dirs, a.Root() != "", nil)
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
