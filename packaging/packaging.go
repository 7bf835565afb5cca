// Package packaging holds what is installed in addition to the program: the units of
// systemd for a person, which are the same files that packages ship, and the agent of launchd
// that takes their place on macOS. It writes
// nothing to disk; `permd service` does.
package packaging

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed systemd/user
var files embed.FS

//go:embed launchd/agent.plist
var agentText string

// Names of the units, the sockets first: whoever enables them needs no more.
const (
	DecisionSocket = "permd.socket"
	AdminSocket    = "permd-admin.socket"
	Service        = "permd.service"
)

// Unit is a file of systemd.
type Unit struct {
	Name string
	Text string
}

// execStart is the line of the service that names the program where packages
// put it.
const execStart = "ExecStart=/usr/bin/permd serve\n"

// UserUnits returns the units that run permd for one person, starting the
// program at that path. It fails for a path that is not absolute or that a unit
// cannot name.
func UserUnits(program string) ([]Unit, error) {
	quoted, err := quote(program)
	if err != nil {
		return nil, fmt.Errorf("naming %q in a unit: %w", program, err)
	}
	var units []Unit
	for _, name := range []string{DecisionSocket, AdminSocket, Service} {
		text, err := files.ReadFile(path.Join("systemd", "user", name))
		if err != nil {
			return nil, fmt.Errorf("reading the shipped units: %w", err)
		}
		units = append(units, Unit{name, strings.Replace(string(text), execStart, "ExecStart="+quoted+" serve\n", 1)})
	}
	return units, nil
}

// Program returns the program that a unit of UserUnits starts, and whether its
// line is still as UserUnits writes it.
func Program(service string) (string, bool) {
	for line := range strings.Lines(service) {
		word, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart=")
		if !ok {
			continue
		}
		word, ok = strings.CutSuffix(word, " serve")
		program := strings.ReplaceAll(strings.Trim(word, `"`), "%%", "%")
		again, err := quote(program)
		return program, ok && err == nil && again == word
	}
	return "", false
}

// quote writes a path as the first word of a command line: with % doubled, as it
// begins a specifier, and in double quotes if it is not plain. systemd takes no
// quotes and backslashes in the path of a program, however they are written.
// Variables are not replaced in it. See systemd.service(5), COMMAND LINES.
func quote(program string) (string, error) {
	switch {
	case !filepath.IsAbs(program) || filepath.Clean(program) != program:
		return "", errors.New("want an absolute, clean path")
	case !utf8.ValidString(program):
		return "", errors.New("the path is not valid UTF-8")
	case strings.IndexFunc(program, unicode.IsControl) >= 0:
		return "", errors.New("the path has control characters")
	case strings.ContainsAny(program, "\"'\\"):
		return "", errors.New("systemd takes no path with quotes or backslashes")
	}
	program = strings.ReplaceAll(program, "%", "%%")
	if strings.ContainsFunc(program, unicode.IsSpace) || strings.ContainsAny(program, "$;") {
		return `"` + program + `"`, nil
	}
	return program, nil
}
