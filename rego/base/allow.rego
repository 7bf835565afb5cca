# What permd allows by itself: looking at the project, and what changes nothing
# at all. Anything else needs a rule or a person. Facts that only the agent
# claims are never enough.
package permd.base

import rego.v2

# METADATA
# title: Programs that only look may run in the project
# custom:
#   id: base.look
allow contains "only looks at the project" if {
	input.effect.kind == "run"
	input.effect.readonly == true
	"in_project" in input.effect.tags
	input.effect.known == true
	input.effect.claimed == false
	input.effect.stdin != "network"
}

# METADATA
# title: Files of the project may be read
# custom:
#   id: base.read-project
allow contains "reads the project" if {
	input.effect.kind == "read"
	"in_project" in input.effect.tags
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

# The agents' own tools that touch nothing outside of the conversation. Others
# that a profile calls the agent's own (a web search, typing into a shell) reach
# further and ask.
conversation_tools := {
	"ReadTodos", "Task", "TodoRead", "TodoWrite", "agent", "codebase_investigator", "delegate_to_agent",
	"list_agents", "read_agent", "report_intent", "spawn_agent", "task", "think", "todo_read", "todo_write",
	"todoread", "todos", "todowrite", "update_plan", "update_todo", "wait", "wait_agent", "write_todos",
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
