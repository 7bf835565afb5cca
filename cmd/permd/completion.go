package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
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
		Annotations: readsOnly,
		Short:       "Print a shell completion script",
		Long: `Print a script that lets SHELL (bash, zsh or fish) complete permd's commands and
options, and the ids of recent decisions. Load it with:

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
	recs, err := log.List(ctx, decisions.RecordFilter{Limit: maxCompleted})
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var out []cobra.Completion
	for i := len(recs) - 1; i >= 0; i-- {
		d := &recs[i].Decision
		out = append(out, cobra.CompletionWithDesc(d.ID, string(d.Verdict)+" "+summary(d)))
	}
	return out, cobra.ShellCompDirectiveDefault | cobra.ShellCompDirectiveKeepOrder
}
