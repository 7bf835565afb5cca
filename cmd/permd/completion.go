package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/rego"
	"github.com/permd/permd/socket/admin"
)

// shellCompletions lists the supported shells with the file names of their
// completions as packages install them.
var shellCompletions = []struct{ shell, file string }{
	{"bash", "permd.bash"}, {"zsh", "_permd"}, {"fish", "permd.fish"},
}

func (a *app) completionCommand() *cobra.Command {
	var names []string
	for _, s := range shellCompletions {
		names = append(names, s.shell)
	}
	return &cobra.Command{
		Use:         "completion SHELL",
		Annotations: cli.ReadsOnly,
		Short:       "Print a shell completion script",
		Long: `Print a script that lets SHELL (bash, zsh or fish) complete permd's commands and
options, the ids of recent decisions, of calls that wait and of remembered
choices, and the names of layers and agents. Load it with:

  bash   source <(permd completion bash)       in ~/.bashrc
  zsh    source <(permd completion zsh)        in ~/.zshrc, after compinit
  fish   permd completion fish | source        in ~/.config/fish/config.fish

` + cli.ExitCodes,
		Example:   `  permd completion bash`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeCompletion(cmd.Root(), args[0], a.Out)
		},
	}
}

func writeCompletion(root *cobra.Command, shell string, w io.Writer) error {
	switch shell {
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	}
	if _, err := io.WriteString(w, bashWords); err != nil {
		return err
	}
	return root.GenBashCompletionV2(w, true)
}

// bashWords defines the function that the completion script uses from the
// bash-completion package, for systems where that package is not installed.
const bashWords = `# Used where the bash-completion package is not installed.
if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1 && ! declare -F _init_completion >/dev/null 2>&1; then
    _get_comp_words_by_ref() {
        words=("${COMP_WORDS[@]}")
        cword=$COMP_CWORD
        cur=${COMP_WORDS[COMP_CWORD]}
        prev=${COMP_WORDS[COMP_CWORD-1]}
    }
fi

`

// completionTimeout bounds how long pressing Tab waits for the daemon.
const completionTimeout = 500 * time.Millisecond

// maxCompleted is the number of decisions offered.
const maxCompleted = 20

// completeDecisions completes to recent decisions, newest first, and to files.
func (a *app) completeDecisions(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	log, err := records.Open(ctx, a.root)
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	defer log.Close()
	recs, err := log.Newest(ctx, decisions.RecordFilter{Limit: maxCompleted})
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var out []cobra.Completion
	for i := len(recs) - 1; i >= 0; i-- {
		d := &recs[i].Decision
		out = append(out, cobra.CompletionWithDesc(d.ID, string(d.Verdict)+" "+records.Summary(recs[i])))
	}
	return out, cobra.ShellCompDirectiveDefault | cobra.ShellCompDirectiveKeepOrder
}

// noFiles keeps a shell from offering files.
const noFiles = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder

// completeDecision completes to recent decisions and to nothing else.
func (a *app) completeDecision(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	found, _ := a.completeDecisions(cmd, args, typed)
	return found, noFiles
}

// completeQuestions completes to the calls that wait for a person.
func (a *app) completeQuestions(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	if len(args) > 0 {
		return nil, noFiles
	}
	a.askDaemon(cmd, func(ctx context.Context, m *memoryClient) error {
		var got admin.Questions
		err := m.c.Call(ctx, admin.MethodQuestionsList, struct{}{}, &got)
		for i := range got.Questions {
			out = append(out, cobra.CompletionWithDesc(got.Questions[i].DecisionID, got.Questions[i].Reason))
		}
		return err
	})
	return out, noFiles
}

// completeChoices completes to remembered choices that are not named yet.
func (a *app) completeChoices(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	a.askDaemon(cmd, func(ctx context.Context, m *memoryClient) error {
		all, err := m.list(ctx, admin.ChoiceFilter{}, false)
		for i := range all {
			if c := &all[i]; !slices.Contains(args, c.ID) {
				p := choices.Parts(c)[0]
				out = append(out, cobra.CompletionWithDesc(c.ID, string(c.Verdict)+" "+p.Kind+" "+cli.Clip(p.Rule, 60)))
			}
		}
		return err
	})
	return out, noFiles
}

// completeChanges completes to the last changes of choices that can be taken back.
func (a *app) completeChanges(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	a.askDaemon(cmd, func(ctx context.Context, m *memoryClient) error {
		list, err := m.history(ctx)
		for i := range list {
			c := &list[i]
			if c.Refused != "" || slices.Contains(args, c.ID) {
				continue
			}
			words := c.What
			if len(c.Choices) > 0 {
				p := choices.Parts(&c.Choices[0].Choice)[0]
				words += " " + string(c.Choices[0].Verdict) + " " + p.Kind + " " + cli.Clip(p.Rule, 60)
			}
			out = append(out, cobra.CompletionWithDesc(c.ID, words))
		}
		return err
	})
	return out, noFiles
}

// askDaemon calls do with a connection, for as long as a person waits for the tab key.
func (a *app) askDaemon(cmd *cobra.Command, do func(ctx context.Context, m *memoryClient) error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	_ = withMemory(ctx, func(m *memoryClient) error { return do(ctx, m) }) // without an answer there is nothing to offer
}

// completeFlags makes the values of options known wherever commands have them.
func (a *app) completeFlags(cmd *cobra.Command) {
	layers := make([]string, len(decisions.Layers))
	for i, l := range decisions.Layers {
		layers[i] = string(l)
	}
	for name, values := range map[string][]string{
		"layer": layers, "profile": {settings.ProfileCareful, settings.ProfileBalanced, settings.ProfileUnattended},
		"verdict": {string(decisions.Allow), string(decisions.Ask), string(decisions.Deny)},
		"scope":   {"session", "session+children", "project", "user"}, "kind": kindWords(), "width": {"w1", "w2", "w3"},
		"decided-by": records.Deciders,
		"only":       strings.Split(activityNames(decisions.Activities), ", "),
	} {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // it is not registered twice
		}
	}
	if cmd.Flags().Lookup("agent") != nil {
		complete := completeAgents
		if cmd.Flags().Lookup("decided-by") != nil { // of decisions in the log
			complete = a.completeLogged
		}
		_ = cmd.RegisterFlagCompletionFunc("agent", complete) // as above
	}
	for _, sub := range cmd.Commands() {
		a.completeFlags(sub)
	}
}

// completeAgents completes to the agents that permd knows.
func completeAgents(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	profiles, err := tools.ParseProfiles(rego.Profiles())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return profiles.Agents(), cobra.ShellCompDirectiveNoFileComp
}

// completeLogged completes to the agents in the log, or else to those that permd knows.
func (a *app) completeLogged(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	if log, err := records.Open(ctx, a.root); err == nil {
		defer log.Close()
		if names, err := log.Agents(ctx); err == nil && len(names) > 0 {
			// A shell shows them as they are.
			return slices.DeleteFunc(names, func(s string) bool { return display.Display(s) != s }), cobra.ShellCompDirectiveNoFileComp
		}
	}
	return completeAgents(cmd, args, typed)
}
