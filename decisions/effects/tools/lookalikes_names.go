package tools

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/strictjson"
)

// The ends of members' names, in lower case and without separators.
var (
	pathNames = []string{"path", "file", "filename", "dir", "dirname", "directory", "folder"}
	// Of these only what has a dot or a slash in it is taken for a path.
	placeNames = []string{
		"location", "destination", "dest", "dst", "target", "source", "src", "output", "input", "socket", "root", "cwd", "workspace", "workdir",
		"document", "notebook", "script", "from", "to", "name",
	}
	folderNames  = []string{"path", "dir", "dirname", "directory", "folder", "location", "root", "cwd", "workspace", "workdir", "base", "parent", "destination", "dest", "target"}
	commandNames = []string{"command", "cmd", "commandline", "cmdline", "script", "shell", "bash", "sh", "exec", "execute", "run", "argv"}
	hostNames    = []string{"url", "uri", "href", "host", "hostname", "endpoint", "domain", "address", "addr", "server", "origin", "link", "webhook", "site", "proxy", "remote", "callback", "target", "destination"}
)

// nameMeans reports whether a member's name ends in one of the words, however its words are
// joined, in the singular or the plural.
func nameMeans(name string, ends []string) bool {
	folded := plainMember(name)
	for _, text := range [2]string{folded, strings.TrimSuffix(folded, "s")} {
		if slices.ContainsFunc(ends, func(end string) bool { return endsIn(name, text, end) }) {
			return true
		}
	}
	return false
}

// endsIn reports whether a folded name ends in a word. The short ones have to be words of
// their own: "photo" does not end in "to".
func endsIn(name, folded, end string) bool {
	if !strings.HasSuffix(folded, end) {
		return false
	}
	if len(end) >= 4 || len(folded) == len(end) || end == "dir" || end == "url" || end == "uri" || end == "cmd" {
		return true
	}
	last := ""
	for word := range words(name) {
		last = word
	}
	return last == end || strings.TrimSuffix(last, "s") == end
}

// plainMember returns a member's name in lower case, without what separates its words.
func plainMember(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && isSeparator(byte(r)) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// innerTool adds a use for each tool that an object may name: by a member that can name nothing
// else, or by any name if the object has arguments too.
func (l *lookalikes) innerTool(o strictjson.Object, from string) {
	var names, servers []fact
	var args strictjson.Value
	strict := false // a member cannot name anything but a tool
	for _, m := range o {
		text, isText := strictjson.ParseString(m.Value)
		f := fact{name: text, from: memberOf(from, m.Name)}
		switch {
		case isMember(m.Name, innerArguments):
			args = m.Value
			if isText && strictjson.Check([]byte(text)) == nil {
				args = strictjson.Value(text)
			}
		case !isText || text == "" || len(text) > maxLookText:
		case isMember(m.Name, innerServers):
			servers = append(servers, f)
		case isMember(m.Name, innerNames):
			names, strict = append(names, f), true
		case isMember(m.Name, innerNamesLoose):
			names = append(names, f)
		}
	}
	if args == nil && !strict {
		return
	}
	if len(servers) == 0 {
		servers = append(servers, fact{name: effects.UnknownServer})
	}
	for _, name := range names {
		for _, server := range servers {
			u := &effects.Use{Server: server.name, Tool: name.name, Arguments: args}
			if inName, tool, ok := serverTool(name.name); ok {
				u.Tool = tool
				if inName != "" {
					u.Server = inName
				}
			}
			if l.first("use "+u.Server, u.Tool+"\x00"+string(args)) {
				l.add(effects.Effect{Kind: effects.KindUse, From: name.from, Text: display.Display("use " + u.Server + ":" + u.Tool + " through " + l.id.name), Use: u})
			}
		}
	}
}

// isMember reports whether a member's name is one of the list, however it is spelled.
func isMember(name string, list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return isSpelled(name, s) })
}

// isSpelled reports whether two names differ in case and separators only.
func isSpelled(a, b string) bool {
	for i, j := 0, 0; ; i, j = i+1, j+1 {
		for i < len(a) && isSeparator(a[i]) {
			i++
		}
		for j < len(b) && isSeparator(b[j]) {
			j++
		}
		if i >= len(a) || j >= len(b) {
			return i >= len(a) && j >= len(b)
		}
		if a[i]|' ' != b[j]|' ' {
			return false
		}
	}
}

// isSeparator reports whether a character of a member's name only separates its words.
func isSeparator(c byte) bool { return c < 0x80 && !chars.IsLetter(c) && (c < '0' || c > '9') }
