# Tests of what the profiles "balanced" and "unattended" add for formatters.
package permd.base_test

import data.permd.base
import rego.v2

formats(more) := object.union(
	{"effect": {
		"kind": "run", "tags": ["in_project"], "claimed": false, "declared": false, "shell": true, "program": "gofmt", "subcommand": "", "args": ["-w", "a.go"],
		"flags": ["-w"], "stdin": "none", "readonly": false, "own_data": false, "reformats": true, "known": true, "does": "rewrites source files in go's format",
	}},
	{"effect": more},
)

formatted_file(more) := object.union(
	{"effect": {
		"kind": "write", "tags": ["in_project"], "claimed": false, "declared": false, "shell": true, "path": "/p/a.go", "recursive": true, "reformats": true,
		"by": {"program": "gofmt", "inherent": false},
	}},
	{"effect": more},
)

test_format if {
	"puts files into the format of their language" in base.allow with input as formats({})
	count(base.ask) == 0 with input as formats({})
	"puts a file of the project into the format of its language" in base.allow with input as formatted_file({})
	count(base.ask) == 0 with input as formatted_file({})
}

test_no_format[name] if {
	some name, example in {
		"does more": formats({"reformats": false}),
		"a claim": formats({"claimed": true}),
		"declared": formats({"declared": true}),
		"from the network": formats({"stdin": "network"}),
		"outside": formats({"tags": ["outside"]}),
		"another tree": formats({"tags": ["outside", "worktree"]}),
		"another write": formatted_file({"reformats": false}),
		"a claimed write": formatted_file({"claimed": true}),
		"a declared write": formatted_file({"declared": true}),
		"a write outside": formatted_file({"tags": ["outside"]}),
		"a guarded write": formatted_file({"tags": ["in_project", "ci"]}),
	}
	count({reason | some reason in base.allow; contains(reason, "format")}) == 0 with input as example
}
