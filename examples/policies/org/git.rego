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
#   A push that rewrites must name each branch that it leads to, as NAME:NAME. Of a single
#   name, or of none, the repository's settings say where it leads (push.default, remote.*.push).
# custom:
#   id: org.no-force-push
deny contains {
	"reason": "shared branches are never rewritten",
	"message": "Push your own branch by both its names: git push --force-with-lease origin NAME:NAME.",
} if {
	input.effect.kind == "run"
	input.effect.program == "git"
	input.effect.subcommand == "push"
	some flag in rewriting
	flag in input.effect.flags
	not "--dry-run" in input.effect.flags
	not own_branches
}

own_branches if {
	not many_refs
	count(input.effect.operands) > 1
	every refspec in array.slice(input.effect.operands, 1, count(input.effect.operands)) {
		says_where(refspec)
		own_branch(destination(refspec))
	}
}

says_where(refspec) if contains(refspec, ":")

says_where(_) if "--delete" in input.effect.flags

many_refs if {
	some flag in {"--all", "--branches", "--mirror", "--prune", "--tags"}
	flag in input.effect.flags
}

# destination is where a refspec leads to, as a branch: SRC:DST, +SRC:DST, :DST, and NAME to delete.
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
	input.effect.subcommand in {"http-push", "send-pack"}
}

# METADATA
# title: No second name of a branch
# description: A push of a symbolic reference leads to what it stands for.
# custom:
#   id: org.no-symbolic-refs
deny contains "a push of the other name would lead to the branch" if {
	input.effect.kind == "run"
	input.effect.program == "git"
	input.effect.subcommand == "symbolic-ref"
	not input.effect.readonly
	object.get(input.effect, ["operands", 0], "") != "HEAD"
}

# Variables of git that change nothing of where it leads.
harmless_setting(word) if regex.match(
	`^GIT_(EDITOR|SEQUENCE_EDITOR|PAGER|AUTHOR_[A-Z]+|COMMITTER_[A-Z]+|TERMINAL_PROMPT|OPTIONAL_LOCKS|LFS_SKIP_SMUDGE)=`,
	word,
)

# METADATA
# title: No variables that change where git and its like lead
# description: GIT_CONFIG_COUNT and its like set any setting for one command.
# custom:
#   id: org.no-git-settings
deny contains "changes which server is meant, or what is pushed" if {
	input.effect.kind == "state"
	some word in split(input.effect.text, " ")
	regex.match(`^['"]?(GIT_[A-Z0-9_]*|(?i:https?|all|ftp|rsync)_(?i:proxy)|GH_HOST|GH_REPO|GITLAB_HOST|AWS_ENDPOINT_URL[A-Z0-9_]*|VAULT_ADDR)[+]?=`, word)
	not harmless_setting(word)
}

# Hosts of servers with repositories.
forges := {"api.github.com", "git.example.com", "github.com"}

# What people do with a project besides its code, as a path of the interfaces of GitHub and
# GitLab: without escapes and dots, which servers may read in another way.
everyday_request(word) if regex.match(
	`^(https://[a-z0-9.-]+)?(/?api/v[0-9]+)?/?(repos/[A-Za-z0-9_{][A-Za-z0-9_.{}-]*/[A-Za-z0-9_{][A-Za-z0-9_.{}-]*|projects/[A-Za-z0-9_:-]+)/(check-runs|comments|issues|labels|merge_requests|milestones|pulls|releases|statuses)(/[A-Za-z0-9_-]+)*$`,
	word,
)

# METADATA
# title: Nobody changes a repository by the server's interface
# description: A request that may change something is about issues and their like, and nothing else.
# custom:
#   id: org.no-ref-requests
deny contains "references are changed by git push alone" if {
	some word in requests
	not everyday_request(word)
}

requests contains word if {
	input.effect.kind == "run"
	input.effect.program in {"gh", "glab"}
	"api" in input.effect.args # perhaps behind options
	not input.effect.readonly
	some word in input.effect.args
	regex.match(`^(graphql$|[^=]*/)`, word)
}

requests contains input.effect.url if {
	input.effect.kind == "connect"
	input.effect.method == "send"
	input.effect.host in forges
	startswith(input.effect.scheme, "http")
	not object.get(input.effect, ["by", "program"], "") in {"gh", "git", "glab"}
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
