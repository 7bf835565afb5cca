package setup

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects/display"
)

// acpReport is the output of install and uninstall. Its JSON form is stable.
type acpReport struct {
	Client string `json:"client"`
	Agent  string `json:"agent"`
	installReport
	// For a client that is configured by hand:
	Place   string `json:"place,omitzero"`
	Snippet string `json:"snippet,omitzero"`
}

// ACPTarget names a client, an agent and, optionally, the agent's command.
type ACPTarget struct {
	Client, Agent string
	Command       []string
}

func (t *ACPTarget) resolve() (*acpClient, *clientAgent, error) {
	client, err := acpClientOf(t.Client)
	if err != nil {
		return nil, nil, err
	}
	agent, err := acpAgentOf(t.Agent, t.Command)
	return client, agent, err
}

// InstallACP configures an ACP client to run an agent through permd acp.
func (i *Installer) InstallACP(ctx context.Context, t ACPTarget, o *Options) error {
	client, agent, err := t.resolve()
	if err != nil {
		return err
	}
	program, err := namedProgram(o.Program)
	if err != nil {
		return err
	}
	if client.path == nil {
		snippet, err := client.snippet(program, agent)
		if err != nil {
			return err
		}
		return i.reportACP(&acpReport{client.name, agent.name, installReport{Action: "by hand", Notes: acpNotes(client, agent, &acpEntries{added: true})}, client.where, snippet})
	}
	place, entries, store, err := i.acpPlace(client, agent, o)
	if err != nil {
		return err
	}
	c, err := planACPInstall(place, entries, store, program, uint32(os.Geteuid()))
	if err != nil {
		return err
	}
	report := &acpReport{Client: client.name, Agent: agent.name, installReport: newInstallReport(c, "wrote", "unchanged")}
	report.Notes = entries.otherCommands(c.after)
	if c.isEmpty() {
		report.DryRun = o.DryRun
		return i.reportACP(report)
	}
	report.Notes = append(report.Notes, acpNotes(client, agent, entries)...)
	if err := i.confirmChange(c, store, &report.installReport, o); err != nil {
		return err
	}
	if report.DryRun {
		return i.reportACP(report)
	}
	if c.base != nil {
		report.Backup = store.backup(place)
	}
	if err := i.installUnits(ctx, program, &report.installReport, o); err != nil {
		return err
	}
	return i.reportACP(report)
}

// planACPInstall computes the change that installs permd. An entry that already
// runs this permd is left alone, whatever was installed after it.
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

// acpNotes returns notes about this client and this agent.
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

// UninstallACP undoes InstallACP.
func (i *Installer) UninstallACP(t ACPTarget, o *Options) error {
	client, agent, err := t.resolve()
	if err != nil {
		return err
	}
	if client.path == nil {
		return i.reportACP(&acpReport{Client: client.name, Agent: agent.name, Place: client.where, installReport: installReport{
			Action: "by hand", Notes: []string{"take out what permd acp install " + client.name + " " + cli.Quote(agent.name) + " shows"},
		}})
	}
	place, _, store, err := i.acpPlace(client, agent, o)
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
	if err := i.confirmChange(c, store, &report.installReport, o); err != nil {
		return err
	}
	return i.reportACP(report)
}

// acpPlace returns the client's file and the store of its backup.
func (i *Installer) acpPlace(client *acpClient, agent *clientAgent, o *Options) (*configPlace, *acpEntries, configStore, error) {
	if err := i.checkAsked(o); err != nil {
		return nil, nil, configStore{}, err
	}
	dirs, err := account.OwnDirs(i.Root)
	if err != nil {
		return nil, nil, configStore{}, err
	}
	home, err := account.Home()
	if err != nil {
		return nil, nil, configStore{}, err
	}
	entries := &acpEntries{client: client, agent: agent, home: home}
	name := agent.name
	if !agent.known {
		name = "x-" + digest([]byte(name))[:12] // it may not be usable as a file name
	}
	place := &configPlace{name: client.name + "-" + name, path: client.path(home), mode: 0o600, edit: entries}
	return place, entries, configStore{filepath.Join(dirs.Data, "acp")}, nil
}

func (i *Installer) reportACP(r *acpReport) error {
	if i.JSON {
		return cli.PrintJSON(i.Out, r)
	}
	if r.Snippet != "" {
		fmt.Fprintf(i.Out, "%s\n", r.Snippet)
	}
	r.print(i.Out, r.Place)
	return nil
}
