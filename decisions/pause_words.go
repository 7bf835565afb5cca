package decisions

import (
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions/effects"
)

// Bounds of what is looked for in the words of programs that permd does not know. A call
// with more of it asks during a pause as well.
const (
	maxPassedTexts = 64      // that are read
	maxPassedBytes = 8 << 10 // of all of them
	maxPassedDepth = 3       // of unknown programs in the words of others
)

// passesCommands reports whether a run may pass words on to other programs that permd does
// not see: the words of a program that it does not know may be a command. What a person's own
// layer says of the program does not count.
func passesCommands(r *effects.Run) bool {
	if r.WithoutOverlay != nil {
		r = r.WithoutOverlay
	}
	return !r.Known && (len(r.Args) > 0 || r.Stdin == effects.StdinText || r.Stdin == effects.StdinPipe)
}

// passedOn looks for what a pause must not allow among that which a call may do besides its
// effects: what org asks about, what any layer denies and what is guarded, in each end of the
// words of an unknown program, and in each word and its standard input as shell text. It
// returns why a person must be asked, "" if nothing is found. What cannot be read asks. all are
// the call's effects and results what the pause makes of them: words of a program that a rule
// allows are none of its.
func (e *Engine) passedOn(ctx context.Context, m *evaluation, all []effects.Effect, results []effectResult, now time.Time) string {
	w := &passedWords{e: e, ctx: ctx, m: m, now: now}
	w.effects(m.res.Rest)
	for i := range all {
		if results[i].by == ByPause {
			w.runs(all[i:i+1], 0)
		}
	}
	return w.why
}

// passedWords is one search of passedOn.
type passedWords struct {
	e     *Engine
	ctx   context.Context
	m     *evaluation
	now   time.Time
	texts int
	bytes int
	why   string
}

const notRead = "what it passes on to another program is not understood"

func (w *passedWords) runs(list []effects.Effect, depth int) {
	for i := range list {
		r := list[i].Run
		if w.why != "" {
			return
		}
		if r == nil || list[i].Kind != effects.KindRun || !passesCommands(r) {
			continue
		}
		if depth == maxPassedDepth || r.Stdin == effects.StdinPipe {
			w.why = notRead
			return
		}
		for n, word := range r.Args {
			if word == effects.DynamicWord {
				w.why = notRead
				return
			}
			w.command(r.Args[n:], r.Cwd) // its own ends come next
			w.word(word, r.Cwd, depth)
		}
		if r.Stdin == effects.StdinText {
			w.runs(w.command(r.StdinText, r.Cwd), depth+1)
		}
	}
}

// word reads a word that may be shell text, and what follows a = in it.
func (w *passedWords) word(word, cwd string, depth int) {
	if w.why != "" {
		return
	}
	if strings.ContainsFunc(word, func(c rune) bool {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:,+@%=", c)
		return !plain
	}) {
		w.runs(w.command(word, cwd), depth+1)
	}
	if _, value, ok := strings.Cut(word, "="); ok && value != "" {
		w.command([]string{value}, cwd)
		w.word(value, cwd, depth)
	}
}

// command reads shell text, or a list of words, looks at all that it may do, and returns its
// effects.
func (w *passedWords) command(text any, cwd string) []effects.Effect {
	if w.why != "" {
		return nil
	}
	input, err := json.Marshal(map[string]any{"command": text})
	if w.texts, w.bytes = w.texts+1, w.bytes+len(input); err != nil || w.texts > maxPassedTexts || w.bytes > maxPassedBytes {
		w.why = notRead
		return nil
	}
	of := w.m.call
	c := &effects.Call{
		Protocol: "acp", Agent: effects.Party{Name: "acp-client"}, Tool: effects.Tool{Name: "terminal/create"}, Input: input,
		Cwd: cwd, Roots: of.Roots, User: of.User, Confined: of.Confined,
	}
	world := w.e.World(w.m.snapshot)
	res := world.Effects(c)
	if res.Missing != "" || len(res.Defects) > 0 {
		w.why = notRead
		return nil
	}
	for _, list := range [][]effects.Effect{res.Effects, res.Hints, res.Rest} {
		w.effects(list)
	}
	return res.Effects
}

// effects looks at what rules say of each of some effects.
func (w *passedWords) effects(list []effects.Effect) {
	in := new(w.m.input())
	in.All, in.Now = list, w.now
	for i := range list {
		if w.why != "" {
			return
		}
		giveWay(w.ctx)
		eff := &list[i]
		switch {
		case w.ctx.Err() != nil, eff.Kind == effects.KindUnknown && eff.Cause != "":
			w.why = notRead
			return
		case eff.Guarded() != 0:
			w.why = "a word that it may pass on to another program names what is guarded"
			return
		case eff.Run != nil && eff.Run.Own != effects.OwnNone:
			w.why = "a word that it may pass on to another program may be a command of permd"
			return
		}
		in.Effect = eff
		found, err := w.m.snapshot.Evaluate(w.ctx, in)
		if err != nil {
			w.why = notRead
			return
		}
		fired := ofPersons(eff, found.Fired)
		for _, stops := range [][]Finding{pick(fired, SetDeny, anyLayer), pick(fired, SetAsk, inOrg), filter(pick(fired, SetAsk, inUserOrProject), memoryMayNotAnswer)} {
			if stops != nil {
				w.why = "in words that it may pass on to another program: " + reasonFor(eff, &stops[0])
				return
			}
		}
	}
}
