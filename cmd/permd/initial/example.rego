# A first rule in Rego, for what lists cannot say. Its tests are beside it, in
# example_test.rego: permd uses changed rules only if their tests pass.
package permd.user

import rego.v2

# METADATA
# title: Pushing to a shared branch is for people
# description: An ask of yours counts even where something else allows the push.
# custom:
#   id: user.shared-branch
ask contains {
	"reason": "others work on that branch",
	"message": "Push to a branch of your own and open a merge request.",
	"remember": false,
} if {
	input.effect.kind == "run"
	input.effect.program == "git"
	input.effect.subcommand == "push"
	some word in input.effect.args
	regex.match(`^(.*[:/+])?(main|master)$`, word)
}
