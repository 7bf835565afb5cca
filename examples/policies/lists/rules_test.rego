# Tests of rules.yaml. A list becomes Rego of the layer it lies in; as nothing
# here says otherwise, that is the user layer.
package permd.user_test

import data.permd.user
import rego.v2

project := {"root": "/home/dev/p", "trusted": false}

run(program, args, fields) := {"project": project, "effect": object.union(
	{
		"kind": "run", "program": program, "executable": "", "subcommand": "", "args": args, "flags": [],
		"tags": ["in_project"], "cwd": "/home/dev/p", "stdin": "none", "known": true, "readonly": false, "harmless_from": 0,
	},
	fields,
)}

file(kind, path, fields) := {"project": project, "effect": object.union(
	{
		"kind": kind, "path": concat("/", ["/home/dev/p", path]), "project_path": path,
		"tags": ["in_project"], "recursive": false,
	},
	fields,
)}

connect(host, port) := {"effect": {"kind": "connect", "host": host, "port": port, "scheme": "https", "tags": []}}

use(server, tool) := {"effect": {"kind": "use", "server": server, "source": "", "tool": tool, "tags": []}}

test_allowed[name] if {
	some name, example in {
		"test": run("go", ["test", "./..."], {}),
		"script": run("/home/dev/p/scripts/lint.sh", [], {"known": false}),
		"docs": file("write", "docs/a/b.md", {}),
		"header": {"effect": {"kind": "read", "path": "/usr/include/stdio.h", "tags": ["outside", "system"], "recursive": false}},
		"build": file("delete", "build", {"recursive": true}),
		"below a domain": connect("docs.python.org", 443),
		"port": connect("localhost", 8080),
		"tool": use("github", "get_issue"),
	}
	count(user.allow) == 1 with input as example
	count(user.deny) == 0 with input as example
}

test_not_allowed[name] if {
	some name, example in {
		"harmful option": run("go", ["test", "-exec", "./x"], {"harmless_from": 3}),
		"outside": run("go", ["test"], {"tags": ["outside"], "cwd": "/tmp"}),
		"another script": run("/home/dev/p/vendor/scripts/lint.sh", [], {"known": false}),
		"another folder": file("write", "docsx/a.md", {}),
		"whole project": file("delete", ".", {"recursive": true}),
		"domain itself": connect("python.org", 443),
		"another port": connect("localhost", 8081),
		"look-alike": connect("docs.python.org.evil.example", 443),
		"another server": use("github2", "get_issue"),
	}
	count(user.allow) == 0 with input as example
}

test_an_entry_allows_what_its_words_do if {
	curl := {"program": "curl", "subcommand": "", "inherent": false, "arg": "https://docs.example.com/api.json"}
	example := connect("docs.example.com", 443)
	spelled := object.union(example, {"effect": {"by": object.union(curl, {"args": ["-s", curl.arg]})}})
	count(user.allow) == 1 with input as spelled
	more := object.union(example, {"effect": {"by": object.union(curl, {"args": ["-s", curl.arg, "-d@x"]})}})
	count(user.allow) == 0 with input as more
}

test_only_an_exact_path_covers_what_is_guarded if {
	some answer in user.allow with input as file("write", ".github/workflows/test.yml", {"tags": ["in_project", "ci"]})
	"ci" in answer.covers
	wildcard := user.allow with input as file("write", "src/.env", {"tags": ["in_project", "secret"]})
	every answer in wildcard { is_string(answer) }
}

test_asked if {
	count(user.ask) == 1 with input as file("write", "docs/adr/1.md", {})
	count(user.ask) == 0 with input as file("write", "docs/1.md", {})
}

test_denied[name] if {
	some name, example in {
		"option elsewhere": run("git", ["push", "origin", "-f"], {"subcommand": "push", "flags": ["--force"]}),
		"publish": run("npm", ["publish"], {}),
		"data": file("delete", "data/customers.db", {}),
		"data with its folder": file("delete", "data", {"recursive": true}),
		"data with the project": {"project": project, "effect": {"kind": "delete", "path": "/home/dev/p", "tags": [], "recursive": true}},
		"tool": use("any", "delete_all"),
	}
	count(user.deny) == 1 with input as example
}

test_not_denied if {
	count(user.deny) == 0 with input as run("git", ["push", "origin"], {"subcommand": "push"})
	count(user.deny) == 0 with input as file("delete", "data/old.db", {})
}
