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

test_balanced_edit_folder if {
	base.ask == {"changes a folder of the project with all that is in it"} with input as file("write", "/home/dev/p/a", ["in_project"], true)
}

test_balanced_file_program if {
	base.allow == {"changes only the files it names"} with input as run("mkdir", ["a"], {"known": true})
	count(base.ask) == 0 with input as run("mkdir", ["a"], {"known": true})
}

# What it changes there is an effect of its own, which asks.
test_balanced_file_program_outside if {
	outside := run("mkdir", ["a"], {"known": true, "tags": ["outside"]})
	base.allow == {"changes only the files it names"} with input as outside
	count(base.ask) == 0 with input as outside
}

test_balanced_no_file_program[name] if {
	some name, example in {
		"another outside": run("make", ["a"], {"known": true, "tags": ["outside"]}),
		"from the network": run("tee", ["a"], {"known": true, "stdin": "network"}),
		"own table": run("mkdir", ["a"], {"known": false}),
		"own path": run("./mkdir", ["a"], {"known": false}),
		"claimed": run("mkdir", ["a"], {"known": true, "claimed": true}),
		"declared": declared(run("mkdir", ["a"], {"known": true})),
		"another": run("git", ["add", "."], {"known": true, "subcommand": "add"}),
	}
	count(base.allow) == 0 with input as example
	count(base.ask) > 0 with input as example
}

test_balanced_no_claimed_edit if {
	claimed := effect("write", {"path": "/home/dev/p/a", "given": "a", "recursive": false, "claimed": true})
	count(base.allow) == 0 with input as claimed
}

# Of tools that only a client describes, nothing but reads is allowed.
test_balanced_no_declared_change[name] if {
	some name, example in {
		"edit": file("write", "/home/dev/p/a", ["in_project"], false),
		"edit by a command": object.union(file("write", "/home/dev/p/a", ["in_project"], false), {"effect": {"shell": true}}),
		"folder": object.union(file("write", "/home/dev/p/a", ["in_project"], false), {"effect": {"shell": true, "by": {"program": "mkdir", "inherent": false}}}),
		"delete": file("delete", "/home/dev/p/a", ["in_project"], false),
		"fetch": connect([]),
		"query": object.union(connect([]), {"effect": by("gh", true)}),
	}
	count(base.allow) == 0 with input as declared(example)
	count(base.ask) > 0 with input as declared(example)
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
		"instructions of a dependency": of_home("go/pkg/mod/x/CLAUDE.md", ["agent_config"]),
		"skill": of_home(".codex/skills/x/SKILL.md", ["agent_config"]),
		"skill of a plugin": of_home(".claude/plugins/cache/m/p/1.0/skills/x/reference.md", ["agent_config"]),
		"processor": file("read", "/proc/cpuinfo", ["outside", "system"], false),
		"all of the processor": file("read", "/sys/devices/system/cpu", ["outside", "system"], true),
		"names": named("ls", [], file("read", "/usr/bin", ["outside", "system", "vital"], false)),
		"temporary names": named("find", ["/tmp/a", "!", "-name", "b"], file("read", "/tmp/a", ["outside", "temp"], true)),
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
		"secret of a dependency": of_home("go/pkg/mod/x/.env", ["secret"]),
		"repository of a dependency": of_home(".cargo/git/checkouts/x/.git/config", ["vcs"]),
		"settings beside a skill": of_home(".codex/skills/x/config.toml", ["agent_config"]),
		"settings of the agent": of_home(".codex/config.toml", ["agent_config"]),
		"notes of the agent": of_home(".claude/plans/x.md", ["agent_config"]),
		"skill that is a secret": of_home(".codex/skills/x/.env.md", ["agent_config", "secret"]),
		"settings of Homebrew's programs": file("read", "/opt/homebrew/etc/my.cnf", ["outside", "system"], false),
		"temporary files": named("grep", ["-r", "x", "/tmp/a"], file("read", "/tmp/a", ["outside", "temp"], true)),
		"temporary names, through links": named("find", ["-L", "/tmp/a"], file("read", "/tmp/a", ["outside", "temp"], true)),
		"temporary names, and more": named("find", ["/tmp/a", "-follow"], file("read", "/tmp/a", ["outside", "temp"], true)),
		"temporary secrets": named("find", ["/tmp/a"], file("read", "/tmp/a", ["outside", "temp", "secret"], true)),
		"device": named("cat", ["/dev"], file("read", "/dev", ["outside", "system", "vital"], false)),
		"names of all devices": named("ls", ["-R", "/dev"], file("read", "/dev", ["outside", "system", "vital"], true)),
		"names of logs": named("ls", ["/var/log"], file("read", "/var/log", ["outside", "system", "vital"], false)),
		"claimed": effect("read", {"path": "/tmp/a", "given": "", "recursive": false, "tags": ["outside", "temp"], "claimed": true}),
	}
	count(base.allow) == 0 with input as example
	count(base.ask) > 0 with input as example
}

of_home(path, tags) := effect("read", {
	"path": concat("/", ["/home/dev", path]), "home_path": path,
	"given": "", "recursive": false, "tags": array.concat(["outside", "home"], tags),
})

named(program, args, example) := object.union(example, {"effect": {"by": {
	"program": program, "subcommand": "",
	"args": args, "inherent": false, "arg": "",
}}})

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

plans(more) := object.union(
	{"effect": {
		"kind": "write", "tags": ["outside", "home"], "claimed": false, "declared": false, "shell": false, "path": "/home/u/.claude/plans/a.md",
		"home_path": ".claude/plans/a.md", "recursive": false,
	}},
	{"effect": more},
)

test_plan if {
	base.allow == {"writes the agent's plan"} with input as plans({})
	count(base.ask) == 0 with input as plans({})
	base.allow == {"reads what is no secret"} with input as plans({"kind": "read", "shell": true})
	count(base.ask) == 0 with input as plans({"kind": "read", "shell": true})
}

test_no_plan[name] if {
	some name, example in {
		"by a command": plans({"shell": true}),
		"a claim": plans({"claimed": true}),
		"declared": plans({"declared": true}),
		"a folder": plans({"recursive": true}),
		"no text": plans({"home_path": ".claude/plans/a.sh", "path": "/home/u/.claude/plans/a.sh"}),
		"below": plans({"home_path": ".claude/plans/a/a.md", "path": "/home/u/.claude/plans/a/a.md"}),
		"by a link": plans({"path": "/home/u/.claude/other.md"}),
		"guarded": plans({"tags": ["outside", "agent_config"]}),
		"deleted": plans({"kind": "delete"}),
	}
	count(base.allow) == 0 with input as example
	count(base.ask) > 0 with input as example
}
