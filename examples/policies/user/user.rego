# A user policy: what one person wants of the agents that work for them. An
# allow covers the one effect that it sees; whatever else a call would do needs
# an allow of its own.
package permd.user

import rego.v2

# Sub-commands of go that build and test. "go generate" is not among them: it
# runs whatever the source says.
go_work := {"build", "test", "vet", "fmt", "list", "mod tidy"}

# METADATA
# title: Go code of the project may be built and tested
# custom:
#   id: user.go
allow contains "builds and tests Go code" if {
	input.effect.kind == "run"
	input.effect.program == "go"
	input.effect.subcommand in go_work
	"in_project" in input.effect.tags
	not "-exec" in input.effect.flags
	not "-toolexec" in input.effect.flags
}

# METADATA
# title: The source of the project may be edited
# description: What is guarded (.git, .env, pipelines, agents' settings) asks all the same.
# custom:
#   id: user.edit
allow contains "edits the project" if {
	input.effect.kind == "write"
	"in_project" in input.effect.tags
	input.effect.recursive == false
}

# METADATA
# title: This one test key is no secret
# description: Only covers lets an allow speak of something guarded.
# custom:
#   id: user.test-key
allow contains {"reason": "a key made for tests", "covers": ["secret"]} if {
	input.effect.kind == "read"
	input.effect.project_path == "testdata/server.key"
}

# METADATA
# title: Files that other people generate from
# custom:
#   id: user.ask-schema
ask contains {
	"reason": "the schema is shared with the other teams",
	"message": "Say in the merge request what changes for callers.",
} if {
	input.effect.kind == "write"
	startswith(input.effect.project_path, "schema/")
}

# METADATA
# title: Commits go through me
# custom:
#   id: user.ask-commit
ask contains {"reason": "I read what is committed", "remember": false} if {
	input.effect.kind == "run"
	input.effect.program == "git"
	input.effect.subcommand == "commit"
}

# METADATA
# title: Nothing is published
# custom:
#   id: user.no-publish
deny contains "releases are made by hand" if {
	input.effect.kind == "run"
	input.effect.program in {"npm", "pnpm", "yarn", "cargo", "twine"}
	some word in input.effect.args
	word in {"publish", "upload"}
}
