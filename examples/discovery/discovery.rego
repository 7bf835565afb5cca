# Which bundles a machine takes, and where it reports: all machines have the
# rules of org.tar.gz in force, and a share of them tries those of next.tar.gz.
# opa.yaml names the decision: discovery.decision is discovery/config.
package discovery

config.bundles.org := bundle("org.tar.gz")

config.bundles.shadow := bundle("next.tar.gz") if canary

config.status.service := "control"

config.decision_logs.service := "control"

# percent is the share of the machines that try the next rules. To roll them
# out, publish them as org.tar.gz; to end the trial, write 0.
percent := 5

# rollout chooses the machines: with another text other machines are chosen.
rollout := "2027-01"

# Machines with the label canary try everything first.
canary if labels.canary == "true"

canary if slot < percent

# slot is a number from 0 to 99. It stays the same for a machine as long as
# rollout does, so that a larger share has all machines of a smaller one.
slot := number % 100 if {
	digits := substring(crypto.sha256(sprintf("%s/%s", [rollout, labels.id])), 0, 4)
	number := sum([value |
		some i, weight in [4096, 256, 16, 1]
		value := weight * indexof("0123456789abcdef", substring(digits, i, 1))
	])
}

labels := opa.runtime().config.labels

bundle(name) := {
	"service": "control",
	"resource": name,
	"signing": {"keyid": "release"},
}
