# What the profiles "balanced" and "unattended" add: ordinary edits of the
# project that a file tool makes need no person. A command that writes asks, as
# it can hide what it writes in a long text; its folder is soon remembered. What
# is guarded (secrets, what runs by itself, the repository's own data, pipelines,
# agents' settings) asks before any rule here is heard, and what is deleted asks
# since git may not know it. Of tools that only a client describes (effect.declared),
# everything but reads asks.
package permd.base

import rego.v2

guarded := {"agent_config", "ci", "permd", "secret", "startup", "vcs"}

unguarded if count({tag | some tag in input.effect.tags; tag in guarded}) == 0

# METADATA
# title: Files of the project may be changed
# custom:
#   id: base.edit
allow contains "changes a file of the project" if {
	input.effect.kind == "write"
	input.effect.recursive == false
	input.effect.claimed == false
	input.effect.declared == false
	input.effect.shell == false
	"in_project" in input.effect.tags
	unguarded
}

# METADATA
# title: Folders may be made in the project
# custom:
#   id: base.make-folder
allow contains "makes a folder in the project" if {
	input.effect.kind == "write"
	makes_folder
	input.effect.claimed == false
	"in_project" in input.effect.tags
	unguarded
}

# mkdir changes nothing that is there.
makes_folder if {
	input.effect.declared == false
	input.effect.by.program == "mkdir"
	input.effect.by.inherent == false
}

# METADATA
# title: Commands that change files of the project
# custom:
#   id: base.edit-by-command
ask contains "changes a file of the project by a command" if {
	input.effect.kind == "write"
	input.effect.recursive == false
	input.effect.shell == true
	not makes_folder
	not formatted
	"in_project" in input.effect.tags
}

# METADATA
# title: Whole folders of the project are changed
# custom:
#   id: base.edit-folder
ask contains "changes a folder of the project with all that is in it" if {
	input.effect.kind == "write"
	input.effect.recursive == true
	not formatted
	"in_project" in input.effect.tags
}

# Programs that do nothing but read, write and delete what their words name, in
# whatever folder they run: each of those is an effect of its own, which is
# decided by itself. What the program table does not know of them is an unknown
# effect.
file_programs := {"cp", "mkdir", "mv", "rm", "rmdir", "sed", "sort", "tee", "touch", "uniq"}

# METADATA
# title: Programs that only change the files they name
# custom:
#   id: base.file-program
allow contains "changes only the files it names" if {
	input.effect.kind == "run"
	input.effect.readonly == false
	file_run
}

file_run if {
	input.effect.program in file_programs
	input.effect.known == true
	input.effect.claimed == false
	input.effect.declared == false
	input.effect.stdin != "network"
}

ordinary_run if file_run

# Where systems and package managers keep what everybody can download.
# Homebrew's etc and var hold settings and logs.
public_folders := {
	"/usr/include/", "/usr/lib/", "/usr/local/go/", "/usr/local/include/", "/usr/local/lib/", "/usr/share/", "/nix/store/",
	"/opt/homebrew/Cellar/", "/opt/homebrew/Library/", "/opt/homebrew/include/", "/opt/homebrew/lib/", "/opt/homebrew/opt/",
	"/opt/homebrew/share/", "/Library/Developer/CommandLineTools/", "/sys/devices/system/cpu/",
}

public_files := {
	"/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/shells", "/etc/timezone",
	"/proc/cpuinfo", "/proc/loadavg", "/proc/meminfo", "/proc/uptime", "/proc/version",
}

# The same in a home: sources of dependencies and of toolchains, and nothing that holds
# settings or credentials. Each ends in a slash, or names that only begin alike would count.
public_home_folders := {
	".bun/install/cache/", ".cache/go-build/", ".cargo/git/checkouts/", ".cargo/registry/src/", ".gradle/caches/modules-2/",
	".local/lib/node_modules/", ".m2/repository/", ".npm/_npx/", ".nvm/versions/", ".pyenv/versions/", ".rbenv/versions/",
	".rustup/toolchains/", ".sdkman/candidates/", ".volta/tools/", "go/pkg/mod/",
}

# Where Claude Code tells its model to write its plans, which it then shows the
# person. No link may lead there from elsewhere, nor from there.
plan if {
	regex.match(`^\.claude/plans/[^/]+\.md$`, input.effect.home_path)
	endswith(input.effect.path, concat("", ["/", input.effect.home_path]))
	input.effect.recursive == false
	input.effect.claimed == false
	unguarded
}

written_plan if {
	plan
	input.effect.declared == false
	input.effect.shell == false
}

# METADATA
# title: Agents may write their plans
# custom:
#   id: base.plan
allow contains "writes the agent's plan" if {
	input.effect.kind == "write"
	written_plan
}

# Where agents keep the skills that they are told to read. Only the text is
# public: what else is there may be settings.
skill_folders := {
	".agents/skills/", ".claude/plugins/cache/", ".claude/skills/", ".codex/plugins/cache/", ".codex/skills/",
	".config/opencode/skills/", ".copilot/skills/", ".gemini/skills/",
}

# Folders of systems whose names everybody can see.
system_listings := {
	"/", "/Applications", "/bin", "/dev", "/etc", "/opt", "/sbin", "/usr", "/usr/bin", "/usr/libexec", "/usr/local",
	"/usr/local/bin", "/usr/local/sbin", "/usr/sbin",
}

open_read if {
	input.effect.claimed == false
	"outside" in input.effect.tags
	count({tag | some tag in input.effect.tags; tag in {"permd", "secret", "vcs"}}) == 0
}

public_read if {
	open_read
	unguarded
	"temp" in input.effect.tags
	input.effect.recursive == false
}

# Of a folder of temporary files with all below, only the names, and not
# through links.
public_read if {
	open_read
	unguarded
	"temp" in input.effect.tags
	input.effect.by.program == "find"
	count({arg |
		some arg in input.effect.by.args
		startswith(arg, "-")
		not arg in find_names
	}) == 0
}

find_names := {
	"-P", "-a", "-and", "-depth", "-empty", "-iname", "-ipath", "-maxdepth", "-mindepth", "-mmin", "-mtime", "-name", "-not", "-o", "-or",
	"-path", "-print", "-print0", "-prune", "-size", "-type", "-wholename", "-xdev",
}

public_read if {
	open_read
	input.effect.path in system_listings
	input.effect.by.program == "ls"
	input.effect.recursive == false
}

public_read if {
	open_read
	strings.any_prefix_match(concat("", [input.effect.path, "/"]), public_folders)
}

public_read if {
	open_read
	input.effect.path in public_files
}

public_read if {
	open_read
	plan
}

public_read if {
	open_read
	strings.any_prefix_match(concat("", [input.effect.home_path, "/"]), public_home_folders)
}

public_read if {
	open_read
	input.effect.recursive == false
	endswith(input.effect.home_path, ".md")
	strings.any_prefix_match(input.effect.home_path, skill_folders)
}

# METADATA
# title: Temporary files, and what systems and package managers bring, may be read
# custom:
#   id: base.read-public
allow contains "reads what is no secret" if {
	input.effect.kind == "read"
	public_read
}

# Programs that only look may ask the service that they always ask (gh pr
# view): what they can say to it is a few words. With a secret in the same call
# a person is asked before any rule here is heard.
query if {
	input.effect.method == "get"
	input.effect.claimed == false
	input.effect.declared == false
	input.effect.by.inherent == true
	input.effect.by.program in {"brew", "bun", "cargo", "gem", "gh", "go", "npm", "pip", "pip3", "pnpm", "rustup", "uv", "yarn"}
}
