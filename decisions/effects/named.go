package effects

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/permd/permd/internal/strictjson"
)

// Named is a member of a call's _meta, which is the agent's word.
type Named struct {
	Name string // of a member of a member: both names, joined by a dot
	Text string // of a string, number or boolean; "" for everything else
}

// namedMembers are the members below the first level that the protocol's document or
// known agents have. Each is looked for by its path, so that no other member hides it.
var namedMembers = [...]string{
	"claudeCode.toolName", "claudeCode.parentToolUseId", "claudeCode.mcpServer.name", "claudeCode.mcpServer.source",
	"codex.params.command", "codex.params.cwd", "codex.params.environmentId", "codex.params.grantRoot", "codex.params.reason",
	"jetbrains.air.permission.defaultToNo", "jetbrains.air.permission.description", "jetbrains.air.permission.title",
	"teleport.stage", "teleport.unpushed_count",
}

// Bounds of what rules see of _meta.
const (
	maxNamed     = 32      // members of the first level
	maxNamedText = 1 << 10 // bytes of a name or text; longer ones are cut
)

// NamedIn returns what rules see of _meta: the members that known agents have below the
// first level, and the first ones of that level. Members that are null are left out.
func NamedIn(meta strictjson.Value) []Named {
	o, err := strictjson.ParseObject(meta)
	if err != nil {
		return nil
	}
	list := make([]Named, 0, min(len(o), maxNamed)+2)
	eachNamed(o, func(name string, v strictjson.Value) { list = append(list, Named{name, namedText(v)}) })
	return list
}

// NamesIn returns the names that NamedIn does.
func NamesIn(meta strictjson.Value) []string {
	if len(meta) == 0 {
		return nil
	}
	o, err := strictjson.ParseObject(meta)
	if err != nil {
		return nil
	}
	names := make([]string, 0, min(len(o), maxNamed)+2)
	eachNamed(o, func(name string, _ strictjson.Value) { names = append(names, name) })
	return names
}

// eachNamed calls f for each member that rules see.
func eachNamed(o strictjson.Object, f func(name string, v strictjson.Value)) {
	for _, path := range namedMembers {
		first, rest, _ := strings.Cut(path, ".")
		v, ok := o.Get(first)
		if !ok {
			continue
		}
		for rest != "" && v != nil {
			first, rest, _ = strings.Cut(rest, ".")
			v = strictjson.Find(v, first)
		}
		if v != nil && strictjson.Kind(v) != 'n' {
			f(path, v)
		}
	}
	for i, m := range o {
		if i == maxNamed {
			break
		}
		if strictjson.Kind(m.Value) != 'n' {
			f(clipNamed(m.Name), m.Value)
		}
	}
}

// Size estimates the memory that the call uses, in bytes; 0 for nil.
func (c *Call) Size() int {
	if c == nil {
		return 0
	}
	n := len(c.Input) + len(c.Claims.Title) + len(c.Claims.Prompt) + len(c.Claims.Meta)
	for _, text := range c.Claims.Texts {
		n += len(text)
	}
	for _, l := range c.Claims.Locations {
		n += len(l.Path)
	}
	return n
}

// Paths returns the paths of locations and diffs as the agent wrote them, each once.
func (c *Claims) Paths() []string {
	n := len(c.Locations) + 2*len(c.Diffs)
	if n == 0 {
		return nil
	}
	list := make([]string, 0, n)
	var seen map[string]bool
	if n > 32 {
		seen = make(map[string]bool, n)
	}
	add := func(p string) {
		if p == "" || seen[p] || seen == nil && slices.Contains(list, p) {
			return
		}
		if seen != nil {
			seen[p] = true
		}
		list = append(list, p)
	}
	for i := range c.Diffs {
		add(c.Diffs[i].Path)
		add(c.Diffs[i].OldPath)
	}
	for i := range c.Locations {
		add(c.Locations[i].Path)
	}
	return list
}

// SizeOf estimates the memory that effects use, in bytes.
func SizeOf(list []Effect) int {
	n := 0
	for i := range list {
		e := &list[i]
		n += 256 + len(e.Text) + len(e.Why)
		switch {
		case e.Run != nil:
			n += len(e.Run.Program) + len(e.Run.StdinText)
			for _, arg := range e.Run.Args {
				n += len(arg) + 16
			}
		case e.File != nil:
			n += len(e.File.Path) + len(e.File.AsWritten)
		case e.Connect != nil:
			n += len(e.Connect.URL)
		case e.Use != nil:
			n += len(e.Use.Arguments)
		}
	}
	return n
}

// SizeOfClaims estimates the memory that claimed paths use, in bytes.
func SizeOfClaims(paths []ClaimedPath) int {
	n := 0
	for i := range paths {
		n += 96 + len(paths[i].Path) + len(paths[i].AsWritten)
	}
	return n
}

func namedText(v strictjson.Value) string {
	switch strictjson.Kind(v) {
	case '"':
		s, _ := strictjson.ParseString(v)
		return clipNamed(s)
	case '0', 't', 'f':
		return clipNamed(string(v))
	}
	return ""
}

func clipNamed(s string) string {
	if len(s) <= maxNamedText {
		return s
	}
	n := maxNamedText
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
