package tools

import (
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/strictjson"
)

// argumentMembers are the members that hold the arguments of a command in another one.
var argumentMembers = []string{"args", "arguments", "argv", "parameters", "params"}

// withArguments returns a command with the words that another member of the same object
// holds for it: {"command": "rm", "args": ["-r", "x"]}. If it cannot be said what is run,
// the command is not known.
func (t *tool) withArguments(o strictjson.Object, f fact, from string) fact {
	command, isText := strictjson.ParseString(f.val)
	if !isText {
		return f
	}
	joined := false
	for _, name := range argumentMembers {
		v, _ := o.Get(name)
		if k := strictjson.Kind(v); k == 0 || k == 'n' || k == '{' || isEmptyList(v) {
			continue // the members of an object are no words
		}
		args, isList := argvOf(v)
		argv, err := json.Marshal(append([]string{command}, args...))
		if err != nil || !isList || joined || strings.ContainsAny(command, " \t\n") {
			t.Unknown(memberOf(from, name), "a command whose arguments are in another member")
			continue
		}
		f.val, joined = strictjson.Value(argv), true
	}
	return f
}

func isEmptyList(v strictjson.Value) bool {
	items, err := strictjson.ParseArray(v)
	return strictjson.Kind(v) == '[' && err == nil && len(items) == 0
}

// filesForeign adds the paths among the strings of a value, and returns the index of the
// first. A number is no path; of an object, only what cannot be meant for anything else is.
func (t *tool) filesForeign(f fact, cwd string, kind effects.Kind) int {
	n := len(t.Effects)
	for _, g := range t.textsForeign(f) {
		switch given, _ := strictjson.ParseString(g.val); {
		case isFileURL(trimURL(given)):
			t.file(kind, trimURL(given), cwd, g.from)
		case given != "" && !strings.Contains(given, "://"):
			t.file(kind, given, cwd, g.from)
		}
	}
	return n
}

// textsForeign returns the texts of a value that should be text or a list of texts: of an
// object in its place, those that begin as an absolute path or an address does.
func (t *tool) textsForeign(f fact) []fact {
	switch strictjson.Kind(f.val) {
	case '"', '[':
		return t.texts(f, t.all.generic)
	case '{':
		return t.rooted(nil, f, 0)
	}
	return nil
}

// rooted appends the texts anywhere in a value that begin as an absolute path or an address
// does.
func (t *tool) rooted(list []fact, f fact, depth int) []fact {
	if depth > foreignDepth || len(list) > maxToolPaths {
		return list // the search of the objects reports that
	}
	switch strictjson.Kind(f.val) {
	case '"':
		text, _ := strictjson.ParseString(f.val)
		url := trimURL(text)
		if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || isFileURL(url) || len(networkURLs(url)) > 0 {
			list = append(list, f)
		}
	case '{':
		o, _ := strictjson.ParseObject(f.val)
		for _, m := range o {
			list = t.rooted(list, fact{name: f.name, from: memberOf(f.from, m.Name), role: f.role, val: m.Value}, depth+1)
		}
	case '[':
		items, _ := strictjson.ParseArray(f.val)
		for i, item := range items {
			list = t.rooted(list, fact{name: f.name, from: itemOf(f.from, i), role: f.role, val: item}, depth+1)
		}
	}
	return list
}

// connectForeign adds addresses. Unknown schemes name things of the tool's own, unless they
// have an address in them.
func (t *tool) connectForeign(f fact) {
	for _, g := range t.textsForeign(f) {
		given, _ := strictjson.ParseString(g.val)
		url := trimURL(given)
		if isFileURL(url) {
			t.connect(url, effects.MethodSend, g.from)
			continue
		}
		found := networkURLs(url)
		for _, one := range found {
			t.connect(one, effects.MethodSend, g.from)
		}
		if len(found) == 0 && !strings.Contains(url, ":") && strings.Contains(url, ".") {
			t.connect(url, effects.MethodSend, g.from)
		}
	}
}

// trimURL returns an address as URL parsers read it: without tabs and line breaks, and
// without control characters and blanks around it.
// See https://url.spec.whatwg.org/#url-parsing.
func trimURL(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	if !strings.ContainsAny(s, "\t\n\r") {
		return s // a Replacer takes 8 KiB
	}
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
}

func isFileURL(s string) bool {
	return len(s) >= len("file:") && strings.EqualFold(s[:len("file:")], "file:")
}

// networkSchemes are those whose addresses a tool of any server reaches over a network.
var networkSchemes = lazy.Regexp(`(?i)(?:https?|wss?|ftps?|sftp|ssh|git):`)

// networkURLs returns the address that a text is, or those in it: view-source:https://…,
// <https://…>.
func networkURLs(text string) (list []string) {
	at := networkSchemes().FindStringIndex(text)
	switch {
	case at == nil:
		return nil
	case at[0] == 0:
		return []string{text}
	}
	for _, at := range networkSchemes().FindAllStringIndex(text, -1) {
		one := text[at[0]:]
		if end := strings.IndexAny(one, " <>\"'`"); end >= 0 {
			one = one[:end]
		}
		if strings.HasPrefix(one[at[1]-at[0]:], "//") {
			list = append(list, one)
		}
	}
	return list
}
