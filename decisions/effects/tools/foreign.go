package tools

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/strictjson"
)

// connectFact adds the effects of addresses.
func (t *tool) connectFact(s *shape, f fact) {
	list := t.texts(f, s)
	for _, g := range list {
		url, _ := strictjson.ParseString(g.val)
		if s.declared {
			// What else the tool sends is not known.
			t.connect(url, effects.MethodSend, g.from)
			continue
		}
		t.fetch(url, g.from)
	}
	if len(list) == 0 {
		t.addMissing("the list of addresses is empty")
	}
}

// fetch adds the effect of an address that a tool fetches. Such tools are made for the web;
// what they do with another scheme is not known.
func (t *tool) fetch(url, from string) {
	n := len(t.Effects)
	t.connect(url, effects.MethodGet, from)
	if n == len(t.Effects) {
		return
	}
	if c := t.Effects[n].Connect; c != nil && c.Scheme != "" && c.Scheme != "http" && c.Scheme != "https" {
		t.Unknown(from, "a fetch of another scheme than http and https")
	}
}

// connect adds the effect of one address. A file URL is a read.
func (t *tool) connect(url, method, from string) {
	if len(url) >= 5 && strings.EqualFold(url[:5], "file:") {
		t.file(effects.KindRead, url, t.cwd, from)
		return
	}
	if t.tooMany(&t.paths, maxToolPaths) {
		return
	}
	t.checkHidden(url, from)
	t.Add(t.Paths.Connect(url, method, from))
}

// host adds the effect of connecting to {host, protocol}.
func (t *tool) host(f fact) {
	o, err := strictjson.ParseObject(f.val)
	if err != nil {
		t.malformed(f.from, "the host is "+strictjson.KindName(strictjson.Kind(f.val))+", not an object")
		return
	}
	v, _ := o.Get("host")
	host, ok := strictjson.ParseString(v)
	if !ok || host == "" || o.NearMiss("host", "protocol") != "" {
		t.malformed(f.from, "the object holds no host")
		return
	}
	v, _ = o.Get("protocol")
	switch p, _ := strictjson.ParseString(v); p {
	case "http", "https":
		host = p + "://" + host
	}
	// The data that the program sends over the connection is not known.
	t.connect(host, effects.MethodSend, memberOf(f.from, "host"))
}

// addresses adds the effects of the addresses in free text. Words are split at
// white space, as the tools that take such text do.
func (t *tool) addresses(f fact) {
	text, ok := strictjson.ParseString(f.val)
	if !ok {
		t.malformed(f.from, "the text is "+strictjson.KindName(strictjson.Kind(f.val))+", not text")
		return
	}
	n := 0
	for word := range strings.FieldsSeq(text) {
		if strings.Contains(word, "://") {
			n++
			t.fetch(word, f.from)
		}
	}
	if n == 0 {
		t.addMissing("the text names no address")
	}
}

// grant adds the mode effect of wider permissions.
func (t *tool) grant(f fact) {
	if requestsAnything(f.val) {
		why := "wider permissions are asked for: " + f.name
		t.Add(effects.Effect{Kind: effects.KindMode, From: f.from, Why: why, Text: display.Display(why)})
	}
}

// items adds the effects of objects whose members have the same roles as those of the
// surrounding input.
func (t *tool) items(s *shape, f fact, cwd string) {
	var items []strictjson.Value
	switch strictjson.Kind(f.val) {
	case '"': // an edit given as text is not a path
		return
	case '[':
		items, _ = strictjson.ParseArray(f.val)
	default:
		t.malformed(f.from, "the items are "+strictjson.KindName(strictjson.Kind(f.val))+", not a list")
		return
	}
	for i, item := range items {
		if strictjson.Kind(item) != '{' {
			continue
		}
		o, err := strictjson.ParseObject(item)
		if err != nil {
			continue
		}
		from := itemOf(f.from, i)
		fs := t.facts(s, o, from)
		fs = slices.DeleteFunc(fs, func(g fact) bool { return g.role == roleItems })
		t.checkAgreement(fs)
		t.each(s, fs, cwd, verbWrite)
	}
}

// patchFact adds the effects of a patch. Text that is no patch is content that the member
// may also hold: old text, new text.
func (t *tool) patchFact(f fact, cwd string) {
	switch text, ok := strictjson.ParseString(f.val); {
	case ok:
		t.patch(text, cwd, f.from)
	default:
		args, ok := argvOf(f.val)
		if ok && len(args) == 2 && args[0] == "apply_patch" {
			t.patch(args[1], cwd, f.from)
			return
		}
		t.malformed(f.from, "the patch is "+strictjson.KindName(strictjson.Kind(f.val))+", not text")
	}
}

// foreign handles the call of a tool that is not known to be the agent's own: its use, and
// what its arguments name, for denies, asks and fences.
func (t *tool) foreign() {
	args := t.id.arguments
	if args == nil {
		args = t.Call.Input
	}
	if t.id.name == "" {
		t.addMissing("a tool of a server, which is not named")
	}
	t.useEffect(args, t.id.source)
	if o, from, ok := t.argumentObject(args); ok {
		t.fromForeign(o, from, 0)
		t.gateway(t.id.name, o, from, 0)
		return
	}
	// Arguments that are no object: a list is searched as one of a member.
	if text, isText := strictjson.ParseString(args); isText && strictjson.Check([]byte(text)) == nil {
		args = strictjson.Value(text)
	}
	t.nestedIn(args, func() string { return t.from }, 0)
	t.gateway(t.id.name, nil, t.from, 0)
}

// argumentObject returns the object with a foreign tool's arguments.
func (t *tool) argumentObject(args strictjson.Value) (o strictjson.Object, from string, ok bool) {
	from = t.from
	if t.id.arguments == nil && t.have == inputObject {
		return t.input, from, true
	}
	if t.id.arguments != nil {
		from += "." + t.id.argumentsAt
	}
	if text, isText := strictjson.ParseString(args); isText && strictjson.Check([]byte(text)) == nil {
		args = strictjson.Value(text)
	}
	if strictjson.Kind(args) != '{' {
		return nil, "", false
	}
	o, err := strictjson.ParseObject(args)
	return o, from, err == nil
}

// Bounds of the search in the arguments of a foreign tool. What lies beyond them makes the
// call one that is not fully known: padding must hide no command and no path.
const (
	foreignDepth      = 32
	maxForeignObjects = 8192
)

// fromForeign adds what the arguments of a foreign tool name. The effect of using the tool
// includes whatever it does with its arguments, so allowing the use allows the paths and
// hosts in them, while denies, asks and fences see each of these. A command is run by
// whoever receives it and needs an allow of its own.
func (t *tool) fromForeign(o strictjson.Object, from string, depth int) {
	s := t.all.generic
	v := verbOf(t.id.name)
	fs := t.facts(s, o, from)
	if editorVerb(fs) {
		// with "view", "create" … it is a text editor's verb, not a command
		fs = slices.DeleteFunc(fs, func(f fact) bool { return f.role == roleCommand })
	}
	cwd := t.folder(fs, false)
	before := len(t.Effects)
	for _, f := range fs {
		n := len(t.Effects)
		switch f.role {
		case roleCommand:
			t.foreignCommand(s, t.withArguments(o, f, from), cwd)
			continue
		case roleCommands:
			t.foreignList(s, f, cwd)
			continue
		case roleTouch:
			t.touchForeign(f, cwd, v)
		case roleCwd:
			// The tool may work on it.
			t.touchForeign(f, t.cwd, v)
		case roleFrom, roleWrite:
			kind := effects.KindWrite
			if f.role == roleFrom {
				kind = effects.KindRead
			}
			t.filesForeign(f, cwd, kind)
		case roleConnect:
			t.connectForeign(f)
		case roleGrant:
			t.grant(f)
			continue
		case rolePatch:
			if text, ok := strictjson.ParseString(f.val); ok && strings.HasPrefix(strings.TrimSpace(text), "***") {
				t.patch(text, cwd, f.from)
			}
		case roleChanges:
			if strictjson.Kind(f.val) == '{' {
				t.changes(f, cwd)
			}
		case roleNone, roleIgnore, roleArgv, roleDerived, roleShell, roleTyped, roleFeed, roleCode, roleVerb, roleRead, roleTree, roleGlob,
			roleDelete, roleHost, roleText, roleItems, roleFilter:
			// Roles that only an agent's own tool has.
		}
		t.markCovered(n)
	}
	if slices.ContainsFunc(fs, func(f fact) bool { return f.role == roleFrom }) {
		t.markMoved(before)
	}
	t.nested(o, from, depth)
}

// markCovered marks the effects from index n on as allowed by an allow of the call's
// use.
func (t *tool) markCovered(n int) {
	if t.use < 0 {
		return
	}
	for i := n; i < len(t.Effects); i++ {
		if e := &t.Effects[i]; e.File != nil || e.Connect != nil {
			e.Via = &effects.Via{Effect: t.use, Arg: effects.Inherent}
		}
	}
}

// nested searches the objects in the arguments.
func (t *tool) nested(o strictjson.Object, from string, depth int) {
	s := t.all.generic
	for _, m := range o {
		// A patch is known by its first line, whatever its member is called.
		if s.members[m.Name] == roleNone && strictjson.Kind(m.Value) == '"' && !t.counted {
			if text, _ := strictjson.ParseString(m.Value); strings.HasPrefix(strings.TrimSpace(text), "*** Begin Patch") {
				n := len(t.Effects)
				t.patch(text, t.cwd, memberOf(from, m.Name))
				t.markCovered(n)
			}
		}
		t.nestedIn(m.Value, func() string { return memberOf(from, m.Name) }, depth+1)
	}
}

// nestedIn searches a value, whatever the role of its member is: the server may read it in
// another way. from is called only where something is found.
func (t *tool) nestedIn(v strictjson.Value, from func() string, depth int) {
	kind := strictjson.Kind(v)
	switch {
	case kind != '{' && kind != '[' || t.counted:
		return
	case depth > foreignDepth:
		if len(v) > len("{}") && !t.tooDeep {
			t.tooDeep = true
			t.addMissing("the arguments are nested deeper than permd looks")
		}
	case kind == '[':
		items, _ := strictjson.ParseArray(v)
		for i, item := range items {
			t.nestedIn(item, func() string { return itemOf(from(), i) }, depth+1)
		}
	default:
		inner, err := strictjson.ParseObject(v)
		if err == nil && !t.tooMany(&t.objects, maxForeignObjects) {
			t.fromForeign(inner, from(), depth)
		}
	}
}

// foreignCommand and foreignList add commands; a value of another type only shares the
// member's name.
func (t *tool) foreignCommand(s *shape, f fact, cwd string) {
	if _, ok := argvOf(f.val); ok || strictjson.Kind(f.val) == '"' {
		t.commandFact(s, f, cwd)
		return
	}
	t.malformed(f.from, "the command is neither text nor a list of words")
}

func (t *tool) foreignList(s *shape, f fact, cwd string) {
	for _, g := range t.texts(f, s) {
		t.commandFact(s, fact{name: g.name, from: g.from, role: roleCommand, val: g.val}, cwd)
	}
}

func (t *tool) touchForeign(f fact, cwd string, v verb) {
	if v == verbRead || v == verbUnknown {
		t.filesForeign(f, cwd, effects.KindRead)
	}
	if v == verbWrite || v == verbUnknown {
		t.filesForeign(f, cwd, effects.KindWrite)
	}
	if v == verbDelete {
		t.markRecursive(t.filesForeign(f, cwd, effects.KindDelete))
	}
}

// verbOf guesses from a foreign tool's name what it does with a path. The guess only
// determines which denies see the path: the use is what is allowed.
func verbOf(name string) verb {
	v := verbUnknown
	for word := range words(name) {
		switch word {
		case "delete", "remove", "rm", "unlink", "erase", "destroy", "purge", "trash", "rmdir":
			return verbDelete
		case "write", "edit", "create", "update", "save", "put", "set", "append", "insert", "replace", "move", "rename", "copy",
			"make", "mkdir", "patch", "apply", "upload", "download", "export", "generate", "add", "push", "run", "execute", "exec":
			v = verbUnknown
			return v
		case "read", "get", "list", "ls", "view", "show", "search", "find", "grep", "query", "fetch", "open", "stat", "info", "tree", "describe":
			v = verbRead
		}
	}
	return v
}

// words splits a tool's name at anything that is not a letter, and before capitals.
func words(name string) func(func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		for i := 0; i <= len(name); i++ {
			end := i == len(name) || !chars.IsLetter(name[i])
			capital := !end && i > start && name[i] < 'a' && name[i-1] >= 'a'
			if !end && !capital {
				continue
			}
			if i > start && !yield(strings.ToLower(name[start:i])) {
				return
			}
			start = i
			if end {
				start = i + 1
			}
		}
	}
}

// editorVerb reports whether a command is the verb of a text editor.
func editorVerb(fs []fact) bool {
	paths, verbs := false, false
	for _, f := range fs {
		// Only an editor's verb comes with a path.
		//exhaustive:ignore
		switch f.role {
		case roleTouch:
			paths = true
		case roleCommand:
			text, _ := strictjson.ParseString(f.val)
			verbs = slices.Contains([]string{"view", "create", "str_replace", "insert", "undo_edit"}, text)
			if !verbs {
				return false
			}
		}
	}
	return paths && verbs
}
