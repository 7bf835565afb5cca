// Package own finds uses of permd itself in what a call runs, and reads its commands: which
// of them change what is decided.
package own

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/permd/permd/decisions/effects"
)

// permd is the name of the program.
const permd = "permd"

// list is permd's tree of commands, one a line: whether it only reads, its words, and
// its options, those with a value marked by "=". A test of the command line generates
// the list and fails if the tree differs.
//
//go:embed own_commands.txt
var list string

// entry is a command of permd.
type entry struct {
	reads   bool
	group   bool // it has sub-commands
	options []string
}

var commands = sync.OnceValue(func() map[string]entry {
	all := map[string]entry{}
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] == "#" {
			continue
		}
		n := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "-") })
		if n < 0 {
			n = len(fields)
		}
		words := fields[1:n]
		all[strings.Join(words, " ")] = entry{reads: fields[0] == "reads", options: fields[n:]}
		if parent := strings.Join(words[:len(words)-1], " "); parent != "" {
			e := all[parent]
			e.group = true
			all[parent] = e
		}
	}
	return all
})

// command returns how the words use permd: as reading only if they spell a command
// that is marked so, with options that it has.
func command(args []string) effects.OwnUse {
	all := commands()
	name := permd
	at := all[name]
	if n := len(args); n > 0 && (args[n-1] == "--help" || args[n-1] == "-h") && isPath(args[:n-1]) {
		return effects.OwnReads
	}
	operands := false
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w == "--":
			if at.group {
				return effects.OwnChanges
			}
			i = len(args)
		case len(w) > 1 && w[0] == '-':
			option, _, attached := strings.Cut(w, "=")
			switch {
			case slices.Contains(at.options, option):
				// pflag accepts a value for a switch too: --json=false.
			case slices.Contains(at.options, option+"="):
				if !attached {
					i++
				}
			default:
				return effects.OwnChanges
			}
		case w == effects.DynamicWord && at.group:
			return effects.OwnChanges
		case at.group && !operands:
			name += " " + w
			next, ok := all[name]
			if !ok {
				return effects.OwnChanges
			}
			at = next
		default:
			operands = true
		}
	}
	if at.reads {
		return effects.OwnReads
	}
	return effects.OwnChanges
}

// isPath reports whether words are those of a command and nothing else.
func isPath(args []string) bool {
	_, ok := commands()[strings.Join(append([]string{permd}, args...), " ")]
	return ok
}
