// Package fence has the denies that apply without any policy: they protect permd's process,
// files and services.
package fence

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// Fences say what is permd's. They are part of the engine, so that no rule, broken rule or
// remembered choice can override them.
type Fences struct {
	PID int // of the daemon, 0 when there is none
	// Programs are the paths of the program that runs as the daemon.
	Programs []string
}

// Reason returns why an effect is forbidden, "" if it is not.
func (f Fences) Reason(e *effects.Effect) string {
	switch e.Kind {
	case effects.KindWrite, effects.KindDelete:
		if e.Tags.Has(effects.Permd) {
			return "permd's own files may only be changed by a person"
		}
	case effects.KindRun:
		if f.endsDaemon(e.Run) {
			return "permd may only be stopped by a person"
		}
		if e.Run.Own == effects.OwnChanges {
			return "what permd decides may only be changed by a person"
		}
	case effects.KindRead, effects.KindConnect, effects.KindUse, effects.KindState, effects.KindMode, effects.KindQuestion,
		effects.KindUnknown:
	}
	return ""
}

// debuggers are programs that control a process given by its number.
var debuggers = []string{"gdb", "cgdb", "lldb", "gcore", "strace", "ltrace", "rr", "criu", "prlimit", "reptyr"}

func (f Fences) endsDaemon(r *effects.Run) bool {
	name := filepath.Base(r.Program)
	switch {
	case name == "kill":
		return slices.ContainsFunc(r.Args, f.meansDaemon) || slices.Contains(r.Args[min(1, len(r.Args)):], "-1")
	case slices.Contains(signalsByName, name):
		return f.endsByName(r)
	case slices.Contains(serviceManagers, name):
		return stopsUnit(r)
	case slices.Contains(debuggers, name):
		return slices.ContainsFunc(r.Args, f.attachesDaemon)
	}
	return false
}

// meansDaemon reports whether a word of kill means the daemon's process or its process
// group. (-1 after the first word means every process; as the first word it is a
// signal.)
func (f Fences) meansDaemon(word string) bool {
	return f.PID > 0 && strings.TrimPrefix(word, "-") == strconv.Itoa(f.PID)
}

// attachesDaemon reports whether a word of a debugger means the daemon's process: PID,
// -pPID, --pid=PID, or "attach PID" among its commands.
func (f Fences) attachesDaemon(word string) bool {
	if f.PID <= 0 {
		return false
	}
	return slices.Contains(strings.FieldsFunc(word, func(c rune) bool { return c < '0' || c > '9' }), strconv.Itoa(f.PID))
}

// namesPermd reports whether a word names permd's process or units, or is a pattern for
// them as pkill matches it.
func namesPermd(word string) bool {
	word = strings.ToLower(strings.Trim(word, "^$"))
	word = strings.TrimSuffix(strings.TrimSuffix(word, ".service"), ".socket")
	return word == "permd" || word == "permd-admin" || word == "perm" || strings.HasPrefix(word, "permd@")
}
