// Package allowable says which runs a remembered allow may be about. It knows shells,
// interpreters and wrappers, which remember itself does not.
package allowable

import (
	"errors"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/targets"
)

// shells are programs that run any text, whatever the program table contains.
var shells = []string{
	"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "busybox", "fish", "csh", "tcsh", "pwsh", "powershell",
	"python", "pypy", "node", "nodejs", "deno", "ruby", "perl", "php", "lua", "tclsh", "osascript", "awk", "gawk", "mawk",
	"eval", "exec", "source", "trap",
}

// wrappers are programs that run another one, as another user, elsewhere or
// with other words.
var wrappers = []string{
	"sudo", "doas", "su", "runuser", "pkexec", "env", "xargs", "parallel", "ssh", "chroot", "unshare", "nsenter", "docker",
	"podman", "nerdctl", "kubectl", "systemd-run", "timeout", "nice", "nohup", "time", "watch", "setsid", "stdbuf",
	"strace", "ltrace", "gdb", "script", "flock", "entr", "at", "batch", "crontab", "pipx",
}

// Run returns why an allow of a run must not be remembered: it runs
// code or other programs that the choice could not be bound to. It returns nil
// if it may be, and for an effect that is not a run.
func Run(table *programs.Table, q *decisions.MemoryQuery) error {
	r := q.Effect.Run
	if r == nil {
		return nil
	}
	if why := targets.Refused(r); why != "" && !r.Readonly { // a line, which has no target
		return errors.New(why)
	}
	names := []string{baseName(r.Program), baseName(r.Executable)}
	is := func(list []string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return name != "" && (slices.Contains(list, name) || slices.Contains(list, strings.TrimRight(name, "-.0123456789")))
		})
	}
	bound := q.Target != nil && q.Target.SHA256 != ""
	switch {
	case targets.BoundToFiles(r) && q.Target == nil && mayLook(table, r): // a line
	case targets.BoundToFiles(r) && !bound:
		return errors.New("what it runs could not be told from the project's files")
	case bound && !targets.Runs(r.Program):
	case is(wrappers), table.Runs(r.Program) == programs.RunsCommands:
		return errors.New("it runs other programs")
	case is(shells), table.Runs(r.Program) == programs.RunsCode:
		// A script is pinned by its text, but options before it may name more code, and so
		// may files that it is given.
		if r.Script == nil || r.Script.SHA256 == "" || len(r.Args) == 0 || baseName(r.Args[0]) != baseName(r.Script.Path) ||
			slices.ContainsFunc(r.Args[1:], func(word string) bool { return strings.ContainsAny(word, "./") }) {
			return errors.New("it runs code")
		}
	}
	return nil
}

// mayLook reports whether runs of a line may be read-only, and so need not be bound to what
// the program obeys: the table has a sub-command with these words that is.
func mayLook(table *programs.Table, r *effects.Run) bool {
	p := table.Program(r.Program)
	for _, word := range r.Args {
		if p == nil || len(p.Subs) == 0 || p.Sub(word) == nil {
			break
		}
		p = p.Sub(word)
	}
	return p != nil && p != table.Program(r.Program) && p.Readonly
}

func baseName(program string) string { return program[strings.LastIndexByte(program, '/')+1:] }
