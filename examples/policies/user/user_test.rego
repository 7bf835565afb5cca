package permd.user_test

import data.permd.user
import rego.v2

go(subcommand, fields) := {"effect": object.union(
	{
		"kind": "run", "program": "go", "subcommand": subcommand,
		"args": split(subcommand, " "), "flags": [], "tags": ["in_project"],
	},
	fields,
)}

file(kind, path) := {"effect": {
	"kind": kind, "path": concat("/", ["/home/dev/p", path]), "project_path": path,
	"tags": ["in_project"], "recursive": false,
}}

run(program, args) := {"effect": {
	"kind": "run", "program": program, "subcommand": args[0],
	"args": args, "flags": [], "tags": ["in_project"],
}}

test_go[name] if {
	some name, example in {"test": go("test", {}), "tidy": go("mod tidy", {})}
	count(user.allow) == 1 with input as example
}

test_go_that_runs_other_things[name] if {
	some name, example in {
		"generate": go("generate", {}),
		"exec": go("test", {"flags": ["-exec"]}),
		"toolexec": go("build", {"flags": ["-toolexec"]}),
		"elsewhere": go("test", {"tags": ["outside"]}),
	}
	count(user.allow) == 0 with input as example
}

test_edits if {
	count(user.allow) == 1 with input as file("write", "main.go")
	count(user.allow) == 0 with input as file("delete", "main.go")
	count(user.ask) == 0 with input as file("write", "main.go")
	count(user.ask) == 1 with input as file("write", "schema/order.json")
}

test_only_the_test_key_is_covered if {
	some answer in user.allow with input as file("read", "testdata/server.key")
	answer.covers == ["secret"]
	count(user.allow) == 0 with input as file("read", "server.key")
}

test_commits_ask if {
	some answer in user.ask with input as run("git", ["commit", "-m", "x"])
	answer.remember == false
	count(user.ask) == 0 with input as run("git", ["status"])
}

test_nothing_is_published if {
	count(user.deny) == 1 with input as run("npm", ["publish"])
	count(user.deny) == 0 with input as run("npm", ["test"])
}
