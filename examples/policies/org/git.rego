# Shared branches only grow. What the agent pushes is known by what it names; the
# server must refuse the rest, since a person can push without an agent.
package permd.org

import rego.v2

# Branches that many work on. All that begins with a word and "/" is meant with it:
# release/1.2.
shared := {"develop", "main", "master", "prod", "production", "release", "stable", "staging", "trunk"}

# Options that rewrite or delete what the server has; permd says so by their long
# names, of -f, -d, --forc, +main and :main too.
rewriting := {"--delete", "--force", "--force-with-lease", "--mirror", "--prune"}

# METADATA
# title: Nobody rewrites or deletes a shared branch
# description: >-
#   A push that rewrites must name each branch that it leads to. Without names git takes
#   the branch that is checked out, or what the repository's settings say.
# custom:
#   id: org.no-force-push
deny contains {
	"reason": "shared branches are never rewritten",
	"message": "Push your own branch by its name: git push --force-with-lease origin NAME.",
} if {
	input.effect.kind == "run"
	input.effect.program == "git"
	input.effect.subcommand == "push"
	some flag in rewriting
	flag in input.effect.flags
	not own_branches
}

own_branches if {
	not many_refs
	count(input.effect.operands) > 1
	every refspec in array.slice(input.effect.operands, 1, count(input.effect.operands)) {
		own_branch(destination(refspec))
	}
}

many_refs if {
	some flag in {"--all", "--branches", "--mirror", "--prune", "--tags"}
	flag in input.effect.flags
}

# destination is where a refspec leads to, as a branch: SRC:DST, +SRC:DST, :DST, NAME.
destination(refspec) := name if {
	parts := split(trim_prefix(refspec, "+"), ":")
	count(parts) <= 2
	name := trim_prefix(trim_prefix(parts[count(parts) - 1], "refs/"), "heads/")
}

# No patterns, no HEAD or @, which may be a shared branch, no words that are known only when
# the command runs, and no other references, such as tags.
own_branch(name) if {
	regex.match(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`, name)
	first := lower(split(name, "/")[0])
	not first in shared
	not first in {"head", "notes", "pull", "refs", "remotes", "tag", "tags"}
}

# METADATA
# title: No plumbing that pushes
# custom:
#   id: org.no-send-pack
deny contains "git push is the way to push" if {
	input.effect.kind == "run"
	input.effect.program == "git"
	some word in input.effect.args
	word in {"http-push", "send-pack"}
}

# METADATA
# title: Nobody rewrites references by the server's interface
# custom:
#   id: org.no-ref-requests
deny contains "references are changed by git push alone" if {
	input.effect.kind == "connect"
	input.effect.method == "send"
	some word in array.concat([input.effect.url], object.get(input.effect, ["by", "args"], []))
	regex.match(`(?i)(^|/)(git/refs|branches|protected_branches|rulesets)([/?]|$)|\b(updateRefs?|deleteRef|(update|delete)BranchProtectionRule)\b`, word)
}

# METADATA
# title: Repositories are not deleted or handed over
# custom:
#   id: org.no-repository-changes
deny contains "repositories belong to the organisation" if {
	input.effect.kind == "run"
	input.effect.program == "gh"
	input.effect.subcommand in {"repo archive", "repo delete", "repo edit", "repo rename"}
}

# METADATA
# title: Nobody merges past the checks
# custom:
#   id: org.no-admin-merge
deny contains "what is merged has passed its checks" if {
	input.effect.kind == "run"
	input.effect.program == "gh"
	input.effect.subcommand in {"pr merge", "repo sync"}
	some flag in input.effect.args
	regex.match(`^--(admin|force)(=|$)`, flag)
}
