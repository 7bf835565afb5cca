package setup

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/hookproc"
)

// hookLimit is the timeout that harnesses are configured with, in seconds. It is
// longer than permd hook waits for the daemon, so that if the daemon is slow, permd
// hook blocks the call before the harness gives up and proceeds.
const hookLimit = int(hookproc.Margin / time.Second)

// limitOf is hookLimit for a hook that waits for a person.
func limitOf(wait time.Duration) int { return int((wait+time.Second-1)/time.Second) + hookLimit }

// hookOptions are the options of the hooks that are written.
type hookOptions struct {
	wait   time.Duration // for a person
	system bool          // ask the machine's daemon alone
}

// words returns the options that follow the name of the harness in the hook's command line.
func (o hookOptions) words() string {
	if o.system {
		return systemFlag + waitOption(o.wait)
	}
	return waitOption(o.wait)
}

// systemFlag is the option with which a hook asks only the system-wide daemon.
const systemFlag = " --system"

// waitOption returns the words of a command line for a wait, "" for none.
func waitOption(wait time.Duration) string {
	if wait == 0 {
		return ""
	}
	text := wait.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if short, ok := strings.CutSuffix(text, zero); ok {
			text = short + zero[:1]
		}
	}
	return waitFlag + text
}

// waitFlag is what stands before the time in a command line with a wait.
const waitFlag = " --wait "

// cutWait cuts a wait off the end of a command line, 0 if there is none.
func cutWait(command string) (rest string, wait time.Duration) {
	i := strings.LastIndex(command, waitFlag)
	if i < 0 {
		return command, 0
	}
	wait, ok := hookproc.ParseWait(command[i+len(waitFlag):])
	if !ok {
		return command, 0
	}
	return command[:i], wait
}

// harness is an agent harness with hooks that can stop a tool.
type harness struct {
	name string
	// places returns the files in which it looks for hooks: the user's own and, if
	// it has one, the managed one, below root.
	places func(root, home string, o hookOptions) []configPlace
	// timeout is its own for all hooks, in seconds; 0 if settings say it.
	timeout int
}

// harnesses lists the supported harnesses, in the order of the help text.
var harnesses = []harness{
	{name: "claude", places: claudePlaces},
	{name: "codex", places: codexPlaces},
	{name: "gemini", places: geminiPlaces},
	{name: "cursor", places: cursorPlaces},
	{name: "copilot", places: copilotPlaces},
	{name: "cline", places: clinePlaces, timeout: clineLimit},
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
func hookPlaces(root, name, home string, o hookOptions) []configPlace {
	for _, h := range harnesses {
		if h.name == name {
			return h.places(root, home, o)
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
func hookCommand(program, harness string, o hookOptions) string {
	return cli.Quote(program) + " hook " + harness + o.words() + " || exit 2"
}

// afterCommand returns the command line for events after a tool. Whatever fails, the
// harness is not disturbed: the tool has run.
func afterCommand(program, harness string, o hookOptions) string {
	return cli.Quote(program) + " hook " + harness + hookOptions{system: o.system}.words() + " --after || exit 0"
}

// afterProgram returns the program in a command line that afterCommand returned, "" for any
// other command line.
func afterProgram(command, harness string) string {
	command, after := strings.CutSuffix(strings.TrimSuffix(command, " || exit 0"), " --after")
	if !after {
		return ""
	}
	return commandProgram(strings.TrimSuffix(command, systemFlag), " hook "+harness)
}

// hookProgram returns the program in a command line that hookCommand returned, ""
// for any other command line.
func hookProgram(command, harness string) string {
	command, _ = cutWait(strings.TrimSuffix(command, " || exit 2"))
	return commandProgram(strings.TrimSuffix(command, systemFlag), " hook "+harness)
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
