package main

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/permd/permd/bench/shipped"
)

// triesPerForm is how many command lines random makes for each that is to be run.
// Most are not allowed.
const triesPerForm = 15

// random returns n command lines of a program whose words are put together as its own
// reader might take them in another way than permd: options in any order, bundled,
// abbreviated, negated and repeated, with their values attached, after a = or as the
// next word, options in the place of values and values of options that take none.
func (t *table) random(name string, seed uint64, n int) []form {
	e := t.programs[name]
	if e == nil {
		return nil
	}
	f := &former{t: t, seen: map[string]bool{}}
	var subs []entryBelow
	f.flat(e, []string{name}, nil, &subs)
	g := &scrambler{rand.New(rand.NewPCG(seed, uint64(len(name))+uint64(name[0])<<8))}
	for range n {
		s := &subs[g.IntN(len(subs))]
		f.add(g.line(s), strings.Join(s.words, " "))
	}
	return f.all
}

// entryBelow is a program or sub-command, with the words that name it and the options
// that it has, each with its role.
type entryBelow struct {
	entry   *shipped.Entry
	words   []string
	options []roleOption
}

type roleOption struct{ name, takes, role string }

func (f *former) flat(e *shipped.Entry, words, below []string, all *[]entryBelow) {
	below = append(slices.Clip(below), e.IncludeBelow...)
	s := entryBelow{entry: e, words: words}
	lists := []map[string][]string{e.Options}
	for _, group := range slices.Concat(e.Include, below) {
		lists = append(lists, f.t.groups[group])
	}
	for _, list := range lists {
		for _, role := range slices.Sorted(maps.Keys(list)) {
			for _, line := range list[role] {
				spelled := strings.Fields(line)
				last := spelled[len(spelled)-1]
				takes := last[len(strings.TrimRight(last, "=[]")):]
				for _, name := range spelled {
					s.options = append(s.options, roleOption{strings.TrimRight(name, "=[]"), takes, role})
				}
			}
		}
	}
	*all = append(*all, s)
	for i := range e.Sub {
		for _, name := range e.Sub[i].Names {
			if !strings.Contains(name, "*") {
				f.flat(&e.Sub[i], append(slices.Clip(words), name), below, all)
			}
		}
	}
}

type scrambler struct{ *rand.Rand }

func (g *scrambler) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *scrambler) percent(n int) bool { return g.IntN(100) < n }

// line returns a command line.
func (g *scrambler) line(s *entryBelow) []string {
	var words []string
	for range g.IntN(4) {
		words = append(words, g.option(s)...)
	}
	for i := range g.IntN(3) {
		role := ""
		if n := len(s.entry.Operands); n > 0 {
			role, _, _ = strings.Cut(s.entry.Operands[min(i, n-1)], " ")
		}
		at := len(words)
		if g.percent(25) {
			at = g.IntN(at + 1)
		}
		words = slices.Insert(words, at, g.value(strings.TrimSuffix(role, "...")))
	}
	for _, odd := range []string{"--", "-", "", "+1", "-1", "+x"} {
		if g.percent(2) || odd == "--" && g.percent(6) {
			words = slices.Insert(words, g.IntN(len(words)+1), odd)
		}
	}
	if len(words) > 1 && g.percent(15) {
		i, j := g.IntN(len(words)), g.IntN(len(words))
		words[i], words[j] = words[j], words[i]
	}
	if o := operandsFor[s.entry.Names[0]]; len(o) > 0 && g.percent(30) {
		words = append(words, o[g.IntN(len(o))]...)
	}
	if len(s.words) > 1 && g.percent(5) { // an option before the sub-command
		return slices.Concat(s.words[:1], g.option(s), s.words[1:], words)
	}
	return slices.Concat(s.words, words)
}

// option returns an option, perhaps with a value.
func (g *scrambler) option(s *entryBelow) []string {
	if len(s.options) == 0 {
		return []string{"-" + string(rune('a'+g.IntN(26)))}
	}
	o := s.options[g.IntN(len(s.options))]
	for range 3 { // mostly an option that may be allowed
		if !slices.Contains(untried, o.role) {
			break
		}
		o = s.options[g.IntN(len(s.options))]
	}
	name := o.name
	long := strings.HasPrefix(name, "--")
	switch {
	case !long && len(name) == 2 && g.percent(35): // a bundle
		for range 1 + g.IntN(2) {
			if other := s.options[g.IntN(len(s.options))]; len(other.name) == 2 && other.name[0] == '-' {
				name += other.name[1:]
				o = other
			}
		}
		if g.percent(15) {
			name += string(rune('a' + g.IntN(26)))
		}
	case long && g.percent(12) && len(name) > 4:
		name = name[:3+g.IntN(len(name)-3)]
	case long && g.percent(6):
		name = "--no-" + name[2:]
	case long && g.percent(3):
		name = name[1:]
	case !long && len(name) > 2 && g.percent(5):
		name = "-" + name
	}
	value := g.value(o.role)
	if g.percent(12) {
		value = s.options[g.IntN(len(s.options))].name
	}
	has := o.takes != ""
	if g.percent(8) {
		has = !has
	}
	if !has {
		return []string{name}
	}
	switch {
	case o.takes == "==":
		return []string{name, g.value("text"), value}
	case o.takes == "[=]" && g.percent(30):
		return []string{name}
	case long && g.percent(60), g.percent(12):
		return []string{name + "=" + value}
	case g.percent(30):
		return []string{name + value}
	}
	return []string{name, value}
}

// value returns a value for a role.
func (g *scrambler) value(role string) string {
	if v := values[role]; len(v) > 0 && g.percent(65) {
		return g.pick(v...)
	}
	return g.pick("a.txt", "b.txt", ".env", ".", "sub", "src", "README.md", "a.json", "1", "2", "new", "a", "0", "always", "sub/c.txt", "HEAD", "~/.netrc", "../.netrc", "@.env", "-", "", "a.sh", "a.py", "a=1", "1,2", "never", "full", ".git", "e", "w", "*.txt")
}
