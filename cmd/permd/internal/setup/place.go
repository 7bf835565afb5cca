package setup

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/service"
)

// configPlace is a configuration file that permd is installed in: one with the hooks
// of a harness, or one with the agents of an ACP client.
type configPlace struct {
	name    string // the harness, or client and agent; names the record and the backup
	managed bool
	path    string
	mode    fs.FileMode // of a new file
	edit    configEditor
	// notes are printed after installing.
	notes []string
	// after is the file of its own that the harness runs after a tool, nil for none.
	after *configPlace
}

// configEditor installs permd in the text of a configuration file, and removes it. A
// nil text means that the file does not exist.
type configEditor interface {
	// install adds permd to a text without it.
	install(text []byte, program string) ([]byte, error)
	// remove removes what install adds, and reports whether there was any.
	remove(text []byte) (rest []byte, found bool, err error)
	// check returns permd's entries with their problems.
	check(text []byte) (entries configEntries, err error)
}

// editorInPlace is a configEditor whose install accepts a text that has permd
// already and updates the entries in place, preserving what the user added.
type editorInPlace interface{ installsInPlace() }

// configEntries are permd's entries in one file.
type configEntries struct {
	programs []string // paths of permd that they run, without duplicates
	problems []string // why a call could bypass them
	pending  string   // what the user has to do in the harness before they take effect
	silent   []string // events after a tool at which nothing is told to permd
}

func (e *configEntries) program(path string) {
	if !slices.Contains(e.programs, path) {
		e.programs = append(e.programs, path)
	}
}

// managedPlaces returns the places that are managed, or those that are not.
func managedPlaces(places []configPlace, managed bool) []configPlace {
	return slices.DeleteFunc(slices.Clone(places), func(p configPlace) bool { return p.managed != managed })
}

// namedProgram returns the path of permd to write into settings.
func namedProgram(chosen string) (string, error) {
	program, err := service.Program(chosen)
	if err != nil {
		return "", err
	}
	return program, checkNamedProgram(program)
}

// checkNamedProgram rejects a path that a shell, or a program that expands variables
// in its settings, could read differently.
func checkNamedProgram(program string) error {
	for _, r := range program {
		if r < ' ' || r == 0x7f || strings.ContainsRune("'\"\\$`%{}", r) {
			return cli.Failf(cli.ExitError, "move permd to a path without special characters, and name it with --exec", "the path of permd has a character that could be misread: %q", program)
		}
	}
	if !strings.HasPrefix(filepath.Base(program), "permd") {
		return cli.Failf(cli.ExitError, "call the program permd, or permd-something", "the name of the program does not begin with permd, so its entries could not be recognised: %s", program)
	}
	return nil
}
