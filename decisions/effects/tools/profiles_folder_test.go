package tools

import (
	"fmt"
	"slices"
	"testing"
)

// toolFolders are the members with which the agents' own shell tools take a folder:
//
//	acp-client      terminal/create of the Agent Client Protocol
//	codex           its app-server (cwd) and its shell tool's schema (workdir)
//	gemini, qwen    directory, dir_path of run_shell_command in its shell.ts
//	opencode        workdir of its bash tool
//	copilot         its permission requests
//	docker-agent    RunShellArgs in pkg/tools/builtin/shell
//	crush           BashParams in internal/agent/tools/bash.go
//
// The others have none, or are not known: Claude Code, Kimi, Vibe, Goose, Cline,
// OpenHands, SWE-agent, mini-SWE-agent, Pi; Cursor, Devin.
var toolFolders = map[string][]string{
	"acp-client": {"cwd"}, "codex": {"cwd", "workdir"}, "codex-rust": {"cwd", "workdir"},
	"gemini": {"directory", "dir_path"}, "qwen": {"directory", "dir_path"}, "opencode": {"workdir"},
	"copilot": {"cwd"}, "docker-agent": {"cwd"}, "crush": {"working_dir"},
}

// TestToolFolder: a folder counts if it is in a member that the agent's own tool is
// known to take. Otherwise the call may run in the session's folder, where its
// words name other files, so it is not understood unless both folders are the same.
func TestToolFolder(t *testing.T) {
	w := toolWorld(t)
	members := []string{"dir", "folder", "working-dir", "base_dir", "workspace", "root"}
	for name := range w.Profiles.generic.members {
		if w.Profiles.roleOf(name) == roleCwd {
			members = append(members, name)
		}
	}
	if len(members) < 10 {
		t.Fatalf("few names of a folder: %v", members)
	}
	tried := 0
	for _, p := range w.Profiles.agents {
		party := partyOf(t, w.Profiles, p)
		for tool, s := range p.tools {
			if !s.runs() || s.use+s.question+s.mode != "" || s.takes(rolePatch) {
				continue
			}
			tried++
			for _, member := range members {
				for _, own := range []bool{true, false} {
					dir := "/etc"
					c := agentCall(party.Name, tool, "{}")
					c.Agent = party
					if own {
						dir = c.Cwd
					}
					c.Input = []byte(fmt.Sprintf(`{"command":"cat shadow","%s":%q}`, member, dir))
					r := w.Effects(c)
					known := slices.Contains(toolFolders[p.id], member)
					// Members that mean a folder for no agent are ignored, whatever
					// their value.
					want := !known && (!own || w.Profiles.roleOf(member) != roleCwd)
					if got := len(r.Defects) > 0; got != want {
						t.Errorf("%s %s: %s: defects %+v, want some: %v", p.id, tool, c.Input, r.Defects, want)
					}
				}
			}
		}
	}
	if tried < 20 {
		t.Errorf("%d tools were tried", tried)
	}
}
