package tools

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/shell"
	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/strictjson"
)

// Bounds of what the strings in the arguments of a foreign tool may mean. A call with more is
// not fully known.
const (
	maxLookalikes = 512
	maxLookRuns   = 32
	maxLookBases  = 8
	maxLookText   = 4096 // bytes of a path or an address
)

// lookalikes finds what strings in the arguments of a foreign tool may mean, whatever their
// members are called: an absolute path or an address by its form, a relative path, a host and
// a command by the last word of the member's name, and a tool by a member for its arguments
// in the same object. A server may read any of them so, and most do not. So they are hints: denies and asks of
// persons and the fence see them, and nothing else.
type lookalikes struct {
	*tool
	world *World
	seen  map[string]bool
	verb  verb
	runs  int
	found int
}

// lookAround adds the hints of a call of a foreign tool.
func (w *World) lookAround(t *tool) {
	args := t.id.arguments
	switch {
	case !t.isForeign:
		return
	case args == nil:
		args = t.Call.Input
	}
	l := &lookalikes{tool: t, world: w, verb: verbOf(t.id.name)}
	from := t.from
	if t.id.arguments != nil {
		from += "." + t.id.argumentsAt
	}
	l.value(args, "", from, nil, 0)
}

// value looks at a value of a member. bases are the folders that the object around it names.
func (l *lookalikes) value(v strictjson.Value, name, from string, bases []string, depth int) {
	kind := strictjson.Kind(v)
	switch {
	case l.found > maxLookalikes:
	case depth > foreignDepth && kind != '"':
		// The search of the objects reports their depth, but not that of text in text.
		if len(v) > len("{}") && (kind == '{' || kind == '[') && !l.tooDeep {
			l.TooManyAsides = true
		}
	case kind == '"':
		text, _ := strictjson.ParseString(v)
		if inner := strings.TrimSpace(text); inner != "" && (inner[0] == '{' || inner[0] == '[') && strictjson.Check([]byte(text)) == nil {
			l.value(strictjson.Value(text), name, from, bases, depth+1)
		}
		l.text(text, name, from, bases)
	case kind == '[':
		items, _ := strictjson.ParseArray(v)
		for i, item := range items {
			l.value(item, name, itemOf(from, i), bases, depth+1)
		}
	case kind == '{':
		o, err := strictjson.ParseObject(v)
		if err == nil {
			l.object(o, from, depth)
		}
	}
}

func (l *lookalikes) object(o strictjson.Object, from string, depth int) {
	l.innerTool(o, from)
	bases := folders(o)
	for i := range o {
		m := &o[i]
		at := memberOf(from, m.Name)
		l.text(m.Name, "", at, nil) // {"files": {"/a/b": "content"}}
		if nameMeans(m.Name, commandNames) {
			l.command(o, m, from)
		}
		l.value(m.Value, m.Name, at, bases, depth+1)
	}
}

// folders returns the folders that an object may name for the relative paths in it.
func folders(o strictjson.Object) (list []string) {
	for _, m := range o {
		text, ok := strictjson.ParseString(m.Value)
		if ok && text != "" && len(text) <= maxLookText && len(list) < maxLookBases && nameMeans(m.Name, folderNames) {
			list = append(list, strings.TrimRight(text, "/")+"/")
		}
	}
	return list
}

// text looks at one string.
func (l *lookalikes) text(text, name, from string, bases []string) {
	given := trimURL(text)
	if given == "" {
		return
	}
	scheme, rest, hasScheme := strings.Cut(given, ":")
	hasScheme = hasScheme && len(scheme) <= maxLookText && isScheme(scheme) && rest != "" && rest[0] > ' '
	rooted := given[0] == '/' || given == "~" || strings.HasPrefix(given, "~/")
	network := hasScheme && isNetwork(scheme)
	switch {
	case rooted:
		l.path(text, from)
		l.path(given, from)
		if strings.HasPrefix(given, "//") && !strings.HasPrefix(given, "///") && !strings.ContainsAny(given, " *") {
			l.connect("https:"+given, from)
		}
	case network, hasScheme && strings.HasPrefix(rest, "/"):
		l.address(given, scheme, rest, from)
	case len(given) > maxLookText:
	case strings.ContainsAny(given, " \t"):
		if nameMeans(name, hostNames) {
			for _, one := range networkURLs(given) {
				l.connect(one, from)
			}
		}
	default:
		if nameMeans(name, pathNames) || strings.ContainsAny(given, "./") && nameMeans(name, placeNames) {
			l.path(given, from)
			for _, base := range bases {
				if base != given+"/" {
					l.path(base+given, from)
				}
			}
		}
		if nameMeans(name, hostNames) && strings.ContainsAny(given, ".:") || strings.EqualFold(given, "localhost") {
			l.connect(given, from)
		}
	}
}

// isNetwork reports whether addresses of a scheme are of hosts and never of files.
func isNetwork(scheme string) bool {
	at := networkSchemes().FindStringIndex(scheme + ":")
	return at != nil && at[0] == 0
}

// isScheme reports whether a text has the form of the scheme of an address. A letter alone is
// a drive.
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !chars.IsLetter(c) && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(c))) {
			return false
		}
	}
	return len(s) > 1
}

// address looks at an address: its host, and for the schemes that are not known to mean a
// network, the file that its path may be (unix:///run/x.sock, http+unix://%2Frun%2Fx.sock).
func (l *lookalikes) address(given, scheme, rest, from string) {
	if !isNetwork(scheme) {
		file, _, _ := strings.Cut(rest, "?")
		if authority, below, ok := strings.Cut(strings.TrimPrefix(file, "//"), "/"); ok && strings.HasPrefix(file, "//") && authority != "" {
			if plain := unescaped(authority); strings.HasPrefix(plain, "/") {
				l.path(plain, from)
			}
			// It may be a host, or the first folder.
			l.path("/"+unescaped(authority+"/"+below), from)
			file = "/" + below
		}
		file = unescaped("/" + strings.TrimLeft(file, "/"))
		l.path(file, from)
		if socket, _, ok := strings.Cut(file, ":"); ok { // unix:/run/x.sock:/path
			l.path(socket, from)
		}
	}
	if strings.EqualFold(scheme, "file") {
		return
	}
	// Only the scheme and the host count, so the path may be of any length.
	slashes := len(rest) - len(strings.TrimLeft(rest, `/\`))
	if end := strings.IndexAny(rest[slashes:], "/?# "); end >= 0 && slashes+end < len(rest) {
		given = scheme + ":" + rest[:slashes+end]
	}
	if len(given) > maxLookText {
		l.TooManyAsides = true
		return
	}
	if slashes > 0 || !strings.HasPrefix(rest, "/") {
		l.connect(given, from)
	}
}

// unescaped returns text of an address as it is meant, or as it is if it is malformed.
func unescaped(s string) string {
	if plain, ok := paths.DecodePercent(s); ok {
		return plain
	}
	return s
}

func (l *lookalikes) path(given, from string) {
	if len(given) > maxLookText {
		// A server may clean it. What is still too long then is no path.
		if given = path.Clean(given); len(given) > maxLookText {
			return
		}
	}
	kinds := []effects.Kind{effects.KindRead, effects.KindWrite}
	switch l.verb {
	case verbRead:
		kinds = kinds[:1]
	case verbWrite:
		kinds = kinds[1:]
	case verbDelete:
		kinds = []effects.Kind{effects.KindDelete}
	case verbUnknown:
	}
	for _, kind := range kinds {
		if !l.first(string(kind), given) {
			continue
		}
		e := l.Paths.File(kind, given, l.cwd, from)
		if e.File != nil && kind == effects.KindDelete {
			l.Paths.Recurse(&e, false)
		}
		l.add(e)
	}
}

func (l *lookalikes) connect(given, from string) {
	if l.first("connect", given) {
		l.add(l.Paths.Connect(given, effects.MethodSend, from))
	}
}

// first reports whether a string was not looked at before as what it is.
func (l *lookalikes) first(as, given string) bool {
	key := as + "\x00" + given
	if l.seen[key] {
		return false
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[key] = true
	return true
}

// add adds a hint, unless the call has the effect. Unknown ones are left out: the strings are
// no reason to ask.
func (l *lookalikes) add(e effects.Effect) {
	if e.Detail() == effects.NoDetail || slices.ContainsFunc(l.Effects, func(have effects.Effect) bool { return isSame(&have, &e) }) {
		return
	}
	if l.found++; l.found > maxLookalikes {
		l.TooManyAsides = true
		return
	}
	e.Hint, e.Guessed, e.Claimed, e.Via, e.NameOf, e.StandsFor = true, true, false, nil, 0, 0
	l.hints = append(l.hints, e)
}

func isSame(a, b *effects.Effect) bool {
	switch {
	case a.Kind != b.Kind || a.Detail() != b.Detail():
		return false
	case a.File != nil:
		return a.File.Path == b.File.Path && (a.File.Recursive || !b.File.Recursive)
	case a.Connect != nil:
		return *a.Connect == *b.Connect
	case a.Use != nil:
		return a.Use.Server == b.Use.Server && a.Use.Tool == b.Use.Tool && slices.Equal(a.Use.Arguments, b.Use.Arguments)
	}
	return false
}

// command adds the effects of a member that may be a command, with the words that another
// member of the object has for it.
func (l *lookalikes) command(o strictjson.Object, m *strictjson.Member, from string) {
	at := memberOf(from, m.Name)
	f := fact{name: m.Name, from: at, role: roleCommand, val: m.Value}
	list := []fact{f}
	if items, err := strictjson.ParseArray(m.Value); strictjson.Kind(m.Value) == '[' && err == nil {
		// A list of words may as well be one of commands. A single word is one if the name is
		// a plural.
		plural := strings.HasSuffix(plainMember(m.Name), "s")
		for i, item := range items {
			text, isText := strictjson.ParseString(item)
			if !isText || plural || strings.ContainsAny(text, " \t\n") {
				list = append(list, fact{name: m.Name, from: itemOf(at, i), role: roleCommand, val: item})
			}
		}
	}
	if l.all.roleOf(m.Name) == roleCommand {
		list = list[1:] // it is an effect
	}
	for _, f := range list {
		if _, ok := argvOf(f.val); !ok && strictjson.Kind(f.val) != '"' || isEmptyText(f.val) || !l.first("run", string(f.val)) {
			continue
		}
		if l.runs++; l.runs > maxLookRuns {
			l.TooManyAsides = true
			return
		}
		// By a reader and a resolver of its own: it must disturb nothing that the call does.
		res := paths.NewResolver(l.world.environment(), l.Call)
		aside := &tool{Builder: shell.NewBuilder(l.world.environment(), l.world.Table, l.Call, res), all: l.all, p: unknownAgent, use: -1, cwd: l.cwd, from: l.from}
		aside.commandFact(l.all.generic, aside.withArguments(o, f, from), l.cwd)
		r := aside.result()
		for _, found := range [][]effects.Effect{r.Effects, r.Hints, r.Rest} {
			for i := range found {
				l.add(found[i])
			}
		}
	}
}

func isEmptyText(v strictjson.Value) bool {
	text, ok := strictjson.ParseString(v)
	return ok && strings.TrimSpace(text) == ""
}
