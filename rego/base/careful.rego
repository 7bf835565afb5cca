# What the profile "careful" adds: a person sees every change, also those to
# files of the project.
package permd.base

import rego.v2

# METADATA
# title: Changing files of the project
# custom:
#   id: base.write-project
ask contains "changes a file of the project" if {
	input.effect.kind == "write"
	"in_project" in input.effect.tags
}
