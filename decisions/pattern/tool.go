package pattern

import (
	"regexp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// Tool is a line about using a named tool. A name without @ matches the tool in
// every version and without one; after an @ follows the version, where x means
// x.0.0.
type Tool struct {
	// Server is the tool's server; nil for a tool without a server.
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
	case strings.HasPrefix(server, `"`), strings.HasPrefix(name, `"`), strings.Contains(line, `@"`):
		// A label quotes a name that a line would interpret differently. As a
		// line it would name a tool with the quotes in its name, and match
		// none.
		return nil, refuse("leave it to the question, or write a * in the place of the name's odd characters", "a name in quotes is that of a tool which no line can name")
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

// Fold returns the line with its names as FoldTool returns them.
func (t *Tool) Fold() *Tool {
	return &Tool{Server: foldGlob(t.Server), Name: foldGlob(t.Name)}
}

func foldGlob(g Glob) Glob {
	for i, piece := range g {
		if FoldTool(piece) == piece {
			continue
		}
		folded := slices.Clone(g)
		for j := i; j < len(g); j++ {
			folded[j] = FoldTool(g[j])
		}
		return folded
	}
	return g
}

// touches reports whether a deny, an ask or a reject of the line holds for the use e of a
// tool.
func (t *Tool) touches(e *effects.Effect) bool {
	use := *e.Use
	use.Server, use.Tool, use.Version = FoldTool(use.Server), FoldTool(use.Tool), FoldTool(use.Version)
	folded := Tool{Server: foldGlob(t.Server), Name: foldGlob(t.Name)}
	if folded.Server == nil {
		return use.Server == "" && folded.mayName(&use)
	}
	return use.Server != "" && folded.Server.Match(use.Server) && folded.mayName(&use) || folded.mayBe(&use, e.Claimed)
}

// OpensKinds reports whether the line may allow calls that name no tool: it must spell out
// that it means these, which a * does not.
func (t *Tool) OpensKinds() bool { return t.Server == nil && effects.NamesKind(t.Name.Prefix()) }

// UnknownKind reports whether the line means calls that name no tool, of a kind of which there
// are none.
func (t *Tool) UnknownKind() bool {
	return t.OpensKinds() && !slices.ContainsFunc(effects.NamelessKinds(), func(kind string) bool { return t.Name.Match(effects.KindTool(kind)) })
}

func (t *Tool) match(u *effects.Use) bool {
	if t.Server == nil {
		return u.Server == "" && t.Names(u) && (t.OpensKinds() || !u.OfKind())
	}
	return u.Server != "" && t.Server.Match(u.Server) && t.Names(u)
}

// mayName is Names for a deny, an ask or a reject, of a line and a tool as FoldTool returns
// them: the version holds as soon as it may be the line's.
func (t *Tool) mayName(u *effects.Use) bool {
	if t.Name.Match(u.Tool) {
		return true
	}
	name, ok := t.ofVersion(u)
	return ok && name.Match(u.Tool)
}

// ofVersion returns the name that the line gives a tool in a version, if the line names one
// that may be the tool's.
func (t *Tool) ofVersion(u *effects.Use) (name Glob, ok bool) {
	name, version, ok := t.Versioned()
	if !ok || u.Version == "" {
		return nil, false
	}
	known := normalVersion(u.Version)
	return name, known == UnknownVersion || version.Match(u.Version) || NormalVersions(version).Match(known)
}

// ServerSeparators are the characters between the names of a server and its tool, as
// programs that call tools of several servers write them in one name.
const ServerSeparators = "-_.:/"

// mayBe reports whether a tool whose server is not named apart may be one of the line's:
// it has such a name after that of the server, perhaps with "mcp" before both, as many
// agents write it. If another tool calls it, or nothing but a claim says whose tool it is,
// the name alone suffices.
func (t *Tool) mayBe(u *effects.Use, claimed bool) bool {
	switch {
	case t.Server == nil:
		return false
	case u.Server == effects.UnknownServer:
		return t.mayName(u) || t.namesTool(u, u.Tool)
	case u.Server != "" || u.Source == effects.AgentSource:
		return false
	case t.namesTool(u, u.Tool), claimed && t.mayName(u):
		return true
	}
	rest, ok := strings.CutPrefix(u.Tool, serversTool)
	for i := 0; ok && i < len(rest) && isServerSeparator(rest[i]); i++ {
		if t.namesTool(u, rest[i+1:]) {
			return true
		}
	}
	return false
}

// namesTool is namesBoth for a line that may name the version of the tool.
func (t *Tool) namesTool(u *effects.Use, text string) bool {
	if t.namesBoth(text) {
		return true
	}
	name, ok := t.ofVersion(u)
	of := Tool{Server: t.Server, Name: name}
	return ok && of.namesBoth(text)
}

// serversTool begins the names of servers' tools with many agents: mcp_github_merge.
const serversTool = "mcp"

func isServerSeparator(c byte) bool { return strings.IndexByte(ServerSeparators, c) >= 0 }

// namesBoth reports whether a name is that of the line's server and that of its tool, with
// separators between them.
func (t *Tool) namesBoth(name string) bool {
	for i := range len(name) {
		if !t.Server.Match(name[:i]) {
			continue
		}
		for j := i; j < len(name) && isServerSeparator(name[j]); j++ {
			if t.Name.Match(name[j+1:]) {
				return true
			}
		}
	}
	return false
}

// JoinedRegexp returns a regular expression for the names of tools without a server that
// mayBe reports.
func (t *Tool) JoinedRegexp(any string) string {
	return "(" + serversTool + separators + ")?" + t.ServerAndName(any)
}

// ServerAndName returns a regular expression for the names that namesBoth reports.
func (t *Tool) ServerAndName(any string) string {
	return t.Server.Regexp(any) + separators + t.Name.Regexp(any)
}

var separators = "[" + regexp.QuoteMeta(ServerSeparators) + "]+"

// Names reports whether the line's name and version are those of the tool.
// Tools of other protocols may have an @ in their names: the line matches them
// as well.
func (t *Tool) Names(u *effects.Use) bool {
	if t.Name.Match(u.Tool) {
		return true
	}
	name, version, ok := t.Versioned()
	return ok && u.Version != "" && name.Match(u.Tool) && version.Match(u.Version)
}

// Versioned splits the line's name at its last @; it returns false if there is
// none, or nothing on one side.
func (t *Tool) Versioned() (name, version Glob, ok bool) {
	text := strings.Join(t.Name, "*")
	i := strings.LastIndexByte(text, '@')
	if i <= 0 || i == len(text)-1 {
		return nil, nil, false
	}
	v := text[i+1:]
	if strings.Trim(v, "0123456789") == "" {
		v += ".0.0"
	}
	return strings.Split(text[:i], "*"), strings.Split(v, "*"), true
}
