# What permd allows by itself: looking at the project, and what changes nothing
# at all. Anything else needs a rule or a person. Facts that only the agent
# claims are never enough.
package permd.base

import rego.v2

# The project, and other working trees of its repository: they hold the same
# work, but to change one is to leave the one that the session is in.
of_project if "in_project" in input.effect.tags

of_project if "worktree" in input.effect.tags

# METADATA
# title: Programs that only look may run in the project
# custom:
#   id: base.look
allow contains "only looks at the project" if {
	input.effect.kind == "run"
	input.effect.readonly == true
	of_project
	input.effect.known == true
	input.effect.claimed == false
	input.effect.stdin != "network"
	not "secret" in input.effect.tags
}

# Programs that only print what they are given or name as a file, or what they
# know of the machine, wherever they run and whatever comes in. What they read is
# an effect of its own, and no file of the folder tells them anything.
printers := {
	"[", "arch", "awk", "base64", "basename", "cat", "cmp", "column", "comm", "cut", "date", "df", "diff", "dirname", "du", "echo", "expr",
	"false", "fd", "file", "find", "fold", "free", "gawk", "grep", "egrep", "fgrep", "groups", "head", "hexdump", "hostname", "id", "join",
	"jq", "ls", "lsof", "md5sum", "nl", "nproc", "od", "paste", "pgrep", "pidof", "printf", "ps", "pwd", "readlink", "realpath", "rev", "rg",
	"sed", "seq", "sha1sum", "sha256sum", "shasum", "sleep", "sort", "stat", "strings", "tac", "tail", "test", "tr", "tree", "true", "tty",
	"uname", "uniq", "uptime", "wc", "which", "whoami", "xxd", "yq",
}

printer_run if {
	input.effect.program in printers
	input.effect.readonly == true
	input.effect.known == true
}

# So is all that git looks at of another repository than the project's, and where not all
# settings of that one are known to be harmless, the run is not read-only.
printer_run if {
	input.effect.program == "git"
	input.effect.readonly == true
	input.effect.known == true
	input.effect.stdin != "network"
	"outside" in input.effect.tags
	"home" in input.effect.tags
}

# METADATA
# title: Programs that only print may run anywhere, on anything
# custom:
#   id: base.print
allow contains "only prints" if {
	input.effect.kind == "run"
	input.effect.claimed == false
	printer_run
	not looks_here
	not "secret" in input.effect.tags
}

looks_here if {
	of_project
	input.effect.stdin != "network"
}

shell_text if {
	input.effect.program in {"ash", "bash", "dash", "sh", "zsh"}
	"-c" in input.effect.flags
	every flag in input.effect.flags { flag in {"--login", "-c", "-e", "-u", "-v", "-x"} }
	input.effect.known == true
	input.effect.claimed == false
	input.effect.stdin != "network"
}

ordinary_run if shell_text

# METADATA
# title: Shells may run text that permd reads
# description: |
#   What the text does is in effects of its own (bash -lc 'go test'); text that
#   is not all known is an unknown effect.
# custom:
#   id: base.shell-text
allow contains "runs text whose commands are decided one by one" if {
	input.effect.kind == "run"
	"in_project" in input.effect.tags
	shell_text
}

# METADATA
# title: Files of the project may be read
# custom:
#   id: base.read-project
allow contains "reads the project" if {
	input.effect.kind == "read"
	of_project
	input.effect.claimed == false
	not "secret" in input.effect.tags
	not "permd" in input.effect.tags
}

# METADATA
# title: Devices that hold nothing may be read
# custom:
#   id: base.read-null
allow contains "reads a device that holds nothing" if {
	input.effect.kind == "read"
	input.effect.path in {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
	input.effect.claimed == false
}

# METADATA
# title: Devices that keep nothing may be written
# custom:
#   id: base.write-null
allow contains "writes to a device that keeps nothing" if {
	input.effect.kind == "write"
	input.effect.path in {"/dev/null", "/dev/zero", "/dev/full"}
	input.effect.claimed == false
}

# The agents' own tools that touch nothing outside of the conversation: the calls of
# an agent that is started, or told something, are decided by themselves. Others
# that a profile calls the agent's own (a web search) reach further and ask. What
# write_stdin types into a program is an effect of its own: without any, it only
# looks at what the program has said.
conversation_tools := {
	"Agent", "ReadTodos", "SendMessage", "Task", "TodoRead", "TodoWrite", "agent", "codebase_investigator", "delegate_to_agent",
	"list_agents", "read_agent", "report_intent", "spawn_agent", "task", "think", "todo_read", "todo_write",
	"todoread", "todos", "todowrite", "update_plan", "update_todo", "wait", "wait_agent", "write_stdin", "write_todos",
}

# METADATA
# title: Tools of the agent that stay within the conversation
# custom:
#   id: base.conversation
allow contains "stays within the conversation" if {
	input.effect.kind == "use"
	input.effect.source == "agent"
	input.effect.server == ""
	input.effect.claimed == false
	input.effect.tool in conversation_tools
}
