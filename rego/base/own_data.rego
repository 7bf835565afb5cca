# What the profile "balanced" adds for git: what it keeps of a project may change
# without a person, who sees it all in the history. On machines where nobody looks
# ("unattended") it asks, so that it is rejected.
package permd.base

import rego.v2

# METADATA
# title: git may stage files, and make branches
# description: |
#   What is staged, and a new branch, touch no file of the project, and git keeps
#   what was there before. It asks where the repository is not plain: with hooks,
#   links, or settings that are not known to matter nothing.
# custom:
#   id: base.own-data
allow contains "changes only what git keeps of the project" if {
	input.effect.kind == "run"
	input.effect.program == "git"
	input.effect.own_data == true
	plain_git_run
}

own_data_run if {
	input.effect.program == "git"
	input.effect.own_data == true
	plain_git_run
}

# The program is not named here, so that permd explain names the rule for git alone.
plain_git_run if {
	input.effect.known == true
	input.effect.claimed == false
	input.effect.declared == false
	input.effect.stdin != "network"
	"in_project" in input.effect.tags
}

ordinary_run if own_data_run
