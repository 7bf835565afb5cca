# What the profiles "balanced" and "unattended" add for formatters: a program that
# only puts files into the format of their language changes them less than an
# edit. It does so only if nothing of the project tells it to do more
# (effect.reformats); what is guarded or lies elsewhere asks as ever.
package permd.base

import rego.v2

# METADATA
# title: Formatters may run in the project
# custom:
#   id: base.format
allow contains "puts files into the format of their language" if {
	input.effect.kind == "run"
	input.effect.reformats == true
	format_run
}

format_run if {
	input.effect.reformats == true
	input.effect.known == true
	input.effect.claimed == false
	input.effect.declared == false
	input.effect.stdin != "network"
	"in_project" in input.effect.tags
}

ordinary_run if format_run

# METADATA
# title: Formatters may rewrite files of the project
# custom:
#   id: base.format-file
allow contains "puts a file of the project into the format of its language" if {
	input.effect.kind == "write"
	formatted
	unguarded
}

formatted if {
	input.effect.reformats == true
	input.effect.claimed == false
	input.effect.declared == false
	"in_project" in input.effect.tags
}
