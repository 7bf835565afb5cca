# What the profile "unattended" adds, for machines where nobody can be asked:
# the project's own builds and tests may run. They run the project's code, and
# so may do whatever a file of the project says: give such a machine nothing
# that must not be lost, and no network that it does not need. All that would
# still ask is rejected by permd, with the reason.
package permd.base

import rego.v2

# Sub-commands that build, check or test, by program.
build_commands := {
	"bun": {"test"},
	"cargo": {"b", "build", "c", "check", "clippy", "doc", "fmt", "nextest run", "t", "test"},
	"dart": {"analyze", "format", "test"},
	"deno": {"check", "fmt", "lint", "test"},
	"dotnet": {"build", "format", "test"},
	"flutter": {"analyze", "build", "test"},
	"go": {"build", "fmt", "generate", "test", "vet"},
	"mix": {"compile", "format", "test"},
	"npm": {"test"},
	"pnpm": {"test"},
	"swift": {"build", "test"},
	"yarn": {"test"},
	"zig": {"build", "fmt", "test"},
}

# Programs that only build, check or test, whatever their words say.
build_programs := {
	"biome", "black", "clang-format", "ctest", "eslint", "flake8", "gofmt", "goimports", "golangci-lint", "isort", "jest",
	"mocha", "mypy", "ninja", "phpunit", "prettier", "pylint", "pyright", "pytest", "rspec", "rubocop", "ruff", "rustfmt",
	"shellcheck", "staticcheck", "tsc", "vitest",
}

# Programs that run what a file of the project gives a name.
target_programs := {"bun", "gradle", "gradlew", "just", "make", "mvn", "npm", "pnpm", "rake", "task", "yarn"}

target_name(word) if {
	regex.match(`(?i)^(all|build|check|compile|coverage|fmt|format|lint|package|test|tests|tsc|type-?check|types|unit|verify|vet)([:_.-][a-z0-9:_.-]+)?$`, word)
	not regex.match(`(?i)deploy|install|publish|push|release|upload`, word)
}

# Words that stand between the program and the name.
target_words := {"run", "run-script"}

own_targets if {
	input.effect.program in target_programs
	words := [w | some w in input.effect.args; not startswith(w, "-"); not w in target_words]
	count(words) > 0
	every w in words { target_name(w) }
}

build_run if input.effect.subcommand in build_commands[input.effect.program]

build_run if input.effect.program in build_programs

build_run if own_targets

# Words that name nothing outside of the project, as far as words can be read: code and
# settings from elsewhere are not the project's. Without the project's root, a path is
# relative, and leads to no folder above. The value of an option that has it attached
# (-I/tmp) is a path of its own.
own_words if {
	input.project.root != ""
	every w in input.effect.args { own_word(w) }
}

own_word(w) if w == input.project.root

own_word(w) if {
	rest := replace(w, sprintf("%s/", [input.project.root]), "")
	not regex.match(`~|://|^/|[^A-Za-z0-9_.*)}\]]/|^-[^=]*(/|\.\.)|(^|[^A-Za-z0-9_.])\.\.(/|$)`, rest)
}

own_build if {
	build_run
	own_words
	input.effect.known == true
	input.effect.claimed == false
	input.effect.declared == false
	input.effect.stdin != "network"
	"in_project" in input.effect.tags
}

# METADATA
# title: The project's own builds and tests
# custom:
#   id: base.build
allow contains "builds or tests the project" if {
	input.effect.kind == "run"
	input.effect.readonly == false
	own_build
}

ordinary_run if own_build
