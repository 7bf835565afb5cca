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
	names_production
}

# What permd knows to change nothing, and commands that only show what is there.
looks if input.effect.readonly

looks if {
	some word in split(input.effect.subcommand, " ")
	word in {"describe", "events", "get", "history", "list", "logs", "ls", "show", "status", "top"}
}

# In a word of the command: --context prod, -chdir=envs/production.
names_production if {
	some word in input.effect.args
	production_word(word)
}

production_word(word) if regex.match(`(?i)(^|[^a-z])(prd|prod|production)([^a-z]|$)`, word)

# METADATA
# title: No settings that point to production
# description: AWS_PROFILE=prod, which the commands after it obey.
# custom:
#   id: org.no-production-settings
deny contains "points to production, which is changed by the pipeline only" if {
	input.effect.kind == "state"
	regex.match(`(?i)^[a-z_ ]*(aws|azure|arm|cloudsdk|google|kube|helm|tf)[a-z0-9_]*=`, input.effect.why)
	production_word(input.effect.why)
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
