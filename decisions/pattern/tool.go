package pattern

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// Tool is a line about using a named tool.
type Tool struct {
	// Server is the tool's server; nil for a tool that no server is named for.
	Server Glob
	Name   Glob
}

func parseTool(line string) (*Tool, *refusal) {
	server, name, named := strings.Cut(line, ":")
	if !named {
		server, name = "", line
	}
	switch {
	case name == "" || named && server == "":
		return nil, refuse("write server:tool, or the tool alone if it is the agent's own", "a part of the line is empty")
	case strings.Contains(line, "**"):
		return nil, refuse("use one *", "** is for paths only")
	}
	t := &Tool{Name: strings.Split(name, "*")}
	if named {
		t.Server = strings.Split(server, "*")
	}
	if name == "*" && (!named || server == "*") {
		return nil, refuse("name the server or the tool", "the line speaks of every tool")
	}
	return t, nil
}

// String returns the line.
func (t *Tool) String() string {
	name := strings.Join(t.Name, "*")
	if t.Server == nil {
		return name
	}
	return strings.Join(t.Server, "*") + ":" + name
}

func (t *Tool) match(u *effects.Use) bool {
	if t.Server == nil {
		return u.Server == "" && t.Name.Match(u.Tool)
	}
	return u.Server != "" && t.Server.Match(u.Server) && t.Name.Match(u.Tool)
}
