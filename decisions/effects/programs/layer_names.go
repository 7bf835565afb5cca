package programs

import (
	"slices"
	"strings"

	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/wordset"
)

// maxTableName is the maximum length of a program's name in a layer, in bytes.
const maxTableName = 64

var (
	layerName = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)
	layerSub  = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9._+:@-]*\*?$`)
	layerFlag = lazy.Regexp(`^--?[A-Za-z0-9_][A-Za-z0-9._+:-]*$`)
)

// shellWords are words that the shell handles itself: the table is never consulted.
var shellWords = wordset.Fields(`. source eval exec trap cd pushd popd read alias unalias builtin command echo printf test type which
	if then else elif fi for while until do done case esac select in function time coproc let time kill pwd`)

// runners are programs that run other programs or code, whether the table has them
// or not: to describe one as something else would hide what it runs. They include those
// that the lists of memory, of permd's own use and of the fence have for their questions.
var runners = wordset.Fields(`sudo doas su runuser pkexec run0 env xargs parallel ssh chroot unshare nsenter docker podman nerdctl kubectl
	systemd-run timeout nice nohup time watch setsid stdbuf strace ltrace gdb lldb script flock entr at batch crontab pipx sh bash dash
	zsh ksh mksh ash busybox toybox fish csh tcsh pwsh powershell cmd python pypy node nodejs deno bun ruby perl php lua luajit tclsh
	osascript awk gawk mawk nawk expect make ninja npx bunx uvx java dotnet mono wine qemu bwrap firejail flatpak snap setpriv capsh
	screen tmux dtach nu elvish xonsh git permd vi view vim nvim ed ex emacs nano less more man cgdb gcore rr criu reptyr irb
	start-stop-daemon`)

// variants returns the programs that a name may denote: on some systems the case of
// letters or a suffix is ignored, and python3.12 is python.
func variants(name string) []string {
	low := strings.ToLower(name)
	for _, end := range []string{".exe", ".com", ".cmd", ".bat", ".ps1", ".sh"} {
		low = strings.TrimSuffix(low, end)
	}
	all := []string{name, low, strings.TrimRight(low, "-.0123456789")}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// refuseName returns why a layer must not describe a program of that name, "" if it
// may. The organisation may describe what the table does not have; a person only
// programs that are not related to any that the table has.
func (t *Table) refuseName(name string, person bool) (why, fix string) {
	const more = "to say more about it, write it under extend"
	sh := &t.Shell
	switch {
	case len(name) > maxTableName || !layerName().MatchString(name):
		return "is no name of a program: letters, digits and . _ + - after the first, without a folder", "a program at a path is known by that path alone"
	case shellWords.Has(name) || sh.Nothing[name] || sh.Numbers[name] || sh.State[name]:
		return "is the shell's own command", "choose another name"
	case t.programs[name] != nil:
		return "is a program that permd knows", more
	}
	if !person {
		return "", ""
	}
	for _, v := range variants(name) {
		switch {
		case shellWords.Has(v) || sh.Nothing[v] || sh.Numbers[v] || sh.State[v]:
			return "could be taken for the shell's own command " + v, "choose another name"
		case t.programs[v] != nil:
			return "could be taken for " + v + ", which permd knows", more
		case runners.Has(v):
			return "is or could be taken for " + v + ", which runs other programs or code", "only org may describe it"
		case sh.Network[v]:
			return "is or could be taken for " + v + ", whose output comes from the network", "only org may describe it"
		case strings.HasPrefix(v, "git-"):
			return "could be taken for a part of git", "only org may describe it"
		}
	}
	return "", ""
}
