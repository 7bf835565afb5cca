package effects

import (
	"hash/maphash"
	"strconv"
	"strings"

	"github.com/permd/permd/internal/wordset"
)

// A call that is over a bound is a question. So that no padding turns a deny into
// one, the rest of it is read as well, in a way that costs little: each command
// by itself, wherever it stands, once for all equal ones. What is found is only
// there to be denied (Result.Rest).

// Bounds of the rest of a call, see also those of what waits.
const (
	maxRestMore     = 4 << 10  // further effects, of those that are not plainly harmless
	maxRestCommands = 24 << 10 // that are read
	maxRestRaw      = 64 << 10 // bytes of each end of a text that is longer
	maxRestFolder   = 512      // bytes of a folder that commands run in
	maxRestPlaces   = 2        // folders that each command is read in
)

// rest collects what is beyond the bounds.
type rest struct {
	b        *builder // of one command after the other
	seed     maphash.Seed
	seen     map[uint64]bool
	commands map[uint64]bool
	list     []Effect
	count    restCount
	network  bool // something of it reaches the network
}

// readRest returns the effects of what is beyond the bounds, each once, first
// those of beyond that were cut off.
func readRest(b *builder, beyond []Effect) []Effect {
	if len(b.waiting) == 0 && len(beyond) == 0 {
		return nil
	}
	r := &rest{seed: maphash.MakeSeed(), seen: map[uint64]bool{}, commands: map[uint64]bool{}}
	for i := range beyond {
		r.keep(&beyond[i])
	}
	// Where earlier parts of the call put links is not followed: a path that is
	// denied is denied by its name too.
	env := environment{fs: b.fs, own: b.own, others: b.res.others}
	r.b = newShellBuilder(env, b.table, b.c, newResolver(env, b.c))
	r.b.keepsFolder, r.b.rearranged, r.b.depth, r.b.away = b.keepsFolder, nil, 1, b.away
	r.b.rest = &r.count
	r.b.waiting, b.waiting = b.waiting, nil
	for n := 0; n < len(r.b.waiting); n++ {
		w := r.b.waiting[n]
		if w.words != nil {
			r.b.command(w.words, w.at)
			r.drain()
			continue
		}
		r.read(w.text, w.at)
		for _, folder := range b.c.Folders[:min(len(b.c.Folders), 2)] {
			if w.at.cwd == b.c.Cwd && folder != w.at.cwd {
				at := w.at
				at.cwd = folder
				r.read(w.text, at)
			}
		}
	}
	return r.list
}

// full reports whether no more of the rest is kept.
func (r *rest) full() bool { return len(r.list) >= maxRest+maxRestMore }

// drain takes over what the builder found of a command.
func (r *rest) drain() {
	for i := range r.b.effects {
		e := &r.b.effects[i]
		r.network = r.network || e.Kind == KindConnect || e.Kind == KindRun && r.b.networkProgram(e.Run.Program)
		r.keep(e)
	}
	clear(r.b.effects)
	r.b.effects = r.b.effects[:0]
	r.b.scratch, r.b.braces, r.b.statements, r.b.parsed = nil, 0, 0, 0
	// What one command does to the paths of the next is left out: it would make
	// them unknown.
	r.b.rearranged, r.b.left, r.b.activated = nil, nil, nil
	if r.b.res.lost || len(r.b.res.disturbed) > 0 || len(r.b.res.made) > 0 {
		r.b.res.lost, r.b.res.disturbed, r.b.res.made = false, nil, nil
		r.b.res.bases = r.b.res.bases[:0]
	}
}

// keep keeps an effect that a rule could deny and that is not there yet. It is
// none of its run any more: the words of one run would be shown with each of
// thousands.
func (r *rest) keep(e *Effect) {
	if e.Kind == KindUnknown || r.full() || len(r.list) >= maxRest && harmlessEffect(e) {
		return
	}
	key := effectKey(e, r.seed)
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	kept := *e
	kept.Via = nil
	r.list = append(r.list, kept)
}

// harmless reports whether an effect is one that rules hardly deny.
func harmlessEffect(e *Effect) bool {
	return e.Kind == KindRead && e.Guarded() == 0 || e.Kind == KindRun && e.Run.Known && e.Run.Readonly
}

// key is the same for effects that rules see alike.
func effectKey(e *Effect, seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	add := func(parts ...string) {
		for _, p := range parts {
			_, _ = h.WriteString(strconv.Itoa(len(p)))
			_ = h.WriteByte(':')
			_, _ = h.WriteString(p)
		}
	}
	add(string(e.Kind), e.From, strconv.Itoa(int(e.Tags)))
	switch {
	case e.Run != nil:
		add(e.Run.Program, e.Run.Executable, string(e.Run.Stdin), e.Run.StdinText, e.Run.Cwd)
		add(e.Run.Args...)
	case e.File != nil:
		add(e.File.Path, e.File.Given, strconv.FormatBool(e.File.Recursive))
	case e.Connect != nil:
		add(e.Connect.Host, strconv.Itoa(e.Connect.Port), e.Connect.Scheme, e.Connect.URL, e.Connect.Method)
	case e.Use != nil:
		add(e.Use.Server, e.Use.Tool, string(e.Use.Arguments))
	default:
		add(e.Text, e.Why)
	}
	return h.Sum64()
}

// read reads one text. What cannot be parsed is cut where a command may begin,
// and searched as code is.
func (r *rest) read(text string, at setting) {
	clean := strings.Map(func(c rune) rune {
		if c != '\n' && c != '\t' && hiddenCharacter(string(c)) != "" || c == '\r' {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, " "))
	if len(clean) <= maxRestText && !deeplyNested(clean) {
		if file := reader.tree(clean); file != nil {
			r.walk(file, clean, at)
			return
		}
	}
	parts := []string{clean}
	if len(clean) > maxRestText {
		parts = []string{clean[:maxRestRaw], clean[len(clean)-maxRestRaw:]}
	}
	for _, part := range parts {
		r.code(part, at)
		r.pieces(part, at)
	}
}

// code shows rules a text that nobody could parse, as what a shell would be told
// to run.
func (r *rest) code(text string, at setting) {
	r.keep(&Effect{
		Kind: KindRun, From: at.from, Text: Display("run sh -c " + text), Shell: true, Tags: r.b.res.cwdTags(at.cwd),
		Run: &Run{Program: "sh", Args: []string{"-c", text}, Stdin: StdinNone, Cwd: at.cwd, Known: true, Harmful: []int{0, 1}, HarmlessFrom: 2, Own: r.b.ownInText(text)},
	})
}

// pieces reads what may be commands in a text that cannot be parsed: what stands
// between the characters that end one, as it is, without its quotes, and from
// the first quote on.
func (r *rest) pieces(text string, at setting) {
	r.functions(text, at)
	for piece := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune("\n;&(){}`", c) }) {
		variants := []string{piece}
		if i := strings.IndexAny(piece, `"'\`); i >= 0 {
			variants = append(variants, strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(piece), piece[i+1:])
		}
		for _, text := range variants {
			if text = withoutLead(text); text == "" || deeplyNested(text) {
				continue
			}
			if file := reader.tree(text); file != nil {
				r.walk(file, text, at)
			} else if strings.Contains(text, "|") {
				for part := range strings.SplitSeq(text, "|") {
					if file := reader.tree(part); file != nil {
						r.walk(file, part, at)
					}
				}
			}
		}
	}
}

// withoutLead takes the words off a piece that stand before a command.
func withoutLead(piece string) string {
	for {
		piece = strings.TrimSpace(piece)
		word, behind, _ := strings.Cut(piece, " ")
		if !commandLeads[word] {
			return piece
		}
		piece = behind
	}
}

// functions shows rules what may be functions in a text that cannot be parsed.
func (r *rest) functions(text string, at setting) {
	const most, shown = 64, 200
	for range most {
		i := strings.Index(text, "()")
		if i < 0 {
			return
		}
		name := strings.LastIndexAny(text[:i], " \t\n;&|(){}`") + 1
		line := text[name:min(len(text), i+shown)]
		r.keep(&Effect{Kind: KindState, From: at.from, Why: "defines a function", Text: Display(strings.ToValidUTF8(line, "")), Shell: true})
		text = text[i+2:]
	}
}

// commandLeads are words of the shell that stand before a command.
var commandLeads = wordset.Of("if", "then", "else", "elif", "while", "until", "do", "!", "time", "{", "}", "$", "done", "fi", "esac", "coproc", "exec")

// deeplyNested reports whether a text must not be parsed.
func deeplyNested(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			if depth++; depth > maxShellNesting {
				return true
			}
		case ')', '}', ']':
			depth = max(depth-1, 0)
		case '`':
			if i > 0 && text[i-1] == '\\' {
				if depth++; depth > maxShellNesting {
					return true
				}
			}
		}
	}
	return false
}
