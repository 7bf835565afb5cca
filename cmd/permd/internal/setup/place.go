package setup

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/service"
)

// configPlace is one file that permd is put into: one in which a harness looks
// for hooks, or in which a client has the commands of its agents.
type configPlace struct {
	name    string // the harness, or client and agent; what is kept of it is called so
	managed bool
	path    string
	mode    fs.FileMode // of a new file
	edit    configEditor
	// notes are what a person has to know about who reads it.
	notes []string
}

// configEditor puts permd into a configuration file, and takes it out again. A nil
// text is a file that is not there.
type configEditor interface {
	// install adds the command to a text that has nothing of permd.
	install(text []byte, program string) ([]byte, error)
	// remove takes out what install adds, and says whether there was any.
	remove(text []byte) (rest []byte, found bool, err error)
	// check says what is wrong with permd's entries, and which programs they run.
	check(text []byte) (entries configEntries, err error)
}

// editorInPlace is one whose install takes a text that has permd already and
// changes what is there where it is: the person may have written more into it.
type editorInPlace interface{ installsInPlace() }

// configEntries are permd's entries in one file.
type configEntries struct {
	programs []string // which permd is run, each once
	problems []string // why a call could get past them
	pending  string   // what its reader has to be told by its person before it counts
}

func (e *configEntries) program(path string) {
	if !slices.Contains(e.programs, path) {
		e.programs = append(e.programs, path)
	}
}

// managedPlaces are the places of a harness that are asked for.
func managedPlaces(places []configPlace, managed bool) []configPlace {
	return slices.DeleteFunc(slices.Clone(places), func(p configPlace) bool { return p.managed != managed })
}

// namedProgram is the path of permd that is written into settings.
func namedProgram(chosen string) (string, error) {
	program, err := service.Program(chosen)
	if err != nil {
		return "", err
	}
	return program, checkNamedProgram(program)
}

// checkNamedProgram refuses a path that a shell, or a program that replaces
// variables in its settings, could read otherwise.
func checkNamedProgram(program string) error {
	for _, r := range program {
		if r < ' ' || r == 0x7f || strings.ContainsRune("'\"\\$`%{}", r) {
			return cli.Failf(cli.ExitError, "put permd at a path of plain letters, and name it with --exec", "the path of permd has a character that could be misread: %q", program)
		}
	}
	if !strings.HasPrefix(filepath.Base(program), "permd") {
		return cli.Failf(cli.ExitError, "call the program permd, or permd-something", "the program is not called permd, so that what runs it could not be told from others: %s", program)
	}
	return nil
}
