package setup

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// hookLimit is how long a harness waits for permd hook, in seconds. It is more
// than permd hook itself waits for the daemon, so that a slow daemon is answered
// for by permd hook, which says no, and not by the harness, which goes on.
const hookLimit = 10

// harness is an agent harness with hooks that can stop a tool.
type harness struct {
	name string
	// places are the files in which it looks for hooks: the person's own and, if
	// it has one, the organisation's. root relocates the latter.
	places func(root, home string) []configPlace
}

// harnesses are those that install knows, in the order of the help.
var harnesses = []harness{
	{"claude", claudePlaces},
	{"codex", codexPlaces},
	{"gemini", geminiPlaces},
	{"cursor", cursorPlaces},
	{"copilot", copilotPlaces},
	{"cline", clinePlaces},
}

// openCode is a harness whose hooks cannot stop a tool: a person is told what to
// do.
const openCode = "opencode"

// Harnesses are the harnesses that install and uninstall take.
func Harnesses() []string { return append(hookHarnesses(), openCode) }

// hookHarnesses are those whose files are changed.
func hookHarnesses() []string {
	names := make([]string, len(harnesses))
	for i, h := range harnesses {
		names[i] = h.name
	}
	return names
}

// hookPlaces are the files of a harness, none of one that is not known.
func hookPlaces(root, name, home string) []configPlace {
	for _, h := range harnesses {
		if h.name == name {
			return h.places(root, home)
		}
	}
	return nil
}

// restartNote goes for harnesses that read their hooks once.
const restartNote = "sessions that run already do not see the change: start them anew"

// systemFile is a file of the organisation; darwin is "" where it is the same, or
// where there is none.
func systemFile(root, linux, darwin string) string {
	if runtime.GOOS == "darwin" && darwin != "" {
		return filepath.Join("/", root, darwin)
	}
	return filepath.Join("/", root, linux)
}

// ownFolder is a folder that a harness is told by a variable; only an absolute one
// is the same for everybody who looks. Otherwise it is below the home.
func ownFolder(variable, home string, below ...string) string {
	if v := os.Getenv(variable); filepath.IsAbs(v) {
		return filepath.Clean(v)
	}
	return filepath.Join(append([]string{home}, below...)...)
}

// hookCommand is the command line that a harness gives to a shell. Whatever goes
// wrong with the program ends with the code that stops the call: a program that
// is gone, or was killed, must not be a yes.
func hookCommand(program, harness string) string {
	return cli.Quote(program) + " hook " + harness + " || exit 2"
}

// hookProgram is the program of a command line that install has written, "" if it
// is none of permd's.
func hookProgram(command, harness string) string {
	rest, ok := strings.CutSuffix(strings.TrimSuffix(command, " || exit 2"), " hook "+harness)
	if !ok || rest == "" {
		return ""
	}
	if quoted, ok := strings.CutPrefix(rest, "'"); ok {
		rest, ok = strings.CutSuffix(quoted, "'")
		if !ok || strings.Contains(rest, "'") {
			return ""
		}
	} else if strings.ContainsAny(rest, " \t") {
		return ""
	}
	if !strings.HasPrefix(filepath.Base(rest), "permd") {
		return ""
	}
	return rest
}
