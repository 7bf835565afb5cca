package discovery

# The share of the machines, in percent, that try the rules of next.tar.gz.
trying := 0

# Another name selects other machines.
rollout := "first"

config.bundles.org := object.union(bundle, {"resource": "org.tar.gz"})

config.bundles.shadow := object.union(bundle, {"resource": "next.tar.gz"}) if tries

bundle := {
	"service": "web",
	"signing": {"keyid": "release", "scope": "permd"},
	"polling": {"min_delay_seconds": 60, "max_delay_seconds": 120},
}

# A machine is a number below 65536, the same each time: the first four digits of a hash.
tries if {
	labels := opa.runtime().config.labels
	digits := crypto.sha256(concat(" ", [rollout, labels.id]))
	number := sum([value |
		some i, power in [4096, 256, 16, 1]
		value := power * indexof("0123456789abcdef", substring(digits, i, 1))
	])
	number * 100 < trying * 65536
}
