# Tests of what the profile "careful" adds.
package permd.base_test

import data.permd.base
import rego.v2

test_careful_edit if {
	base.ask == {"changes a file of the project"} with input as file("write", "/home/dev/p/a", ["in_project"], false)
	count(base.allow) == 0 with input as file("write", "/home/dev/p/a", ["in_project"], false)
}

test_careful_file_program if {
	base.ask == {"runs a program that may change something"} with input as run("mkdir", ["a"], {"known": true})
}
