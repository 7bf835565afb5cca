# Tests of rules.yaml. What programs/deployctl.yaml does to a command is shown by
# permd decide.
package permd.user_test

import data.permd.user
import rego.v2

push(args, flags) := {"effect": {
	"kind": "run", "program": "deployctl", "executable": "", "args": args, "subcommand": "push", "flags": flags, "tags": ["in_project"],
}}

test_no_force if {
	count(user.deny) == 1 with input as push(["push", "web", "-f"], ["--force"])
	count(user.deny) == 0 with input as push(["push", "web"], [])
}
