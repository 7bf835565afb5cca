package permd.org_test

import data.permd.org
import rego.v2

connect(host, method) := {"effect": {"kind": "connect", "host": host, "port": 443, "method": method, "tags": []}}

push(args, flags) := {"effect": {"kind": "run", "program": "git", "subcommand": "push", "args": args, "flags": flags}}

test_sending_to_production_is_denied if {
	count(org.deny) == 1 with input as connect("db.prod.example.com", "send")
}

test_reading_from_production_asks if {
	count(org.deny) == 0 with input as connect("db.prod.example.com", "get")
	some answer in org.ask with input as connect("db.prod.example.com", "get")
	answer.remember == false
}

test_production_is_a_domain if {
	count(org.ask) == 0 with input as connect("xprod.example.com", "get")
	count(org.ask) == 0 with input as connect("prod.example.com.evil.example", "get")
}

test_shared_branches[name] if {
	some name, example in {
		"main": push(["push", "-f", "origin", "main"], ["--force"]),
		"plus": push(["push", "origin", "+release"], ["--force"]),
	}
	count(org.deny) == 1 with input as example
}

test_other_pushes[name] if {
	some name, example in {
		"plain": push(["push", "origin", "main"], []),
		"own branch": push(["push", "-f", "origin", "feature"], ["--force"]),
	}
	count(org.deny) == 0 with input as example
}

test_packages if {
	some answer in org.ask with input as connect("pypi.org", "get")
	answer.remember == true
	count(org.allow) == 1 with input as connect("mirror.example.com", "get")
	count(org.allow) == 0 with input as connect("mirror.example.com", "send")
}

test_servers if {
	count(org.deny) == 1 with input as {"effect": {"kind": "use", "server": "x", "source": "project", "tool": "y"}}
	count(org.deny) == 0 with input as {"effect": {"kind": "use", "server": "x", "source": "user", "tool": "y"}}
}
