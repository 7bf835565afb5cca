package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// This file has the clients that are configured in code: permd does not change it,
// but prints what to add.

// scriptWords formats words as string literals of Lua or Emacs Lisp. For text on one
// line, both escape the same two characters.
func scriptWords(words []string, between string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w) + `"`
	}
	return strings.Join(quoted, between)
}

func (a *clientAgent) needsCommand(client string) error {
	if len(a.command) == 0 {
		return cli.Failf(cli.ExitUsage, "say how it is started: permd acp install "+client+" "+cli.Quote(a.name)+" -- COMMAND ARGS...", "permd knows no agent called %q", a.name)
	}
	return nil
}

func codecompanionSnippet(program string, a *clientAgent) (string, error) {
	if err := a.needsCommand("codecompanion"); err != nil {
		return "", err
	}
	command := scriptWords(slices.Concat([]string{program, "acp", "--"}, a.command), ", ")
	if a.codecompanion != "" {
		return fmt.Sprintf(`require("codecompanion").setup({
  adapters = {
    acp = {
      %[1]s = function()
        return require("codecompanion.adapters").extend("%[1]s", {
          commands = {
            default = { %[2]s },
          },
        })
      end,
    },
  },
})
`, a.codecompanion, command), nil
	}
	name := scriptWords([]string{a.name}, "")
	return fmt.Sprintf(`require("codecompanion").setup({
  adapters = {
    acp = {
      [%[1]s] = function()
        local helpers = require("codecompanion.adapters.acp.helpers")
        return {
          name = %[1]s,
          formatted_name = %[2]s,
          type = "acp",
          roles = { llm = "assistant", user = "user" },
          commands = {
            default = { %[3]s },
          },
          defaults = { mcpServers = {}, timeout = 20000 },
          parameters = {
            protocolVersion = 1,
            clientCapabilities = { fs = { readTextFile = true, writeTextFile = true } },
            clientInfo = { name = "CodeCompanion.nvim", version = "1.0.0" },
          },
          handlers = {
            setup = function() return true end,
            auth = function() return true end,
            form_messages = function(self, messages, capabilities)
              return helpers.form_messages(self, messages, capabilities)
            end,
            on_exit = function() end,
          },
        }
      end,
    },
  },
})
`, name, scriptWords([]string{a.label}, ""), command), nil
}

// avanteSnippet sets the two variables by which permd finds the daemon, since avante
// passes only PATH on to agents. It also sets the mode of Claude, for which avante
// defaults to one without questions.
func avanteSnippet(program string, a *clientAgent) (string, error) {
	if err := a.needsCommand("avante"); err != nil {
		return "", err
	}
	name, mode := a.avante, ""
	if name == "" {
		name = a.name
	}
	if a.name == "claude" {
		mode = `        ACP_PERMISSION_MODE = "default",
`
	}
	return fmt.Sprintf(`require("avante").setup({
  behaviour = {
    auto_approve_tool_permissions = false,
  },
  acp_providers = {
    [%s] = {
      command = %s,
      args = { %s },
      env = {
%s        HOME = os.getenv("HOME"),
        XDG_RUNTIME_DIR = os.getenv("XDG_RUNTIME_DIR"),
      },
    },
  },
})
`, scriptWords([]string{name}, ""), scriptWords([]string{program}, ""), scriptWords(slices.Concat([]string{"acp", "--"}, a.command), ", "), mode), nil
}

func agentShellSnippet(program string, a *clientAgent) (string, error) {
	if a.agentShell == "" {
		var known []string
		for _, k := range acpAgents() {
			if k.agentShell != "" {
				known = append(known, k.name)
			}
		}
		return "", cli.Failf(cli.ExitUsage, "name one of "+strings.Join(known, ", ")+", with its command after -- if it is another", "agent-shell has a variable for each agent, and permd knows none for %q", a.name)
	}
	return fmt.Sprintf(`(setq agent-shell-%s-command
      '(%s))
`, a.agentShell, scriptWords(slices.Concat([]string{program, "acp", "--"}, a.command), " ")), nil
}
