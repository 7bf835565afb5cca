package setup

import (
	"bytes"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/hookproc"
)

// ownFile is a file that is permd's alone: harnesses that take a folder of files
// get one more.
type ownFile struct {
	harness string
	options hookOptions
	text    func(program string, o hookOptions) []byte
	// earlier is the file as earlier versions wrote it, which told nothing after a tool; nil
	// if that is the same.
	earlier func(program string) []byte
}

func (o *ownFile) install(text []byte, program string) ([]byte, error) {
	if text != nil {
		return nil, cli.Failf(cli.ExitError, "look at it; permd can be called from it with: permd hook "+o.harness, "there is another file in its place")
	}
	return o.text(program, o.options), nil
}

func (o *ownFile) remove(text []byte) ([]byte, bool, error) {
	if text == nil {
		return nil, false, nil
	}
	if o.program(text) == "" {
		if bytes.Contains(text, []byte(" hook "+o.harness)) && bytes.Contains(text, []byte("permd")) {
			return nil, false, cli.Failf(cli.ExitError, "look at it, and remove it by hand", "it was changed, so it is not permd's alone any more")
		}
		return text, false, nil
	}
	return nil, true, nil
}

func (o *ownFile) check(text []byte) (e configEntries, err error) {
	if program := o.program(text); program != "" {
		e.program(program)
		if !bytes.Equal(o.text(program, optionsIn(text, o.harness)), text) {
			e.silent = append(e.silent, "the event after a tool")
		}
	} else if bytes.Contains(text, []byte(" hook "+o.harness)) {
		e.problems = append(e.problems, "it was changed")
	}
	return e, nil
}

// program returns the permd that the file runs, "" if the file was changed by hand.
func (o *ownFile) program(text []byte) string {
	for line := range strings.Lines(string(text)) {
		_, rest, ok := strings.Cut(line, programPrefix)
		if !ok {
			continue
		}
		rest, _, _ = strings.Cut(rest, programSuffix)
		if program := hookProgram(rest+" hook "+o.harness, o.harness); program != "" && (bytes.Equal(o.text(program, optionsIn(text, o.harness)), text) || o.earlier != nil && bytes.Equal(o.earlier(program), text)) {
			return program
		}
	}
	return ""
}

// optionsIn returns the options of the first hook of a file, which is the one before a tool.
func optionsIn(text []byte, harness string) (o hookOptions) {
	_, rest, _ := bytes.Cut(text, []byte(" hook "+harness))
	rest, o.system = bytes.CutPrefix(rest, []byte(systemFlag))
	if rest, ok := bytes.CutPrefix(rest, []byte(waitFlag)); ok {
		word := rest[:max(0, bytes.IndexAny(rest, " )"))]
		o.wait, _ = hookproc.ParseWait(string(word))
	}
	return o
}

// limits returns how long the harness lets the hooks of the file run that wait, in seconds. clineLimit
// is no setting.
func (o *ownFile) limits(text []byte) ([]int, error) {
	wait := optionsIn(text, o.harness).wait
	switch {
	case !bytes.Contains(text, []byte(waitFlag)):
		return nil, nil
	case o.program(text) == "" || wait == 0:
		return nil, errLimits
	case o.harness == "cline":
		return []int{clineLimit}, nil
	}
	return []int{limitOf(wait)}, nil
}

// What stands around the program's path, as a shell takes it, where the files
// name it first.
const (
	programPrefix = "Written by permd hook install for "
	programSuffix = "; permd hook uninstall removes it."
)
