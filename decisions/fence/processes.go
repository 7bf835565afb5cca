package fence

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// Programs that end, hold or change a process: by its number (kill, debuggers), or by its
// name.

// debuggers are programs that control a process given by its number.
var debuggers = []string{"gdb", "cgdb", "lldb", "gcore", "strace", "ltrace", "rr", "criu", "prlimit", "reptyr"}

// meansDaemon reports whether a word of kill means the daemon's process or its process
// group. (-1 after the first word means every process; as the first word it is a
// signal.)
func (f Fence) meansDaemon(word string) bool {
	return f.PID > 0 && strings.TrimPrefix(word, "-") == strconv.Itoa(f.PID)
}

// attachesDaemon reports whether a word of a debugger means the daemon's process: PID,
// -pPID, --pid=PID, or "attach PID" among its commands.
func (f Fence) attachesDaemon(word string) bool {
	if f.PID <= 0 {
		return false
	}
	return slices.Contains(strings.FieldsFunc(word, func(c rune) bool { return c < '0' || c > '9' }), strconv.Itoa(f.PID))
}

// signalsByName are programs that end processes selected by name or by other properties.
var signalsByName = []string{"pkill", "killall", "skill", "killall5"}

// The letters of options of pkill, and of killall, whose value is the next word. For
// other options with a value, that is taken for a pattern, which can only deny more.
const (
	pkillValueOptions   = "dFgGJOPqrsStuU"
	killallValueOptions = "cnosuyZ"
)

// selectingOptions are those of pkillValueOptions that select processes by something
// else than a pattern: parent, group, session, terminal. Without a pattern they may
// select permd too.
const selectingOptions = "FgJPrst"

// endsByName reports whether a run of pkill or killall may end the daemon. Patterns are
// matched as these programs do, ignoring case, against the names that the daemon's
// process may have.
func (f Fence) endsByName(r *effects.Run) bool {
	if filepath.Base(r.Program) == "killall5" {
		return true
	}
	takesValue := pkillValueOptions
	if filepath.Base(r.Program) == "killall" {
		takesValue = killallValueOptions
	}
	full, limited := false, false
	var patterns []string
	for i := 0; i < len(r.Args); i++ {
		word := r.Args[i]
		switch {
		case word == "--":
			patterns = append(patterns, r.Args[i+1:]...)
			i = len(r.Args)
		case word == "--inverse":
			return true
		case word == "--full" || strings.HasPrefix("--full", word) && len(word) > 2:
			full = true
		case len(word) < 2 || word[0] != '-':
			patterns = append(patterns, word)
		case word[1] == '-':
			patterns = append(patterns, word) // killall --user, or a name in an option's value
		default:
			full = full || strings.Contains(word, "f")
			if last := word[len(word)-1]; len(word) == 2 && strings.IndexByte(takesValue, last) >= 0 && i+1 < len(r.Args) {
				limited = limited || strings.IndexByte(selectingOptions, last) >= 0 && r.Args[i+1] != "1"
				if i++; namesPermd(r.Args[i]) {
					return true
				}
			}
		}
	}
	named := slices.ContainsFunc(patterns, func(p string) bool { return !strings.HasPrefix(p, "--") })
	if !named {
		lists := len(r.Args) > 0 && slices.ContainsFunc([]string{"-l", "-L", "-V", "-h", "--list", "--version", "--help"}, func(w string) bool { return r.Args[0] == w })
		return !limited && !lists
	}
	whole := filepath.Base(r.Program) == "killall" && !slices.ContainsFunc(r.Args, func(w string) bool {
		return strings.HasPrefix(w, "--r") || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w, "r")
	})
	return slices.ContainsFunc(patterns, func(p string) bool {
		if whole { // killall takes whole names, unless told otherwise
			return namesPermd(p) || slices.ContainsFunc(f.Programs, func(path string) bool {
				return strings.EqualFold(filepath.Base(path), filepath.Base(p))
			})
		}
		return f.matches(p, full)
	})
}

// matches reports whether a pattern matches a name of permd's process. A pattern that
// cannot be parsed counts as matching.
func (f Fence) matches(pattern string, full bool) bool {
	if namesPermd(pattern) {
		return true
	}
	if pattern == effects.DynamicWord {
		return false // an unknown effect by itself
	}
	re, err := regexp.Compile("(?i)" + pattern)
	if err != nil {
		return true
	}
	if re.MatchString("permd") {
		return true
	}
	for _, p := range f.Programs {
		if re.MatchString(filepath.Base(p)) || full && re.MatchString(p+" serve") {
			return true
		}
	}
	return full && re.MatchString("permd serve")
}
