package tools

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/wordset"
)

// useOfKind adds the use of a tool that only the call's kind names, which is a claim, and
// reports whether it did. Whoever allows it does not know the tool, so the input must be plainly
// none that names a path, a host, a command or another tool.
func (t *tool) useOfKind() bool {
	c, cl := t.Call, &t.Call.Claims
	kind := cl.Kind
	if kind == "" {
		kind = "other" // the protocol's default
	}
	if !slices.Contains(effects.NamelessKinds(), kind) {
		return false
	}
	if c.Protocol != "acp" || t.p != unknownAgent && !t.p.ofLayer || t.id.name != "" || t.id.remote || len(c.Marks) > 0 || len(t.Defects) > 0 ||
		c.Incomplete != "" || c.InputFrom != "" || t.missing != "" || len(cl.Diffs) > 0 || cl.Retracted || t.has(effects.KindUnknown) {
		return false
	}
	name := effects.KindTool(kind)
	if !t.namesNothing() {
		t.gateway(name, t.input, t.from, 0)
		return false
	}
	t.Add(effects.Effect{
		Kind: effects.KindUse, From: "kind", Text: "use " + name, Claimed: true, Use: &effects.Use{Tool: name, Arguments: c.Input},
	})
	return true
}

// asksOnly are the members whose text says what a tool looks for or thinks about.
var asksOnly = wordset.Fields(`q query queries search search_query searchQuery search_term searchTerm term terms keyword keywords
	topic question text thought thoughts reasoning reason description explanation title index collection language order`)

// statements are the words that a statement for a database begins with.
var statements = wordset.Fields(`alter analyze analyse attach begin call checkpoint cluster commit copy create delete detach do drop exec execute explain flush
	grant import insert install kill load lock merge optimize pragma purge reindex rename repair replace reset revoke rollback select set shutdown
	start truncate update upsert use vacuum values with`)

// maxBeside bounds the names in the folder of a session that texts are compared with.
const maxBeside = 4096

// namesNothing reports whether the input plainly names no path, host, command or other tool:
// texts are only in members that ask for something, and are words.
func (t *tool) namesNothing() bool {
	if t.cwd == "" {
		return false
	}
	beside, err := t.FS.Names(t.cwd, maxBeside)
	if err != nil {
		return false
	}
	files := make([]string, len(beside))
	for i, e := range beside {
		files[i] = lexpath.Fold(e.Name())
	}
	return t.saysNothing(t.input, files, 0)
}

func (t *tool) saysNothing(o strictjson.Object, files []string, depth int) bool {
	for _, m := range o {
		if t.all.roleOf(m.Name) != roleNone || !namesNone(m.Name, files) || !t.valueSaysNothing(m.Name, m.Value, files, depth) {
			return false
		}
	}
	return true
}

// valueSaysNothing is saysNothing for the value of a member.
func (t *tool) valueSaysNothing(member string, v strictjson.Value, files []string, depth int) bool {
	switch strictjson.Kind(v) {
	case '"':
		text, ok := strictjson.ParseString(v)
		return ok && asksOnly.Has(member) && isProse(text) && namesNone(text, files)
	case '[':
		items, err := strictjson.ParseArray(v)
		for _, item := range items {
			if depth > foreignDepth || !t.valueSaysNothing(member, item, files, depth+1) {
				return false
			}
		}
		return err == nil
	case '{':
		o, err := strictjson.ParseObject(v)
		return err == nil && depth <= foreignDepth && t.saysNothing(o, files, depth+1)
	}
	return true
}

const blanks = " \t\r\n"

// isProse reports whether a text is of words and numbers with blanks between them, and is no
// statement for a database. Within a word may be _, - and ', behind one a comma, and a full stop
// where the word is not followed by another without a blank.
func isProse(text string) bool {
	for first := range strings.FieldsSeq(text) {
		if statements.Has(strings.ToLower(strings.TrimRight(first, ".,"))) {
			return false
		}
		break
	}
	inWord := false
	for i, r := range text {
		switch {
		case strings.ContainsRune(blanks, r):
			inWord = false
		case unicode.In(r, unicode.L, unicode.Nd):
			inWord = true
		case !inWord:
			return false
		case r == '_' || r == '-' || r == '\'' || unicode.Is(unicode.M, r):
		case r == ',' || r == '.':
			if rest := text[i+1:]; rest != "" && !strings.ContainsRune(blanks, rune(rest[0])) {
				return false
			}
			inWord = false
		default:
			return false
		}
	}
	return true
}

// namesNone reports whether none of the files, whose names are folded, is in a text as a word or
// several.
func namesNone(text string, files []string) bool {
	text = lexpath.Fold(text)
	for _, name := range files {
		for at := 0; ; {
			i := strings.Index(text[at:], name)
			if i < 0 || name == "" {
				break
			}
			i += at
			before, _ := utf8.DecodeLastRuneInString(text[:i])
			after, n := utf8.DecodeRuneInString(text[i+len(name):])
			if !isWord(before) && (n == 0 || !isWord(after)) {
				return false
			}
			at = i + 1
		}
	}
	return true
}

func isWord(r rune) bool {
	return r != utf8.RuneError && unicode.In(r, unicode.L, unicode.Nd, unicode.M)
}
