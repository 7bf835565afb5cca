package paths

import (
	"path"
	"strings"
	"sync"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// guardIndex matches paths against guardTable. Nearly all components of a path match
// nothing, so rules are found by map look-ups.
type guardIndex struct {
	anywhere guardRules
	home     map[string][]*guardRule // by the first component below a home
	root     map[string][]*guardRule // by the first component of the path
	homeTags effects.Tags            // all tags of rules below a home
	rootTags effects.Tags            // all tags of the table
}

type guardRules struct {
	name map[string][]*guardRule // first component without *
	ext  map[string][]*guardRule // first component is * and an extension
	head [256][]*guardRule       // first component contains a * after its first letter
	tail [256][]*guardRule       // first component begins with a *, by its last letter
}

// guardRule is one line of the table.
type guardRule struct {
	tags   effects.Tags
	words  []string // consecutive components
	except [][]string
}

// Guarded returns the index of guardTable. It is immutable.
var Guarded = sync.OnceValue(func() *guardIndex { return newGuardIndex(guardTable) })

func newGuardIndex(table []guardGroup) *guardIndex {
	x := &guardIndex{
		anywhere: guardRules{name: map[string][]*guardRule{}, ext: map[string][]*guardRule{}},
		home:     map[string][]*guardRule{}, root: map[string][]*guardRule{},
	}
	for _, group := range table {
		tags := effects.TagsOf(group.tags...)
		x.rootTags |= tags
		for _, line := range group.lines {
			parts := strings.Split(lexpath.Fold(line), " !")
			words := strings.Split(parts[0], "/")
			rule := &guardRule{tags: tags, words: words}
			for _, e := range parts[1:] {
				rule.except = append(rule.except, strings.Split(e, "/"))
			}
			switch words[0] {
			case "~":
				rule.words = words[1:]
				x.home[words[1]] = append(x.home[words[1]], rule)
				x.homeTags |= tags
			case "":
				rule.words = words[1:]
				x.root[words[1]] = append(x.root[words[1]], rule)
			default:
				x.anywhere.add(rule)
				if words[0][0] == '.' {
					x.homeTags |= tags
				}
			}
		}
	}
	return x
}

func (x *guardRules) add(rule *guardRule) {
	first := rule.words[0]
	switch star := strings.IndexByte(first, '*'); {
	case star < 0:
		x.name[first] = append(x.name[first], rule)
	case star > 0:
		x.head[first[0]] = append(x.head[first[0]], rule)
	case first == "*"+path.Ext(first):
		x.ext[first[1:]] = append(x.ext[first[1:]], rule)
	default:
		last := first[len(first)-1]
		x.tail[last] = append(x.tail[last], rule)
	}
}

// each calls f with the rules whose first component may match c.
func (x *guardRules) each(c string, f func([]*guardRule)) {
	if rules := x.name[c]; rules != nil {
		f(rules)
	}
	if dot := strings.LastIndexByte(c, '.'); dot >= 0 {
		if rules := x.ext[c[dot:]]; rules != nil {
			f(rules)
		}
	}
	if rules := x.head[c[0]]; rules != nil {
		f(rules)
	}
	if rules := x.tail[c[len(c)-1]]; rules != nil {
		f(rules)
	}
}

// Match returns the tags of a folded absolute path; below is its part below a home, ""
// if it is in none.
func (x *guardIndex) Match(p, below string) effects.Tags { return x.tags(p, below, false) }

// containedIn returns the tags of what lies below a folded path according to the table
// alone: of the rules that the path is a prefix of (.github of .github/workflows).
func (x *guardIndex) containedIn(p, below string) effects.Tags {
	if p == "/" {
		return x.rootTags
	}
	return x.tags(p, below, true)
}

// tags returns the tags of the rules that match a path or, with begin, of those that
// the path is a prefix of.
func (x *guardIndex) tags(p, below string, begin bool) effects.Tags {
	var buf [32]string
	words := split(buf[:0], p)
	var t effects.Tags
	for i, c := range words {
		if begin && c[0] != '.' && i == len(words)-1 {
			continue // a plain word (hooks of hooks/pre-push) is too common
		}
		x.anywhere.each(c, func(rules []*guardRule) { t |= tagsOf(rules, words[i:], begin) })
	}
	if len(words) > 0 {
		t |= tagsOf(x.root[words[0]], words, begin)
	}
	if below != "" {
		words = split(buf[:0], below)
		t |= tagsOf(x.home[words[0]], words, begin)
	}
	return t
}

func tagsOf(rules []*guardRule, words []string, begin bool) (t effects.Tags) {
	for _, rule := range rules {
		if begin && rule.hasProperPrefix(words) || !begin && rule.match(words) {
			t |= rule.tags
		}
	}
	return t
}

func split(words []string, p string) []string {
	if n := strings.Count(p, "/"); n >= cap(words) {
		words = make([]string, 0, n+1)
	}
	for p != "" {
		c, rest, _ := strings.Cut(p, "/")
		if c != "" {
			words = append(words, c)
		}
		p = rest
	}
	return words
}

// match reports whether words begin with the rule's words, and with none of its
// exceptions.
func (g *guardRule) match(words []string) bool {
	if !leads(g.words, words) {
		return false
	}
	for _, e := range g.except {
		if leads(e, words) {
			return false
		}
	}
	return true
}

// hasProperPrefix reports whether words are a proper prefix of the rule's words.
func (g *guardRule) hasProperPrefix(words []string) bool {
	return len(words) < len(g.words) && leads(g.words[:len(words)], words)
}

func leads(pattern, words []string) bool {
	if len(pattern) > len(words) {
		return false
	}
	for i, p := range pattern {
		if !lexpath.Star(p, words[i]) {
			return false
		}
	}
	return true
}
