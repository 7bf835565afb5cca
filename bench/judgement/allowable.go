package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// What the daemon never remembers an allow of: these lists and allowableRun are
// those of cmd/permd/memory.go, which no package can import. A test compares
// the two, so that what is measured is what is shipped.
var shells = []string{
	"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "busybox", "fish", "csh", "tcsh", "pwsh", "powershell",
	"python", "pypy", "node", "nodejs", "deno", "ruby", "perl", "php", "lua", "tclsh", "osascript", "awk", "gawk", "mawk",
	"eval", "exec", "source", "trap",
}

var wrappers = []string{
	"sudo", "doas", "su", "runuser", "pkexec", "env", "xargs", "parallel", "ssh", "chroot", "unshare", "nsenter", "docker",
	"podman", "nerdctl", "kubectl", "systemd-run", "timeout", "nice", "nohup", "time", "watch", "setsid", "stdbuf",
	"strace", "ltrace", "gdb", "script", "flock", "entr", "at", "batch", "crontab", "pipx",
}

func allowableRun(table *effects.Table, q *decisions.MemoryQuery, r *effects.Run) error {
	names := []string{baseName(r.Program), baseName(r.Executable)}
	is := func(list []string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return name != "" && (slices.Contains(list, name) || slices.Contains(list, strings.TrimRight(name, "-.0123456789")))
		})
	}
	switch {
	case is(wrappers), table.Runs(r.Program) == effects.RunsCommands:
		return errors.New("it runs other programs")
	case is(shells), table.Runs(r.Program) == effects.RunsCode:
		// A script is pinned by its text; options and operands may name more
		// code than that.
		if r.Script == nil || r.Script.SHA256 == "" || len(r.Args) != 1 {
			return errors.New("it runs code")
		}
	case decisions.RunsTargets(r.Program) && (q.Target == nil || q.Target.SHA256 == ""):
		return errors.New("what it runs could not be told from the project's files")
	}
	return nil
}
func baseName(program string) string { return program[strings.LastIndexByte(program, '/')+1:] }
