# Attacks on permd itself. The engine fences permd's files and process as well;
# these rules say why, and hold where the fence cannot see (another program that
# speaks to permd for the agent).
package permd.base

import rego.v2

# METADATA
# title: Changing permd's own files
# custom:
#   id: base.permd-write
deny contains "would change permd's own files" if {
	input.effect.kind == "write"
	"permd" in input.effect.tags
}

# METADATA
# title: Deleting permd's own files
# custom:
#   id: base.permd-delete
deny contains "would delete permd's own files" if {
	input.effect.kind == "delete"
	"permd" in input.effect.tags
}

# METADATA
# title: Ending permd by name
# custom:
#   id: base.permd-kill
deny contains "would end permd" if {
	input.effect.kind == "run"
	input.effect.program in {"kill", "killall", "pkill", "skill"}
	some word in input.effect.args
	regex.match(`(?i)^(\^|.*/)?permd(-admin)?\$?$`, word)
}

# METADATA
# title: Stopping or changing permd's units
# custom:
#   id: base.permd-unit
deny contains "would stop permd or change how it runs" if {
	input.effect.kind == "run"
	input.effect.program in {"launchctl", "rc-service", "service", "systemctl"}
	some verb in input.effect.args
	verb in {
		"bootout", "disable", "edit", "freeze", "isolate", "kill", "mask", "remove", "restart", "revert",
		"set-property", "stop", "try-restart", "unload",
	}
	some word in input.effect.args
	regex.match(`(?i)^(.*[./])?permd(-admin)?(@.*)?(\.(service|socket|plist))?$`, word)
}

# The words of permd's own commands that answer for the person, or that keep it
# from being asked.
answering := {"change", "choose", "confirm", "edit", "forget", "import", "review", "trust", "undo", "uninstall"}

# METADATA
# title: Answering permd for the person
# custom:
#   id: base.permd-answer
deny contains "would answer permd in place of a person" if {
	input.effect.kind == "run"
	input.effect.program == "permd"
	some word in input.effect.args
	word in answering
}

# METADATA
# title: Answering permd for the person, by the program's path
# custom:
#   id: base.permd-answer-path
deny contains "would answer permd in place of a person" if {
	input.effect.kind == "run"
	endswith(input.effect.program, "/permd")
	some word in input.effect.args
	word in answering
}

# METADATA
# title: Allowing a call for the person
# custom:
#   id: base.permd-allow
deny contains "would answer permd in place of a person" if {
	input.effect.kind == "run"
	regex.match(`^(.*/)?permd$`, input.effect.program)
	"allow" in input.effect.args
	not input.effect.args[0] in {"log", "remember"} # allow is a verdict there
}

# METADATA
# title: Speaking to permd's sockets
# custom:
#   id: base.permd-socket
deny contains "would speak to permd in place of the editor" if {
	input.effect.kind == "run"
	input.effect.program in {"curl", "nc", "nc.openbsd", "nc.traditional", "ncat", "netcat", "socat", "websocat", "wget"}
	some word in input.effect.args
	regex.match(`permd(-admin)?/(permd|admin)\.sock`, word)
}
