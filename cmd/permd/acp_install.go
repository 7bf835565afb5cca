package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/setup"
)

func (a *app) acpInstallCommand() *cobra.Command {
	var o setup.Options
	cmd := &cobra.Command{
		Use:   "install CLIENT AGENT [-- COMMAND ARGS...]",
		Short: "Put permd between an ACP client and an agent",
		Long: `Put permd acp in front of an agent's command in the settings of a client of the
Agent Client Protocol. CLIENT is ` + strings.Join(setup.ACPClients(), ", ") + `.
AGENT is ` + wrapWords(setup.ACPAgents(), "AGENT is ") + `,
or the name of an entry that the client has, or any name with a command.

The files of zed, jetbrains and acpx are changed. What the client has of the agent
gets permd in front of its command and keeps all else, such as its variables; where
there is none, an entry is made. The change is shown first, and made when you say
yes. The rest of the file stays as it is, with its comments and its order. A backup
is kept, and permd acp uninstall gives the same file back.

For codecompanion, avante and agent-shell, whose settings are programs, what goes
into them is printed.

The units that start the daemon with the first question are written and enabled
too, where there are none (see permd service install). They count from the next
login on; the commands that start them now are shown.

` + cli.ExitCodes,
		Example: `  permd acp install zed claude
  permd acp install jetbrains my-agent -- /opt/my-agent/bin/agent --acp
  permd acp install avante gemini`,
		Args:              acpInstallArgs,
		ValidArgsFunction: completeACPInstall,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.installer().InstallACP(cmd.Context(), acpNamed(cmd, args), &o)
		},
	}
	changeFlags(cmd, &o)
	programFlags(cmd, &o)
	return cmd
}

func (a *app) acpUninstallCommand() *cobra.Command {
	var o setup.Options
	cmd := &cobra.Command{
		Use:   "uninstall CLIENT AGENT",
		Short: "Take permd out from between an ACP client and an agent",
		Long: `Undo permd acp install: give back the client's file as it was, if nobody changed it
since, and else take permd out of the agent's entries alone. The change is shown
first. From then on what the agent asks is asked of you.

For codecompanion, avante and agent-shell, what has to go is said.

The units of the daemon stay; permd service remove removes them.

` + cli.ExitCodes,
		Example: `  permd acp uninstall zed claude
  permd acp uninstall jetbrains my-agent --yes`,
		Args:              acpInstallArgs,
		ValidArgsFunction: completeACPInstall,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.installer().UninstallACP(acpNamed(cmd, args), &o)
		},
	}
	changeFlags(cmd, &o)
	return cmd
}

// wrapWords are words with commas, on lines that fit below a first one that
// begins with before.
func wrapWords(words []string, before string) string {
	var b strings.Builder
	width := len(before)
	for i, w := range words {
		if i > 0 {
			b.WriteByte(',')
			if width += len(w) + 2; width > 80 {
				b.WriteByte('\n')
				width = len(w)
			} else {
				b.WriteByte(' ')
			}
		} else {
			width += len(w)
		}
		b.WriteString(w)
	}
	return b.String()
}

// acpInstallArgs: a client and an agent before the dashes, a command behind
// them.
func acpInstallArgs(cmd *cobra.Command, args []string) error {
	named := args
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		named = args[:n]
		if n == len(args) {
			return fmt.Errorf("the agent's command is missing behind --")
		}
	}
	switch {
	case len(named) == 0:
		return fmt.Errorf("the client is missing: one of %s", strings.Join(setup.ACPClients(), ", "))
	case len(named) == 1 && len(args) == 1:
		return fmt.Errorf("the agent is missing: one of %s, or a command behind --", strings.Join(setup.ACPAgents(), ", "))
	case len(named) > 2:
		return fmt.Errorf("the agent's command stands behind --: %s", strings.Join(named[1:], " "))
	}
	return nil
}

// acpNamed is what the arguments name.
func acpNamed(cmd *cobra.Command, args []string) setup.ACPTarget {
	var t setup.ACPTarget
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		args, t.Command = args[:n], args[n:]
	}
	t.Client = args[0]
	if len(args) > 1 {
		t.Agent = args[1]
	}
	return t
}

func completeACPInstall(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return setup.ACPClients(), cobra.ShellCompDirectiveNoFileComp
	case 1:
		return setup.ACPAgents(), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}
