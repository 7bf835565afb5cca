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
		"outside": run("go", ["test"], object.union(of_sub("test"), {"tags": ["outside"]})),
		"from the network": run("go", ["test"], object.union(of_sub("test"), {"stdin": "network"})),
		"claimed": run("go", ["test"], object.union(of_sub("test"), {"claimed": true})),
		"declared": declared(run("go", ["test"], of_sub("test"))),
		"not in the table": run("pytest", [], {}),
	}
	count(base.allow) == 0 with input as example
	count(base.ask) > 0 with input as example
}
