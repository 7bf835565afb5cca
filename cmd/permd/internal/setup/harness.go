package setup

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// hookLimit is the timeout that harnesses are configured with, in seconds. It is
// longer than permd hook waits for the daemon, so that if the daemon is slow, permd
// hook blocks the call before the harness gives up and proceeds.
const hookLimit = 10

// harness is an agent harness with hooks that can stop a tool.
type harness struct {
	name string
	// places returns the files in which it looks for hooks: the user's own and, if
	// it has one, the managed one, below root.
	places func(root, home string) []configPlace
}

// harnesses lists the supported harnesses, in the order of the help text.
var harnesses = []harness{
	{"claude", claudePlaces},
	{"codex", codexPlaces},
	{"gemini", geminiPlaces},
	{"cursor", cursorPlaces},
	{"copilot", copilotPlaces},
	{"cline", clinePlaces},
}

// openCode is a harness whose hooks cannot stop a tool. For it, install only prints
// instructions.
const openCode = "opencode"

// Harnesses returns the names that install and uninstall accept.
func Harnesses() []string { return append(hookHarnesses(), openCode) }

// hookHarnesses returns the names of the harnesses whose files are changed.
func hookHarnesses() []string {
	names := make([]string, len(harnesses))
	for i, h := range harnesses {
		names[i] = h.name
	}
	return names
}

// hookPlaces returns the files of a harness, nil for an unknown one.
func hookPlaces(root, name, home string) []configPlace {
	for _, h := range harnesses {
		if h.name == name {
			return h.places(root, home)
		}
	}
	return nil
}

// restartNote is for harnesses that read their hooks only when they start.
const restartNote = "running sessions do not see the change: restart them"

// systemFile returns the path of a managed file below root. darwin is the path on
// macOS, "" if it is the same or does not exist.
func systemFile(root, linux, darwin string) string {
	if runtime.GOOS == "darwin" && darwin != "" {
		return filepath.Join("/", root, darwin)
	}
	return filepath.Join("/", root, linux)
}

// ownFolder returns the folder that an environment variable names, if it is
// absolute: a relative path would depend on the working directory. Otherwise it
// returns the default below the home.
func ownFolder(variable, home string, below ...string) string {
	if v := os.Getenv(variable); filepath.IsAbs(v) {
		return filepath.Clean(v)
	}
	return filepath.Join(append([]string{home}, below...)...)
}

// hookCommand returns the command line that a harness runs in a shell. If the
// program fails in any way, such as when it is missing or killed, the command exits
// with the code that blocks the call.
func hookCommand(program, harness string) string {
	return cli.Quote(program) + " hook " + harness + " || exit 2"
}

// afterCommand returns the command line for events after a tool. Whatever fails, the
// harness is not disturbed: the tool has run.
func afterCommand(program, harness string) string {
	return cli.Quote(program) + " hook " + harness + " --after || exit 0"
}

// afterProgram returns the program in a command line that afterCommand returned, "" for any
// other command line.
func afterProgram(command, harness string) string {
	return commandProgram(strings.TrimSuffix(command, " || exit 0"), " hook "+harness+" --after")
}

// hookProgram returns the program in a command line that hookCommand returned, ""
// for any other command line.
func hookProgram(command, harness string) string {
	return commandProgram(strings.TrimSuffix(command, " || exit 2"), " hook "+harness)
}

func commandProgram(command, arguments string) string {
	rest, ok := strings.CutSuffix(command, arguments)
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
