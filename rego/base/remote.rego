# What permd never allows by itself, continued: handing this machine to another
# one. Each of these has only one meaning; a shell that reads what comes from the
# network in other ways is not understood, and asks.
package permd.base

import rego.v2

shells := {"ash", "bash", "csh", "dash", "fish", "ksh", "sh", "tcsh", "zsh"}

# METADATA
# title: An interactive shell for another machine
# custom:
#   id: base.remote-shell
deny contains "would give a shell of this machine to another one" if {
	input.effect.kind == "run"
	input.effect.program in shells
	input.effect.stdin in {"network", "pipe"}
	"-i" in input.effect.flags
	not "-c" in input.effect.flags
	"connect" in input.call.kinds
	not "loopback" in input.call.tags
}

# METADATA
# title: A shell behind a port or a connection
# custom:
#   id: base.port-shell
deny contains "would give a shell of this machine to another one" if {
	input.effect.kind == "run"
	input.effect.program in {"nc", "nc.openbsd", "nc.traditional", "ncat", "netcat"}
	some option in input.effect.args
	regex.match(`^(-[a-zA-Z]*[ce]|--exec|--sh-exec|--lua-exec)(=|$)|^--(sh-)?exec=`, option)
	some word in input.effect.args
	regex.match(`^(--(sh-)?exec=)?(/\S*/)?((ba|da|z|k|a|c|tc|fi)?sh|cmd(\.exe)?|powershell(\.exe)?)(\s|$)`, word)
}

# METADATA
# title: A shell behind an address of socat
# custom:
#   id: base.socat-shell
deny contains "would give a shell of this machine to another one" if {
	input.effect.kind == "run"
	input.effect.program == "socat"
	some address in input.effect.args
	regex.match(`(?i)^(exec|system|shell):["']?(/\S*/)?(ba|da|z|k|a|c|tc|fi)?sh(["',\s]|$)`, address)
	some other in input.effect.args
	regex.match(`(?i)^(tcp|udp|sctp|ssl|openssl|vsock|dtls)[0-9a-z-]*:`, other)
}

# METADATA
# title: Code that joins a shell to a connection
# custom:
#   id: base.code-shell
deny contains "would give a shell of this machine to another one" if {
	input.effect.kind == "run"
	input.effect.program in {
		"bun", "deno", "lua", "node", "nodejs", "perl", "php", "pypy3", "python", "python2", "python3", "ruby", "tclsh",
	}
	some flag in {"-E", "-c", "-e", "-r", "--eval"}
	flag in input.effect.flags
	regex.match(`\bconnect\s|sockaddr_in|fsockopen|TCPSocket|\.bind\s`, code)
	regex.match(`/bin/(ba|da|z|k|a|c|tc|fi)?sh\b|pty\.spawn|cmd\.exe|powershell`, code)
	regex.match(`dup2|fileno|[<>]&|\.pipe\s|STDIN|stdin`, code)
}

# METADATA
# title: A secret into a connection of the shell
# custom:
#   id: base.socket-secret
deny contains "would send a secret away" if {
	input.effect.kind == "connect"
	input.effect.shell == true
	input.effect.method == "send"
	not input.effect.by
	"secret" in input.call.tags
	"read" in input.call.kinds
	not "loopback" in input.effect.tags
}

# METADATA
# title: A script from the network, run as another user
# custom:
#   id: base.root-script
deny contains "would run code from the network as another user" if {
	input.effect.kind == "unknown"
	input.effect.by.program in {"doas", "dzdo", "gosu", "pfexec", "pkexec", "run0", "runuser", "su", "su-exec", "sudo"}
	contains(input.effect.text, "a script that an earlier part of the call fetches")
}
