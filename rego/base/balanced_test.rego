# Tests of what the profiles "balanced" and "unattended" add.
package permd.base_test

import data.permd.base
import rego.v2

test_balanced_edit if {
	base.allow == {"changes a file of the project"} with input as file("write", "/home/dev/p/a", ["in_project"], false)
	count(base.ask) == 0 with input as file("write", "/home/dev/p/a", ["in_project"], false)
}

# What an edit is not.
test_balanced_no_edit[name] if {
	some name, example in {
		"outside": file("write", "/home/dev/q/a", ["outside"], false),
		"worktree": file("write", "/home/dev/wt/a", ["outside", "worktree"], false),
		"temp": file("write", "/tmp/a", ["outside", "temp"], false),
		"folder": file("write", "/home/dev/p/a", ["in_project"], true),
		"delete": file("delete", "/home/dev/p/a", ["in_project"], false),
	}
	count(base.allow) == 0 with input as example
	count(base.ask) > 0 with input as example
}

test_balanced_no_guarded_edit[tag] if {
	some tag in ["agent_config", "ci", "secret", "startup", "vcs"]
	count(base.allow) == 0 with input as file("write", "/home/dev/p/a", ["in_project", tag], false)
	count(base.ask) > 0 with input as file("write", "/home/dev/p/a", ["in_project", tag], false)
}

test_balanced_command_edit if {
	by_command := object.union(file("write", "/home/dev/p/a", ["in_project"], false), {"effect": {"shell": true}})
	base.ask == {"changes a file of the project by a command"} with input as by_command
	count(base.allow) == 0 with input as by_command
}

made(tags, by) := object.union(
	file("write", "/home/dev/p/a", tags, false),
	{"effect": {"shell": true, "by": object.union({"program": "mkdir", "subcommand": "", "args": ["a"], "inherent": false, "arg": "a"}, by)}},
)

test_balanced_folder if {
	base.allow == {"makes a folder in the project"} with input as made(["in_project"], {})
	count(base.ask) == 0 with input as made(["in_project"], {})
}

test_balanced_no_folder[name] if {
	some name, example in {
		"outside": made(["outside"], {}),
		"guarded": made(["in_project", "vcs"], {}),
		"another program": made(["in_project"], {"program": "touch"}),
		"its own": made(["in_project"], {"inherent": true}),
	}
	count(base.allow) == 0 with input as example
	count(base.ask) > 0 with input as example
}

stages(more) := object.union(
	{"effect": {
		"kind": "run", "tags": ["in_project"], "claimed": false, "shell": true, "program": "git", "subcommand": "add", "args": ["add", "a"],
		"flags": [], "stdin": "none", "readonly": false, "own_data": true, "known": true, "does": "stages changes",
	}},
	{"effect": more},
)

test_balanced_git_data if {
	base.allow == {"changes only what git keeps of the project"} with input as stages({})
	count(base.ask) == 0 with input as stages({})
}

test_balanced_no_git_data[name] if {
	some name, example in {
		"hooks": stages({"own_data": false}),
		"another program": stages({"program": "hg"}),
		"a claim": stages({"claimed": true}),
		"from the network": stages({"stdin": "network"}),
		"outside": stages({"tags": ["outside"]}),
		"another tree": stages({"tags": ["outside", "worktree"]}),
	}
	count(base.allow) == 0 with input as example
}

test_balanced_edit_folder if {
	base.ask == {"changes a folder of the project with all that is in it"} with input as file("write", "/home/dev/p/a", ["in_project"], true)
}

test_balanced_file_program if {
	base.allow == {"changes only the files it names"} with input as run("mkdir", ["a"], {"known": true})
	count(base.ask) == 0 with input as run("mkdir", ["a"], {"known": true})
}

test_balanced_no_file_program[name] if {
	some name, example in {
		"outside": run("mkdir", ["a"], {"known": true, "tags": ["outside"]}),
		"from the network": run("tee", ["a"], {"known": true, "stdin": "network"}),
		"own table": run("mkdir", ["a"], {"known": false}),
		"own path": run("./mkdir", ["a"], {"known": false}),
		"claimed": run("mkdir", ["a"], {"known": true, "claimed": true}),
		"another": run("git", ["add", "."], {"known": true, "subcommand": "add"}),
	}
	count(base.allow) == 0 with input as example
	count(base.ask) > 0 with input as example
}

test_balanced_no_claimed_edit if {
	claimed := effect("write", {"path": "/home/dev/p/a", "given": "a", "recursive": false, "claimed": true})
	count(base.allow) == 0 with input as claimed
}

test_balanced_public[name] if {
	some name, example in {
		"temp": file("read", "/tmp/out.txt", ["outside", "temp"], false),
		"header": file("read", "/usr/include/stdio.h", ["outside", "system"], false),
		"all headers": file("read", "/usr/include", ["outside", "system"], true),
		"release": file("read", "/etc/os-release", ["outside", "system"], false),
		"dependency": effect("read", {
			"path": "/home/dev/go/pkg/mod/x/y.go", "home_path": "go/pkg/mod/x/y.go",
			"given": "", "recursive": false, "tags": ["outside", "home"],
		}),
	}
	base.allow == {"reads what is no secret"} with input as example
	count(base.ask) == 0 with input as example
}

test_balanced_not_public[name] if {
	some name, example in {
		"system": file("read", "/etc/hosts", ["outside", "system"], false),
		"likeness": file("read", "/usr/includes", ["outside", "system"], false),
		"all of the system": file("read", "/usr", ["outside", "system"], true),
		"home": effect("read", {"path": "/home/dev/x", "home_path": "x", "given": "", "recursive": false, "tags": ["outside", "home"]}),
		"secret": file("read", "/tmp/id_rsa", ["outside", "temp", "secret"], false),
		"claimed": effect("read", {"path": "/tmp/a", "given": "", "recursive": false, "tags": ["outside", "temp"], "claimed": true}),
	}
	count(base.allow) == 0 with input as example
	count(base.ask) > 0 with input as example
}

by(program, inherent) := {"by": {"program": program, "subcommand": "", "args": [], "inherent": inherent, "arg": ""}}

test_balanced_query if {
	count(base.ask) == 0 with input as object.union(connect([]), {"effect": by("gh", true)})
}

test_balanced_no_query[name] if {
	some name, example in {
		"another program": object.union(connect([]), {"effect": by("curl", true)}),
		"another address": object.union(connect([]), {"effect": by("npm", false)}),
		"sends": object.union(connect([]), {"effect": object.union(by("gh", true), {"method": "send"})}),
		"claimed": object.union(connect([]), {"effect": object.union(by("gh", true), {"claimed": true})}),
	}
	count(base.ask) == 1 with input as example
}
