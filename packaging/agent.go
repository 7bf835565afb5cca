package packaging

import (
	"encoding/xml"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The name of the agent of launchd, and of its file in ~/Library/LaunchAgents. The names of its
// sockets are those of systemd's units (FileDescriptorName=).
const (
	AgentLabel = "io.github.permd.permd"
	AgentFile  = AgentLabel + ".plist"
)

// maxSocket is the greatest length of a socket's path on macOS, in bytes: sun_path without the NUL.
const maxSocket = 103

// Agent is what UserAgent writes. All paths are absolute.
type Agent struct {
	Program                     string // permd
	DecisionSocket, AdminSocket string
	Log                         string // where the daemon's standard error goes
}

// UserAgent returns the agent of launchd that runs permd for one person on macOS: launchd
// listens on both sockets when the person logs in, and starts permd at the first connection,
// also after it has ended. The folders of the sockets must be there. It fails for a path
// that is not absolute or that the agent cannot name, and for a socket's that is too long.
func UserAgent(a *Agent) (Unit, error) {
	var pairs []string
	for _, p := range []struct {
		name, path string
		max        int
	}{
		{"PROGRAM", a.Program, 0}, {"DECISION", a.DecisionSocket, maxSocket}, {"ADMIN", a.AdminSocket, maxSocket}, {"LOG", a.Log, 0},
	} {
		escaped, err := inAgent(p.path)
		if err == nil && p.max > 0 && len(p.path) > p.max {
			err = fmt.Errorf("the path of a socket has at most %d bytes on macOS", p.max)
		}
		if err != nil {
			return Unit{}, fmt.Errorf("naming %q in an agent of launchd: %w", p.path, err)
		}
		pairs = append(pairs, "@"+p.name+"@", escaped)
	}
	return Unit{AgentFile, strings.NewReplacer(pairs...).Replace(agentText)}, nil
}

// AgentProgram returns the program that an agent of UserAgent starts, and whether it is still
// written as UserAgent writes it.
func AgentProgram(agent string) (string, bool) {
	before, after, _ := strings.Cut(agentText, "@PROGRAM@")
	// The installed file has a comment of permd's after its first line, so only the last line before
	// the program is compared.
	before = before[strings.LastIndex(before, "\n")+1:]
	after, _, _ = strings.Cut(after, "\n")
	_, rest, ok := strings.Cut(agent, "<key>ProgramArguments</key>\n\t<array>\n"+before)
	escaped, rest, found := strings.Cut(rest, after+"\n")
	if !ok || !found || !strings.HasPrefix(rest, "\t\t<string>serve</string>\n\t</array>\n") {
		return "", false
	}
	var program string
	if err := xml.Unmarshal([]byte("<string>"+escaped+"</string>"), &program); err != nil {
		return "", false
	}
	again, err := inAgent(program)
	return program, err == nil && again == escaped
}

// inAgent writes a path as the text of an element.
func inAgent(path string) (string, error) {
	switch {
	case !filepath.IsAbs(path) || filepath.Clean(path) != path:
		return "", errors.New("want an absolute, clean path")
	case !utf8.ValidString(path):
		return "", errors.New("the path is not valid UTF-8")
	case strings.ContainsFunc(path, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError || r >= 0xFFFE && r <= 0xFFFF }):
		return "", errors.New("the path has a character that a property list cannot have")
	}
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(path)); err != nil {
		return "", err
	}
	return b.String(), nil
}
