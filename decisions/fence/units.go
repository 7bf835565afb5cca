package fence

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lazy"
)

// Programs that control services. permd usually runs as a service of the person's own
// manager: ending that manager, the session, or a unit that permd belongs to or requires
// ends permd without naming it.

// serviceManagers are programs that control units by name. Rule base.permd-unit names the
// same.
var serviceManagers = []string{"systemctl", "service", "rc-service", "launchctl", "loginctl"}

var (
	// systemctlReadOnly are the sub-commands of systemctl that change nothing.
	systemctlReadOnly = []string{
		"status", "show", "cat", "help", "is-active", "is-enabled", "is-failed", "is-system-running", "get-default", "show-environment", "list-units",
		"list-unit-files", "list-timers", "list-sockets", "list-paths", "list-automounts", "list-dependencies", "list-jobs", "list-machines", "whoami",
	}
	// systemctlEndManager are those that end a manager with everything that it started.
	systemctlEndManager = []string{"exit", "rescue", "emergency", "default", "isolate"}
	// systemctlEndMachine end the whole machine and so the agent as well: this is left to
	// rules and people. With --user they would end permd alone.
	systemctlEndMachine = []string{"halt", "poweroff", "reboot", "soft-reboot", "kexec", "switch-root"}
	// systemctlStopUnits are those that stop, or may stop, the units they name.
	systemctlStopUnits = []string{
		"stop", "kill", "restart", "try-restart", "condrestart", "reload-or-restart", "try-reload-or-restart", "force-reload", "freeze", "disable", "mask",
		"clean", "revert", "set-property",
	}
	// requiredUnits are units that permd belongs to or requires: stopping one of them
	// stops permd (systemd.special(7)).
	requiredUnits = []string{"-.slice", "user.slice", "user-0.slice", "app.slice", "session.slice", "user@0.service", "basic.target", "sysinit.target", "sockets.target"}
	// requiredUnitOfAnyone matches such units of a person or a session.
	requiredUnitOfAnyone = lazy.Regexp(`^(user-[^.]*\.slice|user@[^.]*(\.service)?|session-[^.]*\.scope)$`)
	// terminatingUnits are units that end the manager when they are started.
	terminatingUnits = lazy.Regexp(`^(exit|shutdown|final|umount|halt|poweroff|reboot|kexec|soft-reboot|rescue|emergency|initrd-switch-root|ctrl-alt-del)\.target$|^systemd-(exit|halt|poweroff|reboot|kexec|soft-reboot)(\.service)?$`)
	// permdUnits are permd's own units, which patterns are matched against.
	permdUnits = []string{"permd.service", "permd.socket", "permd-admin.socket"}

	loginctlTerminate = []string{"terminate-session", "terminate-user", "terminate-seat", "kill-session", "kill-user", "disable-linger"}
	// wholeDomain matches a domain of launchd: everything that runs for a person, or on
	// the machine.
	wholeDomain = lazy.Regexp(`^(system|pid|(gui|user|login|session)(/[^/]*)?/?)$`)
	permdLabel  = lazy.Regexp(`(?i)^(.*[./])?permd(-admin)?(\.plist)?$`)
)

// Options of systemctl that take the next word.
const systemctlShort = "HMtpPnos"

var systemctlLong = []string{
	"--type", "--state", "--property", "--host", "--machine", "--job-mode", "--lines", "--output", "--root", "--image", "--image-policy", "--signal",
	"--kill-whom", "--kill-value", "--what", "--message", "--when", "--preset-mode", "--check-inhibitors", "--timestamp", "--reboot-argument",
	"--boot-loader-menu", "--boot-loader-entry", "--drop-in", "--legend",
}

// stopsUnit reports whether a run of one of serviceManagers may end the daemon.
func stopsUnit(r *effects.Run) bool {
	switch filepath.Base(r.Program) {
	case "systemctl":
		words := operandsOf(r.Args)
		if len(words) > 0 && slices.Contains(systemctlEndMachine, words[0]) {
			return slices.ContainsFunc(r.Args, func(w string) bool { return len(w) > 3 && strings.HasPrefix("--user", w) })
		}
		return systemctlStopsPermd(words)
	case "loginctl":
		return slices.ContainsFunc(r.Args, func(w string) bool { return slices.Contains(loginctlTerminate, w) })
	case "launchctl":
		if len(r.Args) == 0 {
			return false
		}
		switch r.Args[0] {
		case "print", "list", "blame", "version", "help", "print-disabled":
			return false
		case "reboot":
			return true
		case "bootout":
			if slices.ContainsFunc(r.Args[1:], wholeDomain().MatchString) {
				// With a file as operand, only that service is affected.
				return len(r.Args) == 2 || slices.ContainsFunc(r.Args[1:], permdLabel().MatchString)
			}
		}
		return slices.ContainsFunc(r.Args, permdLabel().MatchString)
	}
	// What is left are those with the words of service: NAME COMMAND. A manager with other
	// words needs a case above.
	return slices.ContainsFunc(r.Args, namesPermd) && (len(r.Args) != 2 || r.Args[1] != "status")
}

// operandsOf returns the words of systemctl that are neither options nor their values.
func operandsOf(args []string) []string {
	var words []string
	for i := 0; i < len(args); i++ {
		switch w := args[i]; {
		case w == "--":
			return append(words, args[i+1:]...)
		case len(w) < 2 || w[0] != '-':
			words = append(words, w)
		case w[1] == '-':
			// getopt accepts unique prefixes of long options.
			if slices.ContainsFunc(systemctlLong, func(o string) bool { return strings.HasPrefix(o, w) }) {
				i++
			}
		default:
			// In -nfoo the value is part of the word, after -qn it is the next word.
			if at := strings.IndexAny(w[1:], systemctlShort); at >= 0 && at == len(w)-2 {
				i++
			}
		}
	}
	return words
}

func systemctlStopsPermd(words []string) bool {
	if len(words) == 0 || slices.Contains(systemctlReadOnly, words[0]) {
		return false
	}
	verb, units := words[0], words[1:]
	stops := slices.Contains(systemctlStopUnits, verb)
	return slices.Contains(systemctlEndManager, verb) || namesPermd(verb) || slices.ContainsFunc(units, func(u string) bool {
		return namesPermd(u) || terminatingUnits().MatchString(u) || matchesUnit(u, permdUnits) ||
			stops && (slices.Contains(requiredUnits, u) || requiredUnitOfAnyone().MatchString(u) || matchesUnit(u, requiredUnits))
	})
}

// matchesUnit reports whether a pattern matches one of the units. A pattern that cannot
// be parsed counts as matching.
func matchesUnit(pattern string, units []string) bool {
	if pattern == effects.DynamicWord || !strings.ContainsAny(pattern, "*?[") {
		return false // the first is an unknown effect by itself
	}
	return slices.ContainsFunc(units, func(u string) bool {
		ok, err := path.Match(pattern, u)
		return ok || err != nil
	})
}
