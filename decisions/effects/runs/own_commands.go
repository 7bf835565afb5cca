package runs

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/permd/permd/decisions/effects"
)

// ownList is permd's tree of commands, one a line: whether it only reads, its words, and
// its options, those with a value marked by "=". A test of the command line generates
// the list and fails if the tree differs.
//
//go:embed own_commands.txt
var ownList string

// ownEntry is a command of permd.
type ownEntry struct {
	reads   bool
	group   bool // it has sub-commands
	options []string
}

var ownCommands = sync.OnceValue(func() map[string]ownEntry {
	all := map[string]ownEntry{}
	for line := range strings.Lines(ownList) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] == "#" {
			continue
		}
		n := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "-") })
		if n < 0 {
			n = len(fields)
		}
		words := fields[1:n]
		all[strings.Join(words, " ")] = ownEntry{reads: fields[0] == "reads", options: fields[n:]}
		if parent := strings.Join(words[:len(words)-1], " "); parent != "" {
			e := all[parent]
			e.group = true
			all[parent] = e
		}
	}
	return all
})

// ownCommand returns how the words use permd: as reading only if they spell a command
// that is marked so, with options that it has.
func ownCommand(args []string) effects.OwnUse {
	all := ownCommands()
	name := ownName
	at := all[name]
	if n := len(args); n > 0 && (args[n-1] == "--help" || args[n-1] == "-h") && ownPath(args[:n-1]) {
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

// ownPath reports whether words are those of a command and nothing else.
func ownPath(args []string) bool {
	_, ok := ownCommands()[strings.Join(append([]string{ownName}, args...), " ")]
	return ok
}
