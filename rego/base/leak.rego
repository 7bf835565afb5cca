# What permd never allows by itself, continued: secrets that are sent away.
# Reading a secret and reaching the network in one call always needs a person;
# here it is certain that the one goes into the other.
package permd.base

import rego.v2

# Programs that send what they are given.
senders := {
	"aws", "az", "curl", "ftp", "gcloud", "gsutil", "http", "https", "lftp", "mc", "nc", "nc.openbsd", "nc.traditional", "ncat",
	"netcat", "openssl", "rclone", "rsync", "s3cmd", "scp", "sftp", "socat", "telnet", "tftp", "wget", "websocat", "xh", "xhs",
}

# Programs whose questions carry words to servers of anybody.
askers := {"curl", "dig", "drill", "ftp", "host", "http", "https", "nc", "ncat", "netcat", "nslookup", "ping", "telnet", "wget", "xh", "xhs"}

leaves if {
	"connect" in input.call.kinds
	not "loopback" in input.call.tags
}

# The word before the one that names a secret, where it is used to log in.
login_options := {
	"-E", "-F", "-H", "-K", "-e", "-i", "-u", "--cacert", "--cert", "--config", "--env-file", "--header", "--key", "--netrc-file",
	"--oauth2-bearer", "--password-file", "--profile", "--user",
}

logs_in(words, word) if {
	some i
	words[i] == word
	words[i - 1] in login_options
}

logs_in(words, word) if {
	some option in login_options
	some joined in words
	joined == concat("=", [option, word])
}

# METADATA
# title: Sending a file that is a secret
# custom:
#   id: base.send-secret
deny contains "would send a secret away" if {
	input.effect.kind == "read"
	"secret" in input.effect.tags
	input.effect.by.program in senders
	leaves
	not logs_in(input.effect.by.args, input.effect.by.arg)
}

# METADATA
# title: Sending a secret that another program reads
# custom:
#   id: base.pipe-secret
deny contains "would send a secret away" if {
	input.effect.kind == "run"
	input.effect.program in senders
	input.effect.stdin in {"pipe", "network"}
	takes_stdin
	"secret" in input.call.tags
	leaves
}

takes_stdin if input.effect.program in {
	"nc", "nc.openbsd", "nc.traditional", "ncat", "netcat", "openssl", "socat", "telnet", "websocat",
}

takes_stdin if {
	some word in input.effect.args
	regex.match(`(^|[@=])-$`, word)
}

# METADATA
# title: Sending a secret within the words of a command
# custom:
#   id: base.spell-secret
deny contains "would send a secret away" if {
	input.effect.kind == "run"
	input.effect.program in askers
	"secret" in input.call.tags
	secret_known
	some i
	input.effect.args[i] == "\u0000dynamic"
	not logging_in(i)
	not "loopback" in input.call.tags
}

# The call has the secret from a file, or from a program that prints one: what
# it only writes into a file with a secret's name is none yet.
secret_known if "read" in input.call.kinds

secret_known if count({"delete", "write"} & {kind | some kind in input.call.kinds}) == 0

logging_in(i) if input.effect.args[i - 1] in login_options
