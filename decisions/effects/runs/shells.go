package runs

import (
	"path"
	"runtime"
	"strings"

	"github.com/permd/permd/decisions/effects/plainshell"
)

// NoShell stands for a shell whose language is not parsed: fish, PowerShell, csh.
const NoShell = plainshell.Interactive

// Readers returns the shells that may run the text being parsed. If nothing is known of
// the shell, these are all that agents use.
func (b *Builder) Readers() plainshell.Shells {
	shells := b.Shells
	if shells == 0 {
		shells = plainshell.All
	}
	if runtime.GOOS == "darwin" {
		shells |= plainshell.Old
	}
	return shells
}

// ShellNamed returns the shell of that name or path.
func ShellNamed(name string) plainshell.Shells {
	switch path.Base(name) {
	case "bash":
		return plainshell.Bash
	case "zsh":
		return plainshell.Zsh
	case "sh", "dash", "ash":
		return plainshell.Sh
	}
	return NoShell
}

// shells returns the shell that an invocation starts for the text in a word, unless
// options before it change the language, as bash -O extglob does.
func (v *invocation) shells(text int) plainshell.Shells {
	shells := ShellNamed(v.run.Program)
	for i := 0; i < text && i < len(v.args); i++ {
		switch word := v.args[i].Text; word {
		case "--", "--login", "--noprofile", "--norc":
		case "--posix":
			shells |= plainshell.Sh
		default:
			if len(word) < 2 || word[0] != '-' || strings.Trim(word[1:], "cefluvxn") != "" || strings.Contains(word, "f") && shells != plainshell.Zsh {
				return NoShell
			}
		}
	}
	return shells
}
