// Package fence says which effects are denied without any policy, since they would change or
// end permd itself. It looks at nothing: an effect says what it means.
package fence

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// Fence is what has to be known of permd to protect its process, files and services. The
// engine asks it by itself, so that no rule, broken rule or remembered choice can override it.
type Fence struct {
	PID      int      // of the daemon, 0 when there is none
	Programs []string // the paths of the program that runs as the daemon
}

// Reason returns why an effect is forbidden, "" if it is not.
func (f Fence) Reason(e *effects.Effect) string {
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

// endsDaemon reports whether a run may end the daemon, hold it or change it while it runs.
// Which programs do so to a process is in processes.go, which to a service in units.go.
func (f Fence) endsDaemon(r *effects.Run) bool {
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

// namesPermd reports whether a word names permd's process or units, or is a pattern for
// them as pkill matches it.
func namesPermd(word string) bool {
	word = strings.ToLower(strings.Trim(word, "^$"))
	word = strings.TrimSuffix(strings.TrimSuffix(word, ".service"), ".socket")
	return word == "permd" || word == "permd-admin" || word == "perm" || strings.HasPrefix(word, "permd@")
}
