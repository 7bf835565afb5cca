package setup

import (
	"bytes"
	"os"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/findings"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/jsonedit"
)

// InspectACP checks the files of ACP clients: whether the permd in front of their
// agents exists, and whether they approve calls that permd leaves to the user.
func InspectACP(x *findings.List) {
	home, err := account.Home()
	if err != nil {
		return // the check of folders reports it
	}
	for _, client := range acpClients() {
		if client.path == nil {
			continue // configured by code, which permd does not read
		}
		inspectClient(&client, home, x)
	}
}

func inspectClient(client *acpClient, home string, x *findings.List) {
	path := client.path(home)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxConfigFile {
		return // install does not handle such files either
	}
	text, err := os.ReadFile(path)
	if err != nil {
		x.Warn("acp", "ls -l "+cli.Quote(path), "looking at %s: %v", path, err)
		return
	}
	if !bytes.Contains(text, []byte("permd")) {
		return
	}
	e := &acpEntries{client: client, agent: &clientAgent{}, home: home}
	var entries []acpEntry
	t, err := e.parse(text)
	if err == nil {
		entries, err = e.entries(t, true)
	}
	if err != nil {
		x.Error("acp", cli.HintOf(err, ""), "%s: %v", path, err)
		return
	}
	wrapped := 0
	for _, entry := range entries {
		again := "permd acp install " + client.name + " " + cli.Quote(display.Display(nameOfEntry(entry)))
		key := display.Display(entry.key) // an agent may have written it
		switch program := entry.words[0]; {
		case permdWords(entry.words) > 0 && isProgram(program):
			wrapped++
			x.OK("acp", "%s: %s runs %s", client.name, key, display.Display(program))
		case permdWords(entry.words) > 0:
			x.Error("acp", again, "%s: in %s, %s runs %s, which is not an executable: the agent does not start", client.name, path, key, display.Display(program))
		case namesPermd(entry.words):
			x.Warn("acp", "check it, and then: "+again, "%s: in %s, %s runs permd, but not as install writes it", client.name, path, key)
		}
	}
	if wrapped > 0 && client.lines {
		inspectAcpx(path, t, x)
	}
}

// inspectAcpx checks for the setting with which acpx approves everything that permd
// leaves to the user.
func inspectAcpx(path string, t *jsonedit.Text, x *findings.List) {
	if t.Root().Member("defaultPermissions").String() == "approve-all" {
		x.Warn("acp", `in it, set "defaultPermissions" to "deny-all" or "approve-reads"`, "acpx: %s has defaultPermissions approve-all: it approves what permd leaves to you", path)
	}
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// nameOfEntry returns the name by which install finds the entry.
func nameOfEntry(entry acpEntry) string {
	for _, agent := range acpAgents() {
		if agent.hasName(entry.key) || agent.matchesCommand(unwrapWords(entry.words)) {
			return agent.name
		}
	}
	return entry.key
}
