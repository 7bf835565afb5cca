# Tests of what the profile "unattended" adds.
package permd.base_test

import data.permd.base
import rego.v2

table_known := {"known": true}

of_sub(name) := {"known": true, "subcommand": name}

test_unattended_build[name] if {
	some name, example in {
		"go test": run("go", ["test", "./..."], of_sub("test")),
		"npm test": run("npm", ["test"], of_sub("test")),
		"npm script": run("npm", ["run", "build:web"], of_sub("run")),
		"make": run("make", ["-j4", "build", "test"], table_known),
		"pytest": run("pytest", ["-q"], table_known),
		"paths of the project": run("pytest", ["tests/a_test.py::test", "-c=/home/dev/p/x.ini", "/home/dev/p", "-k", "a..b"], table_known),
		"all packages": run("go", ["test", "-run=A/b", "./...", "-coverprofile=out/c"], of_sub("test")),
		"a scope": run("jest", ["node_modules/@x/y", "**/*.test.js"], table_known),
	}
	base.allow == {"builds or tests the project"} with input as example
	count(base.ask) == 0 with input as example
}

test_unattended_no_build[name] if {
	some name, example in {
		"another sub-command": run("go", ["install", "."], of_sub("install")),
		"install": run("npm", ["install"], of_sub("install")),
		"another script": run("npm", ["run", "deploy"], of_sub("run")),
		"script of a release": run("npm", ["run", "build:publish"], of_sub("run")),
		"two targets": run("make", ["test", "deploy"], table_known),
		"no target": run("make", [], table_known),
		"a variable": run("make", ["test", "SHELL=/tmp/x"], table_known),
		"a folder": run("npm", ["--prefix", "/tmp/x", "run", "test"], of_sub("run")),
		"settings from elsewhere": run("pytest", ["-c", "/tmp/x.ini"], table_known),
		"settings from elsewhere, with =": run("jest", ["--config=/tmp/x.js"], table_known),
		"settings from elsewhere, attached": run("phpunit", ["-c/tmp/x"], table_known),
		"settings from above": run("jest", ["--config", "../x.js"], table_known),
		"settings from above, later": run("jest", ["--config=a/../../x.js"], table_known),
		"settings from above the root": run("jest", ["/home/dev/p/../x.js"], table_known),
		"settings from above, attached": run("phpunit", ["-c.."], table_known),
		"settings of a neighbour": run("jest", ["/home/dev/p2/x.js"], table_known),
		"a path in a path": run("jest", ["/tmp/home/dev/p/x.js"], table_known),
		"a second path": run("pytest", ["--x=a:/tmp/b"], table_known),
		"code from elsewhere": run("dotnet", ["test", "/tmp/x.dll"], of_sub("test")),
		"code from the network": run("deno", ["test", "https://x.example/a.ts"], of_sub("test")),
		"code from home": run("rspec", ["~/x_spec.rb"], table_known),
		"no root": object.union(run("pytest", ["-q"], table_known), {"project": {"root": "", "trusted": false}}),
		"outside": run("go", ["test"], object.union(of_sub("test"), {"tags": ["outside"]})),
		"from the network": run("go", ["test"], object.union(of_sub("test"), {"stdin": "network"})),
		"claimed": run("go", ["test"], object.union(of_sub("test"), {"claimed": true})),
		"declared": declared(run("go", ["test"], of_sub("test"))),
		"not in the table": run("pytest", [], {}),
	}
	count(base.allow) == 0 with input as example
	count(base.ask) > 0 with input as example
}
