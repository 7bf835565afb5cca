# Tests of what the profile "balanced" adds for git.
package permd.base_test

import data.permd.base
import rego.v2

stages(more) := object.union(
	{"effect": {
		"kind": "run", "tags": ["in_project"], "claimed": false, "declared": false, "shell": true, "program": "git", "subcommand": "add", "args": ["add", "a"],
		"flags": [], "stdin": "none", "readonly": false, "own_data": true, "known": true, "does": "stages changes",
	}},
	{"effect": more},
)

test_git_data if {
	base.allow == {"changes only what git keeps of the project"} with input as stages({})
	count(base.ask) == 0 with input as stages({})
}

test_no_git_data[name] if {
	some name, example in {
		"hooks": stages({"own_data": false}),
		"another program": stages({"program": "hg"}),
		"a claim": stages({"claimed": true}),
		"declared": stages({"declared": true}),
		"from the network": stages({"stdin": "network"}),
		"outside": stages({"tags": ["outside"]}),
		"another tree": stages({"tags": ["outside", "worktree"]}),
	}
	count(base.allow) == 0 with input as example
}
