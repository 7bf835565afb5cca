# Production is changed by the pipeline.
package permd.org

import rego.v2

production_domains := {"prod.example.com"}

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
	within(input.effect.host, production_domains)
	input.effect.method == "send"
}

# METADATA
# title: Reading from production asks every time
# custom:
#   id: org.ask-production
ask contains {"reason": "production host", "remember": false} if {
	input.effect.kind == "connect"
	within(input.effect.host, production_domains)
}

# METADATA
# title: Nothing is changed where production is named
# custom:
#   id: org.no-production-changes
deny contains {
	"reason": "names production, which is changed by the pipeline only",
	"message": "Open a merge request; the pipeline deploys it.",
} if {
	input.effect.kind == "run"
	input.effect.program in infrastructure
	not looks
	not prose
	names_production
}

# What permd knows to change nothing, and commands that only show what is there.
looks if input.effect.readonly

looks if {
	words := split(input.effect.subcommand, " ")
	words[count(words) - 1] in {
		"can-i", "cluster-info", "describe", "diff", "events", "explain", "fmt", "get", "history", "lint", "list", "logs", "ls",
		"show", "status", "template", "top", "validate", "version", "wait",
	}
}

# Commands whose words are text of people and names of branches.
prose if {
	input.effect.program in {"gh", "glab"}
	split(input.effect.subcommand, " ")[0] in {"issue", "mr", "pr", "release", "repo", "search"}
}

# In a word of the command: --context prod, -chdir=envs/production.
names_production if {
	some word in input.effect.args
	production_word(word)
}

# Or in the folder that the command runs in: cd envs/prod && terraform apply.
names_production if production_word(input.effect.cwd)

production_word(word) if regex.match(`(?i)(^|[^a-z])(prd|prod|production)([^a-z]|$)`, word)

# METADATA
# title: No settings that point to production
# description: AWS_PROFILE=prod, which the commands after it obey.
# custom:
#   id: org.no-production-settings
deny contains "points to production, which is changed by the pipeline only" if {
	input.effect.kind == "state"
	some word in split(input.effect.text, " ")
	regex.match(`(?i)^(argocd|arm|aws|azure|cloudsdk|database|docker|google|helm|kube|mysql|pg|pulumi|tf|vault)[a-z0-9_]*=`, word)
	production_word(word)
}

# METADATA
# title: Changes of infrastructure ask every time
# description: Which cluster, account or workspace they change, their settings say.
# custom:
#   id: org.ask-infrastructure
ask contains {"reason": "may change infrastructure", "remember": false} if {
	input.effect.kind == "run"
	input.effect.program in infrastructure
	not looks
}
