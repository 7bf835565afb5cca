package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestReadmeACP runs the README's command, then the command line that it wrote into
// the client's settings: that starts permd, which starts the agent.
func TestReadmeACP(t *testing.T) {
	t.Parallel()
	r := readReadme(t)
	command := regexp.MustCompile("`(permd acp install [a-z]+ [a-z]+)`").FindStringSubmatch(r.text)
	if command == nil {
		t.Fatal("the README does not say how to set up a client")
	}
	d := newTestDaemon(t)
	d.typePermd(t)
	bin := filepath.Join(d.home, "bin")
	writeFile(t, filepath.Join(bin, "claude-agent-acp"), "#!/bin/sh\nexec cat\n")
	if err := os.Chmod(filepath.Join(bin, "claude-agent-acp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := d.shell(d.home, command[1]+" --yes --no-service --exec "+bin+"/permd"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	written, err := os.ReadFile(filepath.Join(d.home, ".config", "zed", "settings.json"))
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		Agents map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		} `json:"agent_servers"`
	}
	if err := json.Unmarshal(written, &settings); err != nil {
		t.Fatal(err)
	}
	entry := settings.Agents["Claude (permd)"]
	words := append([]string{entry.Command}, entry.Args...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = d.env
	const message = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}` + "\n"
	cmd.Stdin = strings.NewReader(message)
	if out, err := cmd.Output(); err != nil || string(out) != message {
		t.Errorf("%q, %v, %q", words, err, out)
	}
	if out, err := d.shell(d.home, strings.Replace(command[1], "install", "uninstall", 1)+" --yes"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(d.home, ".config", "zed")); err == nil {
		t.Error("undone, the settings are still there")
	}
}
