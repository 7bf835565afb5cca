# What the profile "balanced" adds for git: what it keeps of a project may change
# without a person, who sees it all in the history. On machines where nobody looks
# ("unattended") a commit is rejected.
package permd.base

import rego.v2

# METADATA
# title: git may keep its own data
# description: |
#   What is staged and committed, and a new branch, touch no file of the project,
#   and git keeps what was there before. With hooks in the repository, or settings
#   that run programs, a person is asked.
# custom:
#   id: base.git-data
allow contains "changes only what git keeps of the project" if {
	input.effect.kind == "run"
	input.effect.program == "git" # said here too, for OPA's rule index
	input.effect.own_data == true
	git_data
}

git_data if {
	input.effect.program == "git"
	input.effect.own_data == true
	input.effect.known == true
	input.effect.claimed == false
	input.effect.declared == false
	input.effect.stdin != "network"
	"in_project" in input.effect.tags
}

ordinary_run if git_data
