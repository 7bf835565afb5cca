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
		Short: "Configure an ACP client to run an agent behind permd",
		Long: `Put permd acp in front of an agent's command in the settings of a client of the
Agent Client Protocol.
CLIENT is ` + strings.Join(setup.ACPClients(), ", ") + `.
AGENT is ` + wrapWords(setup.ACPAgents(), "AGENT is ") + `,
or the name of an entry in the client's settings, or any name with a command.

For zed, jetbrains and acpx, the settings file is changed: permd goes in front
of the command in the agent's entries, which otherwise stay as they are; if
there is none, an entry is added. The change is shown and made only after you
confirm it. The rest of the file is preserved, with comments and order. A backup
is kept, and permd acp uninstall restores the file.

The settings of codecompanion, avante and agent-shell are code, so the lines to
add are printed.

Unless they exist, systemd units that start the daemon on demand are installed
and enabled too (see permd service install). They take effect at the next login;
the commands that start them now are printed.

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
		Short: "Undo permd acp install",
		Long: `Undo permd acp install. If the client's file has not been changed since, it is
restored; otherwise only permd is removed from the agent's entries. The change
is shown first. From then on you answer all of the agent's requests.

For codecompanion, avante and agent-shell, the lines to remove are described.

The daemon's systemd units stay; permd service remove removes them.

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

// wrapWords joins words with commas, wrapping lines. The first line begins after
// the text before.
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

// acpInstallArgs checks the arguments: a client and an agent, and optionally a
// command after --.
func acpInstallArgs(cmd *cobra.Command, args []string) error {
	named := args
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		named = args[:n]
		if n == len(args) {
			return fmt.Errorf("the agent's command is missing after --")
		}
	}
	switch {
	case len(named) == 0:
		return fmt.Errorf("the client is missing: one of %s", strings.Join(setup.ACPClients(), ", "))
	case len(named) == 1 && len(args) == 1:
		return fmt.Errorf("the agent is missing: one of %s, or a command after --", strings.Join(setup.ACPAgents(), ", "))
	case len(named) > 2:
		return fmt.Errorf("give the agent's command after --: %s", strings.Join(named[1:], " "))
	}
	return nil
}

// acpNamed returns the client, agent and command that the arguments name.
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
