# What permd never allows by itself, continued: the same catastrophes where they
# stand in code that another program runs. permd does not understand that code,
# and asks; but some of it has only one meaning.
package permd.base

import rego.v2

# Programs that run what their words say.
runs_words := {
	"ash", "awk", "bash", "busybox", "bun", "dash", "deno", "doas", "ed", "emacs", "eval", "ex", "find", "gawk", "ksh", "lua", "mawk",
	"nawk", "node", "nodejs", "nvim", "osascript", "parallel", "perl", "php", "pypy3", "python", "python2", "python3", "ruby",
	"sed", "sh", "sqlite3", "ssh", "su", "sudo", "tclsh", "toybox", "vi", "view", "vim", "xargs", "zsh",
}

# The words without what quotes and separates words in code.
code := regex.replace(concat(" ", input.effect.args), `["'\x60,()\[\]{};]+`, " ")

# METADATA
# title: Code that deletes the system or a home
# custom:
#   id: base.code-delete
deny contains "would delete the system or a whole home" if {
	input.effect.kind == "run"
	input.effect.program in runs_words
	regex.match(`(^|[\s!/|&])rm\s(.*\s)?(-[a-zA-Z]*[rR][a-zA-Z]*|--recursive)\s`, code)
	regex.match(`(^|[\s!/|&])rm\s(.*\s)?(/|/\*|~|~/|~/\*|\$HOME/?|\$HOME/\*)(\s|$)`, code)
}

# METADATA
# title: Code that writes over a disk
# custom:
#   id: base.code-disk
deny contains "would write over a disk" if {
	input.effect.kind == "run"
	input.effect.program in runs_words
	regex.match(`(^|[\s=>])/dev/(sd[a-z]|nvme\d|vd[a-z]|xvd[a-z]|hd[a-z]|mmcblk\d|disk\d|rdisk\d|mapper/)`, code)
	regex.match(`(^|[\s.])(open|write|dd|mkfs(\.\w+)?|wipefs|shred|tee|cp|fopen|writeFile(Sync)?|createWriteStream)\s|>`, code)
	not regex.match(`^\S*\s*-[a-zA-Z]*n`, code)
}

# METADATA
# title: Code that changes permd's own files
# custom:
#   id: base.code-permd
deny contains "would change permd's own files" if {
	input.effect.kind == "run"
	input.effect.program in runs_words
	regex.match(`(\.config|\.local/share|\.local/state|/etc|/var/lib|/run(/user/\d+)?)/permd(-admin)?/`, code)
	regex.match(`(^|[\s.!])(rm|unlink|remove|rmtree|rmSync|unlinkSync|open|connect|write|writeFile(Sync)?|tee|mv|cp|truncate|insert|delete|update|drop)(\s|$)|>`, code)
}

# METADATA
# title: Code that sends a secret away
# custom:
#   id: base.code-secret
deny contains "would send a secret away" if {
	input.effect.kind == "run"
	input.effect.program in runs_words
	regex.match(`\.ssh/id_|\.aws/credentials|\.netrc|\.git-credentials|\.gnupg/|\.config/gh/hosts|\.docker/config\.json|\.kube/config`, code)
	regex.match(`urlopen|requests\.(post|put|get)|https?\.(request|get)|fetch\s|Net::HTTP|LWP|curl\s|wget\s|socket|\bnc\s`, code)
}

# METADATA
# title: Code from the network, run as another user
# custom:
#   id: base.root-code
deny contains "would run code from the network as another user" if {
	input.effect.kind == "run"
	input.effect.program in {"doas", "dzdo", "gosu", "pfexec", "pkexec", "run0", "runuser", "su", "su-exec", "sudo"}
	some word in input.effect.args
	regex.match(`^(/(usr/)?bin/)?((ba|da|z|k|a)?sh|python[0-9.]*|perl|ruby|node|php)$`, word)
	unseen_code
}

unseen_code if input.effect.stdin == "network"

unseen_code if {
	"\u0000dynamic" in input.effect.args
	"connect" in input.call.kinds
}

# METADATA
# title: A command that starts itself without end
# custom:
#   id: base.fork-bomb
deny contains "would start itself until the machine stands still" if {
	input.effect.kind == "state"
	text := replace(input.effect.text, " ", "")
	parts := split(text, "()")
	count(parts) > 1
	name := parts[0]
	name != ""
	contains(parts[1], sprintf("%s|%s&", [name, name]))
}

# METADATA
# title: What starts by itself, fetching code
# custom:
#   id: base.startup-download
deny contains "would have code from the network run by itself later" if {
	input.effect.kind == "run"
	input.effect.program in {"echo", "printf"}
	"startup" in input.call.tags
	"write" in input.call.kinds
	some word in input.effect.args
	regex.match(`(curl|wget)\s[^|]*\|\s*(sudo\s+)?(ba|da|z|k)?sh\b`, word)
}

# METADATA
# title: Who may become root
# custom:
#   id: base.sudoers
deny contains "would change who may become another user" if {
	input.effect.kind in {"write", "delete"}
	regex.match(`^(/private)?/etc/(sudoers(\.d)?|doas\.conf|pam\.d|shadow|gshadow)(/|$)`, input.effect.path)
}

# Folders of a home without which its person is locked out.
key_folders := {".aws", ".config/gh", ".gnupg", ".kube", ".local/share/keyrings", ".password-store", ".ssh", "Library/Keychains"}

# METADATA
# title: Deleting all keys
# custom:
#   id: base.delete-keys
deny contains "would delete all keys of a person" if {
	input.effect.kind == "delete"
	input.effect.recursive == true
	input.effect.home_path in key_folders
}

# METADATA
# title: Ending permd by the number of its process
# custom:
#   id: base.permd-pid
deny contains "would end permd" if {
	input.effect.kind == "run"
	input.effect.program in {"pgrep", "pidof"}
	"unknown" in input.call.kinds
	some word in input.effect.args
	regex.match(`(?i)^(\^|.*/)?permd(-admin)?\$?$`, word)
}
