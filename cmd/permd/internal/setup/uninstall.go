package setup

import (
	"bytes"
	"io"
	"os"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
)

// Installed is one place where permd is in the configuration of another program.
type Installed struct {
	Command string `json:"command"` // that removes it alone
	File    string `json:"file"`
	// ByHand says why permd does not remove it, "" if it does.
	ByHand string `json:"byHand,omitzero"`

	remove func(*Installer) error
}

// Remove takes permd out of that place. If the file has not been changed since, it is what
// it was before.
func (p *Installed) Remove(i *Installer) error {
	quiet := *i
	quiet.In, quiet.Out, quiet.JSON = strings.NewReader(""), io.Discard, false
	return p.remove(&quiet)
}

// Installed returns all places where permd is installed: first the hooks of harnesses, then
// the agents of ACP clients.
func (i *Installer) Installed() ([]Installed, error) {
	var all []Installed
	for _, harness := range hookHarnesses() {
		for _, managed := range []bool{false, true} {
			found, err := i.installedHook(harness, managed)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	home, err := account.Home()
	if err != nil {
		return nil, err
	}
	for _, client := range acpClients() {
		if client.path == nil {
			continue // configured by code, which permd does not read
		}
		found, err := i.installedACP(&client, home)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (i *Installer) installedHook(harness string, managed bool) ([]Installed, error) {
	o := Options{Yes: true, Managed: managed}
	if managed && len(managedPlaces(hookPlaces(i.Root, harness, "", hookOptions{}), true)) == 0 {
		return nil, nil
	}
	place, store, err := i.configPlace(harness, &o)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(place.path)
	if err != nil || !bytes.Contains(text, []byte(" hook "+harness)) || !bytes.Contains(text, []byte("permd")) {
		return nil, nil //nolint:nilerr // what cannot be read cannot have been installed by this user
	}
	p := Installed{
		Command: "permd hook uninstall " + harness, File: place.path,
		remove: func(quiet *Installer) error { return quiet.UninstallHook(harness, &o) },
	}
	if managed {
		p.Command = "sudo " + p.Command + " --managed"
	}
	switch c, err := planUninstall(place, store, uint32(os.Geteuid())); {
	case err != nil:
		p.ByHand = err.Error()
	case bytes.Contains(c.after, []byte("permd")) && bytes.Contains(c.after, []byte(" hook "+harness)):
		p.ByHand = "it has permd hook " + harness + ", but not as install writes it"
	}
	return []Installed{p}, nil
}

func (i *Installer) installedACP(client *acpClient, home string) ([]Installed, error) {
	path := client.path(home)
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte("permd")) {
		return nil, nil //nolint:nilerr // as above
	}
	e := &acpEntries{client: client, agent: &clientAgent{}, home: home}
	var entries []acpEntry
	t, err := e.parse(text)
	if err == nil {
		entries, err = e.entries(t, true)
	}
	if err != nil {
		return []Installed{{Command: "permd acp uninstall " + client.name + " AGENT", File: path, ByHand: err.Error()}}, nil
	}
	var all []Installed
	seen := map[string]bool{}
	for _, entry := range entries {
		name := strings.TrimSuffix(nameOfEntry(entry), permdSuffix) // as an added entry is called
		if !namesPermd(entry.words) && permdWords(entry.words) == 0 || seen[name] {
			continue
		}
		seen[name] = true
		p := Installed{
			Command: "permd acp uninstall " + client.name + " " + cli.Quote(name), File: path,
			remove: func(quiet *Installer) error {
				return quiet.UninstallACP(ACPTarget{Client: client.name, Agent: name}, &Options{Yes: true})
			},
		}
		if permdWords(entry.words) == 0 {
			p.ByHand = "it runs permd, but not as install writes it"
		}
		all = append(all, p)
	}
	return all, nil
}
