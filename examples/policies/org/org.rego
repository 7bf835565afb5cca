# An org policy: rules of the admins, for every person and agent on a machine.
# A deny here is final. An ask here is put to the person each time, unless it
# says that a remembered answer will do.
package permd.org

import rego.v2

# METADATA
# title: Production is changed by the pipeline
# description: Reading from production is somebody's job; sending to it is nobody's.
# custom:
#   id: org.no-sends-to-production
deny contains {
	"reason": "production is changed by the pipeline only",
	"message": "Open a merge request; the pipeline deploys it.",
} if {
	input.effect.kind == "connect"
	endswith(input.effect.host, ".prod.example.com")
	input.effect.method == "send"
}

# METADATA
# title: Reading from production asks every time
# custom:
#   id: org.ask-production
ask contains {"reason": "production host", "remember": false} if {
	input.effect.kind == "connect"
	endswith(input.effect.host, ".prod.example.com")
}

# Branches that only grow.
protected := {"main", "master", "release"}

# METADATA
# title: Nobody rewrites a shared branch
# custom:
#   id: org.no-force-push
deny contains "shared branches are never rewritten" if {
	input.effect.kind == "run"
	input.effect.program == "git"
	input.effect.subcommand == "push"
	"--force" in input.effect.flags
	some word in input.effect.args
	trim_prefix(word, "+") in protected
}

# METADATA
# title: Packages come from the mirror
# description: A person may say yes, once and for all.
# custom:
#   id: org.ask-registries
ask contains {"reason": "packages come from mirror.example.com", "remember": true} if {
	input.effect.kind == "connect"
	input.effect.host in {"registry.npmjs.org", "pypi.org", "files.pythonhosted.org"}
}

# METADATA
# title: The mirror is open to all
# custom:
#   id: org.mirror
allow contains "the company's package mirror" if {
	input.effect.kind == "connect"
	input.effect.host == "mirror.example.com"
	input.effect.method == "get"
}

# METADATA
# title: No tools that a project's own settings bring
# description: A cloned repository must not be able to add a tool server.
# custom:
#   id: org.no-project-servers
deny contains "tool servers are set up by the person, not by a repository" if {
	input.effect.kind == "use"
	input.effect.source == "project"
}
