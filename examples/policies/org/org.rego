# An org policy: rules of the admins, for every person and agent on a machine. A deny
# here is final. An ask here is put to the person each time, unless it says that a
# remembered answer will do.
#
# Each file is one topic, and can be used without the others, but production.rego needs
# the list of programs of credentials.rego and "within" of network.rego.
package permd.org

import rego.v2

# METADATA
# title: No tools that a project's own settings bring
# description: A cloned repository must not be able to add a tool server.
# custom:
#   id: org.no-project-servers
deny contains "tool servers are set up by the person, not by a repository" if {
	input.effect.kind == "use"
	input.effect.source == "project"
}
