# Why permd asks where it has more to say than that no rule speaks of it. None
# of these change the answer of a rule that a person wrote.
package permd.base

import rego.v2

# METADATA
# title: Programs that permd does not know
# custom:
#   id: base.unknown-program
#   general: true
ask contains "runs a program that permd does not know" if {
	input.effect.kind == "run"
	input.effect.known == false
}

# METADATA
# title: Programs that may change something
# description: What the program table says that a program does is shown instead.
# custom:
#   id: base.changing-program
#   general: true
ask contains "runs a program that may change something" if {
	input.effect.kind == "run"
	input.effect.readonly == false
	input.effect.known == true
	not ordinary_run
}

# The profiles say which runs that change something are ordinary work.
default ordinary_run := false

# And which of them only change the files that they name.
default file_run := false

# METADATA
# title: Programs that print a secret
# description: |
#   What a program prints goes to the model: a key of the environment, the token
#   of a tool.
# custom:
#   id: base.print-secret
ask contains "prints a secret" if {
	input.effect.kind == "run"
	"secret" in input.effect.tags
}

looks_at_tree if {
	"worktree" in input.effect.tags
	input.effect.readonly == true
}

# METADATA
# title: Programs that run outside of the project
# custom:
#   id: base.run-outside
ask contains "runs outside of the project" if {
	input.effect.kind == "run"
	"outside" in input.effect.tags
	not looks_at_tree
	not printer_run
	not file_run
}

# METADATA
# title: What came from the network goes into a program
# custom:
#   id: base.network-input
ask contains "gives a program what came from the network" if {
	input.effect.kind == "run"
	input.effect.stdin == "network"
	not printer_run
}

# METADATA
# title: Rewriting what others have of a repository
# custom:
#   id: base.force-push
ask contains "may overwrite other people's commits" if {
	input.effect.kind == "run"
	input.effect.program == "git"
	input.effect.subcommand == "push"
	some flag in {"--force", "--force-with-lease", "--delete", "--mirror", "--prune"}
	flag in input.effect.flags
}

# METADATA
# title: Switching the machine off
# custom:
#   id: base.shutdown
ask contains "switches the machine off" if {
	input.effect.kind == "run"
	input.effect.program in {"halt", "init", "kexec", "loginctl", "openrc-shutdown", "poweroff", "reboot", "runit-init", "shutdown", "systemctl", "telinit"}
	switches_off
}

switches_off if not input.effect.program in {"init", "loginctl", "systemctl"}

switches_off if {
	input.effect.program in {"loginctl", "systemctl"}
	input.effect.readonly == false
	some word in input.effect.args
	trim_suffix(word, ".target") in {"halt", "kexec", "poweroff", "reboot", "soft-reboot"}
}

switches_off if {
	input.effect.program == "init"
	input.effect.args[0] in {"0", "6"}
}

# METADATA
# title: Becoming another user
# custom:
#   id: base.other-user
ask contains "runs as another user" if {
	input.effect.kind == "run"
	input.effect.program in {
		"capsh", "chpst", "doas", "dzdo", "gosu", "machinectl", "newgrp", "pbrun", "pfexec", "pkexec", "please", "run0", "runuser", "s6-applyuidgid",
		"s6-setuidgid", "setpriv", "setuidgid", "sg", "start-stop-daemon", "su", "su-exec", "sudo", "sudo-rs", "sudoedit", "systemd-run",
	}
	as_another_user
}

as_another_user if not input.effect.program in {"machinectl", "setpriv", "systemd-run"}

as_another_user if {
	input.effect.program == "machinectl"
	some word in {"login", "shell"}
	word in input.effect.args
}

as_another_user if {
	input.effect.program == "setpriv"
	some flag in {"--egid", "--euid", "--groups", "--regid", "--reuid", "--rgid", "--ruid"}
	flag in input.effect.flags
}

# Services of the system are run by root.
as_another_user if {
	input.effect.program == "systemd-run"
	not "--user" in input.effect.flags
}

# METADATA
# title: Talking to permd
# custom:
#   id: base.permd-program
ask contains "talks to permd" if {
	input.effect.kind == "run"
	input.effect.program == "permd"
}

# METADATA
# title: Reading outside of the project
# custom:
#   id: base.read-outside
ask contains "reads outside of the project" if {
	input.effect.kind == "read"
	"outside" in input.effect.tags
	not "worktree" in input.effect.tags
	not public_read
}

# The profiles say what outside of the project is no secret of anybody.
default public_read := false

# METADATA
# title: Reading secrets
# custom:
#   id: base.read-secret
ask contains "reads a secret" if {
	input.effect.kind == "read"
	"secret" in input.effect.tags
}

# METADATA
# title: Reading permd's own files
# custom:
#   id: base.read-permd
ask contains "reads permd's own files" if {
	input.effect.kind == "read"
	"permd" in input.effect.tags
}

# METADATA
# title: Changing files outside of the project
# custom:
#   id: base.write-outside
ask contains "changes a file outside of the project" if {
	input.effect.kind == "write"
	"outside" in input.effect.tags
	not written_plan
}

# The profiles say what outside of the project is the agent's to write.
default written_plan := false

# METADATA
# title: Changing files by a tool that only its client describes
# custom:
#   id: base.write-declared
ask contains "changes a file, as far as the client says what the tool does" if {
	input.effect.kind == "write"
	input.effect.declared == true
	input.effect.shell == false
}

# METADATA
# title: Moving files
# custom:
#   id: base.move-file
ask contains "moves a file" if {
	input.effect.kind == "delete"
	input.effect.moved == "file"
}

# METADATA
# title: Moving folders
# custom:
#   id: base.move-folder
ask contains "moves a folder" if {
	input.effect.kind == "delete"
	input.effect.moved == "folder"
}

# METADATA
# title: Moving what may be a file or a folder
# custom:
#   id: base.move
ask contains "moves a file or a folder" if {
	input.effect.kind == "delete"
	input.effect.moved == "path"
}

# METADATA
# title: Deleting
# custom:
#   id: base.delete
ask contains "deletes a file" if {
	input.effect.kind == "delete"
	input.effect.recursive == false
}

# METADATA
# title: Deleting whole folders
# custom:
#   id: base.delete-recursive
ask contains "deletes a folder with all that is in it" if {
	input.effect.kind == "delete"
	input.effect.recursive == true
}

# METADATA
# title: Changing or deleting what is worth a second look
# custom:
#   id: base.guarded
ask contains reason if {
	input.effect.kind in {"write", "delete"}
	some tag, reason in {
		"secret": "changes a secret",
		"startup": "changes what runs by itself later",
		"vcs": "changes the repository's own data",
		"agent_config": "changes how an agent works",
		"ci": "changes a pipeline",
	}
	tag in input.effect.tags
}

# METADATA
# title: Asking the cloud for the machine's credentials
# custom:
#   id: base.metadata-service
ask contains "asks the cloud for the machine's own credentials" if {
	input.effect.kind == "connect"
	"metadata_service" in input.effect.tags
}

# METADATA
# title: Reaching a service of this machine
# custom:
#   id: base.loopback
ask contains "reaches a service of this machine" if {
	input.effect.kind == "connect"
	"loopback" in input.effect.tags
}

# METADATA
# title: Reaching the network
# custom:
#   id: base.network
ask contains "reaches the network" if {
	input.effect.kind == "connect"
	not "loopback" in input.effect.tags
	not "metadata_service" in input.effect.tags
	not query
}

# The profiles say which programs may ask the service they belong to.
default query := false

# METADATA
# title: Tools that permd cannot look into
# custom:
#   id: base.use
ask contains "calls a tool that permd cannot look into" if {
	input.effect.kind == "use"
	input.effect.source != "agent"
}

# METADATA
# title: Changing what later commands mean
# custom:
#   id: base.state
ask contains "changes what later commands mean" if input.effect.kind == "state"
