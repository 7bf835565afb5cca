package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
)

// Bounds of what a server says of its tools.
const (
	maxTools       = 4096
	maxPages       = 64
	maxDefinitions = 16 // of one tool
)

// definitions are what a server says of its tools: for each name the digests of what the
// model is told of the tool. A server that changes this changes what the model does with
// the tool, so an answer about the tool holds only as long as it says the same.
//
// What counts is all that the client was told: the model may call a tool for what it has read
// before. The server could tell the gateway something else, so what the gateway asks for itself
// only counts for tools of which the client was told nothing, and besides once the server has
// said that its tools have changed.
type definitions struct {
	mu      sync.Mutex
	told    map[string]toldTool // by name
	changes int                 // how often the server has said that its tools have changed
	// own is what the gateway was told itself, nil if it has not asked since the last change, or
	// since the client has read a list to its end.
	own map[string]toldTool
	// renewed is how often own had to be asked for anew.
	renewed int
	// begun are the tools in lists of which the client has not had all pages, by the cursor of the
	// next page.
	begun map[string]map[string]bool
}

// toldTool is what the client, or the gateway, was told of a tool.
type toldTool struct {
	digests  []string // different ones, sorted
	unsent   bool     // what was told last has headers that cannot be sent
	changes  int      // of the server's tools until then
	unlisted bool     // the client has read a list without it since then
}

// listed is a tool in a list.
type listed struct {
	name   string
	digest string
	text   strictjson.Value
	unsent bool // its calls cannot be sent to a server over HTTP in statelessRevision
}

// untoldMembers are the members of a tool that no model is told of. All others count, also
// those that the protocol does not know yet.
var untoldMembers = map[string]bool{"_meta": true, "icons": true}

// knownMembers are those that a client knows. If one is spelled almost as they are, some
// clients read it and others do not.
var knownMembers = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution", "_meta", "icons"}

// toolList is a result of tools/list.
type toolList struct {
	tools   []listed
	cursor  string // of the next page, "" for none
	leftOut []string
	unsent  []string          // names of tools that are left out since their calls cannot be sent
	hidden  int               // tools that are left out since no call of them is allowed
	members strictjson.Object // of the result
}

// errList is returned for a list that some clients would read otherwise than others.
var errList = errors.New("the server's list of tools cannot be read in exactly one way")

// readList reads a result of tools/list. Tools that cannot be called are left out.
func readList(result strictjson.Value) (*toolList, error) {
	o, err := strictjson.ParseObject(result)
	if err != nil || o.NearMiss("tools", "nextCursor", "_meta") != "" {
		return nil, errList
	}
	l := &toolList{members: o}
	if v, ok := o.Get("nextCursor"); ok && strictjson.Kind(v) != 'n' {
		if l.cursor, ok = strictjson.ParseString(v); !ok {
			return nil, errList
		}
	}
	v, _ := o.Get("tools")
	list, err := strictjson.ParseArray(v)
	if err != nil {
		return nil, errList
	}
	for _, v := range list {
		t, why := readTool(v)
		if why != "" {
			l.leftOut = append(l.leftOut, why)
			continue
		}
		l.tools = append(l.tools, t)
	}
	return l, nil
}

// readTool reads a tool, or returns why it is none that could be called.
func readTool(v strictjson.Value) (t listed, why string) {
	o, err := strictjson.ParseObject(v)
	if err != nil || o.NearMiss(knownMembers...) != "" {
		return t, "a tool cannot be read in exactly one way"
	}
	name, _ := o.Get("name")
	t.name, _ = strictjson.ParseString(name)
	switch {
	case t.name == "" || len(t.name) > maxID:
		return t, "a tool has no name, or one that is too long"
	case !plainTool(t.name):
		return t, "a tool's name can be read as another one, or as that of a method: " + display.Display(t.name)
	}
	slices.SortFunc(o, func(a, b strictjson.Member) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, m := range o {
		if untoldMembers[m.Name] {
			continue
		}
		v := slices.Clone(m.Value)
		// Numbers stay as they are written: two that are the same to a program in JavaScript
		// are not to all models.
		if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
			return t, "a tool cannot be read in exactly one way"
		}
		fmt.Fprintf(h, "%d %s %d %s\n", len(m.Name), m.Name, len(v), v)
	}
	t.digest, t.text = hex.EncodeToString(h.Sum(nil)), v
	_, err = paramHeaders(v)
	t.unsent = err != nil
	return t, ""
}

// plainTool reports whether a tool's name is only that. In names such as mcp__shop__pay
// permd reads the name of a server, as harnesses write it, so the tool would have the rules
// and answers of another one. So it would with the name pay@sha256-1, which is how rules name
// one version of the tool pay. A method's name is that of what permd decides besides tools.
func plainTool(name string) bool {
	if name == methodReadResource || strings.Contains(name, "@") {
		return false
	}
	rest, ok := cutPrefixFold(name, "mcp")
	return !ok || !strings.HasPrefix(rest, "__") && !strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, ":")
}

func cutPrefixFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// text returns the result without the tools that are left out. A list in which tools are hidden is
// only for this person, also where the server says that anybody can be given its list.
func (l *toolList) text() strictjson.Value {
	var b strings.Builder
	for i, m := range l.members {
		fmt.Fprintf(&b, "%c%s:", "{,"[min(i, 1)], quote(m.Name))
		if m.Name == "cacheScope" && l.hidden > 0 {
			b.WriteString(`"private"`)
			continue
		}
		if m.Name != "tools" {
			b.Write(m.Value)
			continue
		}
		b.WriteByte('[')
		for i, t := range l.tools {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(t.text)
		}
		b.WriteByte(']')
	}
	return strictjson.Value(b.String() + "}")
}

// with adds a digest.
func with(digests []string, digest string) []string {
	i, ok := slices.BinarySearch(digests, digest)
	if ok {
		return digests
	}
	return slices.Insert(slices.Clone(digests), i, digest)
}

var errNoTool = errors.New("the server lists no tool of this name")

// definition returns the digests of all definitions of a tool that count, sorted.
func (g *gateway) definition(ctx context.Context, name string, meta *requestMeta) ([]string, error) {
	t, certain := g.tools.find(name)
	if !certain {
		list, err := g.list(ctx, meta)
		if err != nil {
			return nil, fmt.Errorf("asking the server for its tools: %w", err)
		}
		now, ok := list[name]
		if !ok {
			return nil, errNoTool
		}
		for _, digest := range now.digests {
			t.digests = with(t.digests, digest)
		}
		t.unsent = now.unsent
	}
	if t.unsent && meta != nil && g.http {
		return nil, fmt.Errorf("%w that can be called: %w", errNoTool, errHeaders)
	}
	return t.digests, nil
}

// version is the version of a tool for rules and remembered answers: of all its definitions
// together, since an answer to one is none to another.
func version(digests []string) string {
	if len(digests) == 1 {
		return "sha256-" + digests[0]
	}
	sum := sha256.Sum256([]byte(strings.Join(digests, "\n")))
	return "sha256-" + hex.EncodeToString(sum[:])
}

// list returns what the server says of its tools when the gateway asks, in the revision of the
// request with meta. It asks again after each change, and once the client has read a list.
func (g *gateway) list(ctx context.Context, meta *requestMeta) (map[string]toldTool, error) {
	known, renewed := g.tools.ownList()
	if known != nil {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list := map[string]toldTool{}
	own := ""
	if meta != nil {
		own = `"_meta":{` + ownMeta + `}`
	}
	params := own
	for range maxPages {
		m, err := g.ask(ctx, g.server, methodListTools, "{"+params+"}")
		if err != nil {
			return nil, err
		}
		page, err := readList(m.result)
		if err != nil {
			return nil, err
		}
		for _, t := range page.tools {
			before := list[t.name]
			now := toldTool{digests: with(before.digests, t.digest), unsent: before.unsent || t.unsent}
			list[t.name] = now
			if len(list) > maxTools || len(now.digests) > maxDefinitions {
				return nil, errors.New("there are too many, or too many things are said of one")
			}
		}
		if page.cursor == "" {
			break
		}
		if params = `"cursor":` + quote(page.cursor); own != "" {
			params += "," + own
		}
	}
	g.tools.keep(list, renewed)
	return list, nil
}
