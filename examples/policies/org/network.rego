# Where data may be sent to. Reading from elsewhere is left to the shipped rules, which
# ask.
package permd.org

import rego.v2

# Hosts that agents may send to, when the person says so, by their names and the domains
# below which all hosts are the organisation's own.
send_hosts := {"api.github.com", "github.com"}

send_domains := {"example.com"}

# METADATA
# title: Data is sent only to known places
# custom:
#   id: org.no-sends-elsewhere
deny contains {
	"reason": "sends to a host that is not on the organisation's list",
	"message": "Ask the admins to add the host, or let a person do it outside of the agent.",
} if {
	input.effect.kind == "connect"
	input.effect.method == "send"
	input.effect.host != ""
	not "loopback" in input.effect.tags
	not known_place
}

known_place if input.effect.host in send_hosts

known_place if within(input.effect.host, send_domains)

within(host, domains) if host in domains

within(host, domains) if {
	some domain in domains
	endswith(host, sprintf(".%s", [domain]))
}

# METADATA
# title: A place without a known name is asked about each time
# description: A git remote, a database or a cluster by the name that its settings give it.
# custom:
#   id: org.ask-unnamed-places
ask contains {"reason": "sends to a place whose host is not known", "remember": false} if {
	input.effect.kind == "connect"
	input.effect.method == "send"
	input.effect.host == ""
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
