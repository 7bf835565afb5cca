package permd.org_test

import data.permd.org
import rego.v2

connect(host, method) := {"effect": {"kind": "connect", "host": host, "port": 443, "method": method, "tags": [], "url": ""}}

run(program, subcommand, more) := {"effect": object.union(
	{"kind": "run", "program": program, "subcommand": subcommand, "args": [], "flags": [], "tags": [], "readonly": false},
	more,
)}

# What permd says of: git push -f OPERANDS.
forced(operands) := run("git", "push", {
	"args": array.concat(["push", "-f"], operands),
	"flags": ["--force"],
	"operands": operands,
})

test_servers if {
	count(org.deny) == 1 with input as {"effect": {"kind": "use", "server": "x", "source": "project", "tool": "y"}}
	count(org.deny) == 0 with input as {"effect": {"kind": "use", "server": "x", "source": "user", "tool": "y"}}
}

test_shared_branches[name] if {
	some name, operands in {
		"main": ["origin", "main"],
		"plus": ["origin", "+release"],
		"below release": ["origin", "release/1.2"],
		"whole name": ["origin", "HEAD:refs/heads/main"],
		"shorter name": ["origin", "HEAD:heads/main"],
		"other case": ["origin", "Main"],
		"deleted": ["origin", ":main"],
		"one of two": ["origin", "own", "main"],
		"what is checked out": ["origin", "HEAD"],
		"its short name": ["origin", "@"],
		"not named": ["origin"],
		"where it leads is not named": ["origin", "own"],
		"no remote": [],
		"pattern": ["origin", "refs/heads/*:refs/heads/*"],
		"known only when it runs": ["origin", "\u0000dynamic"],
		"matching": ["origin", ":"],
		"two colons": ["origin", "a:b:own"],
		"tag": ["origin", "refs/tags/v1"],
		"tag by its name": ["origin", "tag", "v1"],
	}
	count(org.deny) == 1 with input as forced(operands)
}

test_many_refs[flag] if {
	some flag in ["--all", "--mirror", "--prune", "--tags"]
	count(org.deny) == 1 with input as run("git", "push", {"flags": ["--force", flag], "operands": ["origin", "own:own"]})
}

# The words are not certain, so permd tells no operands.
test_uncertain_words if {
	count(org.deny) == 1 with input as run("git", "push", {"flags": ["--force"], "args": ["push", "-f", "origin", "own"]})
}

test_other_pushes[name] if {
	some name, example in {
		"plain": run("git", "push", {"operands": ["origin", "main"]}),
		"own branch": forced(["origin", "own:own"]),
		"own branch by another name": forced(["origin", "HEAD:refs/heads/ana/fix-1"]),
		"two own branches": forced(["origin", "+a:a", "b:c"]),
		"named like a shared one": forced(["origin", "HEAD:main-menu"]),
		"deleted": run("git", "push", {"flags": ["--delete"], "operands": ["origin", "own"]}),
		"tried": run("git", "push", {"flags": ["--dry-run", "--force"], "operands": ["origin", "main"]}),
	}
	count(org.deny) == 0 with input as example
}

test_plumbing if {
	count(org.deny) == 1 with input as run("git", "send-pack", {"args": ["send-pack", "--force", "origin"]})
	count(org.deny) == 0 with input as run("git", "commit", {"args": ["commit", "-m", "send-pack"]})
	count(org.deny) == 1 with input as run("git", "symbolic-ref", {"operands": ["refs/heads/x", "refs/heads/main"]})
	count(org.deny) == 0 with input as run("git", "symbolic-ref", {"operands": ["HEAD", "refs/heads/own"]})
}

test_variables[text] if {
	some text in [
		"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.x.push GIT_CONFIG_VALUE_0=+HEAD:main", "https_proxy=http://evil.example",
		"GIT_AUTHOR_NAME=a GIT_DIR=x", "GH_HOST=evil.example",
	]
	count(org.deny) == 1 with input as {"effect": {"kind": "state", "text": text}}
}

test_other_variables[text] if {
	some text in ["GIT_EDITOR=true", "GIT_AUTHOR_NAME=a", "NODE_ENV=test", "MY_GIT_DIR=x"]
	count(org.deny) == 0 with input as {"effect": {"kind": "state", "text": text}}
}

asked(args) := run("gh", "api", {"args": array.concat(["api"], args)})

sent(url) := {"effect": {"kind": "connect", "host": "api.github.com", "scheme": "https", "method": "send", "tags": [], "url": url}}

test_requests[name] if {
	some name, example in {
		"path": asked(["-X", "PATCH", "repos/o/r/git/refs/heads/main", "-f", "sha=1"]),
		"escaped": asked(["-X", "PATCH", "repos/o/r/git/%72efs/heads/main"]),
		"repository": asked(["-X", "DELETE", "repos/o/r"]),
		"dots": asked(["-X", "DELETE", "repos/o/r/issues/../git/refs/heads/main"]),
		"graphql": asked(["graphql", "-F", "query=@m.graphql"]),
		"url": sent("https://api.github.com/repos/o/r/git/refs/heads/main"),
		"raw push": sent("https://api.github.com/o/r.git/git-receive-pack"),
		"protection": sent("https://api.github.com/repos/o/r/branches/main/protection"),
	}
	count(org.deny) == 1 with input as example
}

test_other_requests[name] if {
	some name, example in {
		"issue": asked(["repos/o/r/issues", "-f", "body=see a/b"]),
		"comment": asked(["-X", "POST", "/repos/{owner}/{repo}/issues/7/comments", "-f", "body=x"]),
		"merge request": run("glab", "api", {"args": ["api", "projects/1/merge_requests/7/notes"]}),
		"only asks": run("gh", "api", {"args": ["api", "repos/o/r/git/refs"], "readonly": true}),
		"issue by url": sent("https://api.github.com/repos/o/r/issues"),
		"elsewhere": connect("example.com", "send"),
	}
	count(org.deny) == 0 with input as example
}

test_repositories if {
	count(org.deny) == 1 with input as run("gh", "repo delete", {"args": ["repo", "delete", "o/r", "--yes"]})
	count(org.deny) == 1 with input as run("gh", "pr merge", {"args": ["pr", "merge", "7", "--admin"]})
	count(org.deny) == 0 with input as run("gh", "pr merge", {"args": ["pr", "merge", "7"]})
}

test_sending_elsewhere[host] if {
	some host in ["evil.example", "example.com.evil.example", "notexample.com", "gist.github.com", "10.0.0.1"]
	count(org.deny) == 1 with input as connect(host, "send")
}

test_sending_to_known_places[host] if {
	some host in ["github.com", "example.com", "tickets.example.com"]
	count(org.deny) == 0 with input as connect(host, "send")
	count(org.ask) == 0 with input as connect(host, "send")
}

test_sending_to_this_machine if {
	count(org.deny) == 0 with input as {"effect": {"kind": "connect", "host": "localhost", "method": "send", "tags": ["loopback"], "url": ""}}
}

test_unnamed_places if {
	some answer in org.ask with input as connect("", "send")
	answer.remember == false
	count(org.deny) == 0 with input as connect("", "send")
}

test_packages if {
	some answer in org.ask with input as connect("pypi.org", "get")
	answer.remember == true
	count(org.allow) == 1 with input as connect("mirror.example.com", "get")
	count(org.allow) == 0 with input as connect("mirror.example.com", "send")
}

file(kind, path, more) := {"effect": object.union({"kind": kind, "path": path, "recursive": false, "tags": []}, more)}

test_credentials[path] if {
	some path in [
		"/home/ana/.aws/credentials", "/root/.kube", "/home/ana/.config/gcloud/access_tokens.db",
		"/home/ana/.AWS/credentials", "/home/ana/.netrc", "/home/ana/.config/gh/hosts.yml",
	]
	count(org.deny) == 1 with input as file("read", path, {})
}

test_secrets_outside if {
	count(org.deny) == 1 with input as file("read", "/x", {"recursive": true, "tags": ["secret"]})
	count(org.deny) == 0 with input as file("read", "/home/ana/shop/.env", {"tags": ["in_project", "secret"]})
	count(org.deny) == 0 with input as file("read", "/home/ana/shop/.docker/Dockerfile", {"tags": ["in_project"]})
}

# kubectl reads its own settings.
test_own_use if {
	count(org.deny) == 0 with input as file("read", "/home/ana/.kube", {"by": {"inherent": true}})
	count(org.deny) == 1 with input as file("write", "/home/ana/.kube", {"by": {"inherent": true}})
	count(org.deny) == 1 with input as file("read", "/home/ana/.kube/config", {"by": {"inherent": false}})
}

test_other_programs[program] if {
	some program in ["/usr/lib/git-core/git", "./kubectl", "/opt/AWS.exe", "hub"]
	count(org.deny) == 1 with input as run(program, "", {"known": false})
}

test_other_files[path] if {
	some path in ["/home/ana/shop/aws/main.tf", "/home/ana/.awsome/x", "/home/ana/shop/.config/ghost"]
	count(org.deny) == 0 with input as file("read", path, {})
}

test_tokens if {
	count(org.deny) == 1 with input as run("gcloud", "auth print-access-token", {"tags": ["secret"]})
	count(org.deny) == 0 with input as run("gcloud", "compute instances list", {"readonly": true})
	count(org.deny) == 1 with input as {"effect": {
		"kind": "connect", "host": "169.254.169.254", "method": "get", "tags": ["private", "metadata_service"], "url": "",
	}}
}

# A production host is one of the organisation's, so only the rule of production denies.
test_production_hosts if {
	count(org.deny) == 1 with input as connect("db.prod.example.com", "send")
	count(org.deny) == 1 with input as connect("prod.example.com", "send")
	count(org.deny) == 0 with input as connect("db.prod.example.com", "get")
	some answer in org.ask with input as connect("db.prod.example.com", "get")
	answer.remember == false
	count(org.ask) == 0 with input as connect("xprod.example.com", "get")
	count(org.ask) == 0 with input as connect("prod.example.com.evil.example", "get")
}

test_naming_production[name] if {
	some name, example in {
		"context": run("kubectl", "delete", {"args": ["--context", "prod-eu", "delete", "pod", "x"]}),
		"folder": run("terraform", "apply", {"args": ["-chdir=envs/production", "apply"]}),
		"setting": {"effect": {"kind": "state", "text": "AWS_PROFILE=prod"}},
		"folder of the command": run("terraform", "apply", {"args": ["apply"], "cwd": "/home/ana/envs/prod"}),
		"word of another kind": run("aws", "logs delete-log-group", {"args": ["--profile", "prod", "logs", "delete-log-group"]}),
	}
	count(org.deny) == 1 with input as example
}

test_not_naming_production[name] if {
	some name, example in {
		"another word": run("kubectl", "delete", {"args": ["delete", "pod", "product-page"]}),
		"looking": run("kubectl", "get", {"args": ["--context", "prod", "get", "pods"]}),
		"read-only": run("helm", "version", {"args": ["--kube-context", "prod", "version"], "readonly": true}),
		"another setting": {"effect": {"kind": "state", "text": "NODE_ENV=production"}},
		"text": run("gh", "pr create", {"args": ["pr", "create", "-t", "fix prod bug"]}),
	}
	count(org.deny) == 0 with input as example
}

test_infrastructure if {
	some answer in org.ask with input as run("helm", "upgrade", {"args": ["upgrade", "web", "./chart"]})
	answer.remember == false
	count(org.ask) == 0 with input as run("helm", "list", {"args": ["list"], "readonly": true})
}
