# What permd never allows by itself: losing the machine or all of a person's
# files, and taking permd out of the way. Only the org layer can switch these
# off. They name what can be known for certain; what is hidden from permd is
# unknown and asks.
package permd.base

import rego.v2

# A formatter that rewrites the whole project does what it is for; that asks.
project_itself if input.effect.project_path == "."

# METADATA
# title: Deleting the system, a home or all that is around the project
# custom:
#   id: base.delete-vital
deny contains "would delete the system or a whole home" if {
	input.effect.kind == "delete"
	"vital" in input.effect.tags
	input.effect.recursive == true
	not project_itself
}

# METADATA
# title: Overwriting the system, a home or all that is around the project
# custom:
#   id: base.overwrite-vital
deny contains "would change all of the system or a whole home" if {
	input.effect.kind == "write"
	"vital" in input.effect.tags
	input.effect.recursive == true
	not project_itself
}

# Folders whose loss is the loss of the machine, as a command names them.
vital_words := {
	"/", "//", "/.", "/*", "~", "~/", "~/*", "~/.", "$HOME", "/bin", "/boot", "/etc", "/home", "/home/*", "/lib", "/lib64",
	"/opt", "/root", "/sbin", "/usr", "/usr/*", "/var", "/var/*", "/Library", "/System", "/Users", "/Users/*",
}

vital(word) if word in vital_words

vital(word) if trim_suffix(word, "/") in vital_words

vital(word) if {
	input.user.home != ""
	trim_suffix(trim_suffix(word, "/*"), "/") == input.user.home
}

# METADATA
# title: rm of the system or of a home
# custom:
#   id: base.rm-vital
deny contains "would delete the system or a whole home" if {
	input.effect.kind == "run"
	input.effect.program in {"rm", "shred", "srm", "unlink"}
	some word in input.effect.args
	vital(word)
}

# METADATA
# title: Changing owner or mode of the whole system
# custom:
#   id: base.chmod-vital
deny contains "would change who may use the whole system or home" if {
	input.effect.kind == "run"
	input.effect.program in {"chmod", "chown", "chgrp", "chattr", "setfacl"}
	some option in input.effect.args
	regex.match("^(-[A-Za-z]*R[A-Za-z]*|--recursive)$", option)
	some word in input.effect.args
	vital(word)
}

# Where disks and the memory of the machine are, as path prefixes.
disks := {
	"/dev/dasd", "/dev/disk/", "/dev/dm-", "/dev/hd", "/dev/kmem", "/dev/loop", "/dev/mapper/", "/dev/md",
	"/dev/mem", "/dev/mmcblk", "/dev/nbd", "/dev/nvme", "/dev/port", "/dev/rdisk", "/dev/sd", "/dev/vd",
	"/dev/xvd", "/dev/zvol/",
}

# METADATA
# title: Writing over a disk
# custom:
#   id: base.write-disk
deny contains "would write over a disk" if {
	input.effect.kind == "write"
	"device" in input.effect.tags
	strings.any_prefix_match(input.effect.path, disks)
}

# METADATA
# title: Programs that write over the disk they are given
# custom:
#   id: base.format-disk
deny contains "would write over a disk" if {
	input.effect.kind == "run"
	input.effect.program in {"blkdiscard", "mke2fs", "mkswap", "shred", "wipefs"}
	some word in input.effect.args
	strings.any_prefix_match(word, disks)
}

# METADATA
# title: Making a file system on a disk
# custom:
#   id: base.mkfs
deny contains "would write over a disk" if {
	input.effect.kind == "run"
	startswith(input.effect.program, "mkfs")
	some word in input.effect.args
	strings.any_prefix_match(word, disks)
}

# METADATA
# title: dd onto a disk
# custom:
#   id: base.dd
deny contains "would write over a disk" if {
	input.effect.kind == "run"
	input.effect.program == "dd"
	some word in input.effect.args
	startswith(word, "of=")
	strings.any_prefix_match(trim_prefix(word, "of="), disks)
}
