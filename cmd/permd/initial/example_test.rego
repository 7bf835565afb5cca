package permd.user_test

import data.permd.user
import rego.v2

push(args) := {"effect": {"kind": "run", "program": "git", "subcommand": "push", "args": args}}

test_shared_branches_ask[branch] if {
	some branch in ["main", "HEAD:main", "+fix:refs/heads/master"]
	some answer in user.ask with input as push(["push", "origin", branch])
	answer.remember == false
}

test_branches_of_ones_own_do_not[branch] if {
	some branch in ["fix-typo", "domain", "main:fix-typo"]
	count(user.ask) == 0 with input as push(["push", "origin", branch])
}
