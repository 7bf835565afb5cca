package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/permd/permd/decisions/effects/display"
)

// acpReport is what install or uninstall did. Its JSON form is kept.
type acpReport struct {
	Client string `json:"client"`
	Agent  string `json:"agent"`
	installReport
	// Of a client that is told by hand:
	Place   string `json:"place,omitzero"`
	Snippet string `json:"snippet,omitzero"`
}

func (a *app) acpInstallCommand() *cobra.Command {
	var o installOptions
	cmd := &cobra.Command{
		Use:   "install CLIENT AGENT [-- COMMAND ARGS...]",
		Short: "Put permd between an ACP client and an agent",
		Long: `Put permd acp in front of an agent's command in the settings of a client of the
Agent Client Protocol. CLIENT is ` + strings.Join(acpClientNames(), ", ") + `.
AGENT is ` + wrapWords(acpAgentNames(), "AGENT is ") + `,
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

` + exitCodes,
		Example: `  permd acp install zed claude
  permd acp install jetbrains my-agent -- /opt/my-agent/bin/agent --acp
  permd acp install avante gemini`,
		Args:              acpInstallArgs,
		ValidArgsFunction: completeACPInstall,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, agent, err := acpNamed(cmd, args)
			if err != nil {
				return err
			}
			return a.acpInstall(cmd, client, agent, &o)
		},
	}
	o.flags(cmd)
	o.programFlags(cmd)
	return cmd
}

func (a *app) acpUninstallCommand() *cobra.Command {
	var o installOptions
	cmd := &cobra.Command{
		Use:   "uninstall CLIENT AGENT",
		Short: "Take permd out from between an ACP client and an agent",
		Long: `Undo permd acp install: give back the client's file as it was, if nobody changed it
since, and else take permd out of the agent's entries alone. The change is shown
first. From then on what the agent asks is asked of you.

For codecompanion, avante and agent-shell, what has to go is said.

The units of the daemon stay; permd service remove removes them.

` + exitCodes,
		Example: `  permd acp uninstall zed claude
  permd acp uninstall jetbrains my-agent --yes`,
		Args:              acpInstallArgs,
		ValidArgsFunction: completeACPInstall,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, agent, err := acpNamed(cmd, args)
			if err != nil {
				return err
			}
			return a.acpUninstall(client, agent, &o)
		},
	}
	o.flags(cmd)
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
		return fmt.Errorf("the client is missing: one of %s", strings.Join(acpClientNames(), ", "))
	case len(named) == 1 && len(args) == 1:
		return fmt.Errorf("the agent is missing: one of %s, or a command behind --", strings.Join(acpAgentNames(), ", "))
	case len(named) > 2:
		return fmt.Errorf("the agent's command stands behind --: %s", strings.Join(named[1:], " "))
	}
	return nil
}

func acpNamed(cmd *cobra.Command, args []string) (*acpClient, *clientAgent, error) {
	named, command := args, []string(nil)
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		named, command = args[:n], args[n:]
	}
	client, err := acpClientOf(named[0])
	if err != nil {
		return nil, nil, err
	}
	name := ""
	if len(named) > 1 {
		name = named[1]
	}
	agent, err := acpAgentOf(name, command)
	return client, agent, err
}

func completeACPInstall(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return acpClientNames(), cobra.ShellCompDirectiveNoFileComp
	case 1:
		return acpAgentNames(), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) acpInstall(cmd *cobra.Command, client *acpClient, agent *clientAgent, o *installOptions) error {
	program, err := serviceProgram(o.exec)
	if err != nil {
		return err
	}
	if err := checkNamedProgram(program); err != nil {
		return err
	}
	if client.path == nil {
		snippet, err := client.snippet(program, agent)
		if err != nil {
			return err
		}
		return a.reportACP(&acpReport{client.name, agent.name, installReport{Action: "by hand", Notes: acpNotes(client, agent, &acpEntries{added: true})}, client.where, snippet})
	}
	place, entries, store, err := a.acpPlace(client, agent, o)
	if err != nil {
		return err
	}
	c, err := planACPInstall(place, entries, store, program, uint32(os.Geteuid()))
	if err != nil {
		return err
	}
	report := &acpReport{Client: client.name, Agent: agent.name, installReport: newInstallReport(c, "wrote", "unchanged")}
	report.Notes = entries.otherCommands(c.after)
	if c.none() {
		report.DryRun = o.dry
		return a.reportACP(report)
	}
	report.Notes = append(report.Notes, acpNotes(client, agent, entries)...)
	if err := a.confirmChange(c, store, &report.installReport, o); err != nil {
		return err
	}
	if report.DryRun {
		return a.reportACP(report)
	}
	if c.base != nil {
		report.Backup = store.backup(place)
	}
	if err := a.unitsToo(cmd.Context(), program, &report.installReport, o); err != nil {
		return err
	}
	return a.reportACP(report)
}

// planACPInstall finds out what installing changes. An entry that runs this
// permd already stays where it is, whatever was installed after it.
func planACPInstall(p *configPlace, e *acpEntries, s configStore, program string, uid uint32) (*configChange, error) {
	text, mode, err := readConfigFile(p, uid)
	if err != nil {
		return nil, err
	}
	if text != nil && e.current(text, program) {
		return &configChange{place: p, before: text, after: text, mode: mode}, nil
	}
	return planInstall(p, s, program, uid)
}

// acpNotes are what a person has to know of this client and this agent.
func acpNotes(client *acpClient, agent *clientAgent, e *acpEntries) []string {
	var notes []string
	for _, key := range e.hidden {
		notes = append(notes, fmt.Sprintf("%s has no command in the file, so %s starts it by itself, without permd: use the one with permd in its place", display.Display(key), client.title))
	}
	if e.added {
		if _, err := exec.LookPath(agent.command[0]); err != nil {
			notes = append(notes, agent.command[0]+" is not in your PATH: is the agent installed?")
		}
	}
	return append(notes, client.notes...)
}

func (a *app) acpUninstall(client *acpClient, agent *clientAgent, o *installOptions) error {
	if client.path == nil {
		return a.reportACP(&acpReport{Client: client.name, Agent: agent.name, Place: client.where, installReport: installReport{
			Action: "by hand", Notes: []string{"take out what permd acp install " + client.name + " " + shellWord(agent.name) + " shows"},
		}})
	}
	place, _, store, err := a.acpPlace(client, agent, o)
	if err != nil {
		return err
	}
	c, err := planUninstall(place, store, uint32(os.Geteuid()))
	if err != nil {
		return err
	}
	report := &acpReport{Client: client.name, Agent: agent.name, installReport: newInstallReport(c, "removed", "absent")}
	if report.Action == "removed" {
		report.Notes = []string{"what runs already goes on through permd until it ends"}
	}
	if err := a.confirmChange(c, store, &report.installReport, o); err != nil {
		return err
	}
	return a.reportACP(report)
}

// acpPlace is the client's file, and where its backup is.
func (a *app) acpPlace(client *acpClient, agent *clientAgent, o *installOptions) (*configPlace, *acpEntries, configStore, error) {
	if err := a.checkAsked(o); err != nil {
		return nil, nil, configStore{}, err
	}
	dirs, err := a.ownDirs()
	if err != nil {
		return nil, nil, configStore{}, err
	}
	home, err := personHome()
	if err != nil {
		return nil, nil, configStore{}, err
	}
	entries := &acpEntries{client: client, agent: agent, home: home}
	name := agent.name
	if !agent.known {
		name = "x-" + digest([]byte(name))[:12] // it may be no name for a file
	}
	place := &configPlace{name: client.name + "-" + name, path: client.path(home), mode: 0o600, edit: entries}
	return place, entries, configStore{filepath.Join(dirs.Data, "acp")}, nil
}

func (a *app) reportACP(r *acpReport) error {
	if a.json {
		return printIndented(a.out, r)
	}
	if r.Snippet != "" {
		fmt.Fprintf(a.out, "%s\n", r.Snippet)
	}
	r.print(a.out, r.Place)
	return nil
}
