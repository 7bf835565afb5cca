package gateway

import (
	"errors"
	"strings"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/gatehttp"
)

// Texts of a turn come in pieces. Where the end of what has come may be the beginning of the
// server's key, the pieces are held back until the next ones show whether it is.
const (
	// minBegun is how much of a key stands at the end of a text that is held back, in bytes:
	// less says nothing of the key, and would be found in all texts.
	minBegun = 4
	// minHalf is how much of it is withheld where the text ends with it, in bytes, if that is
	// half of the key.
	minHalf = 12
	// minTail is how much of a text is kept to compare it with, at least, in bytes.
	minTail = 1 << 10
	// escaped is how many times as long as the key what stands for it may be, in most escapes.
	escaped = 16
)

// everything is the kind of text that all texts of a session are together.
const everything = "all"

// keyFilter passes the parts of turns on, except for those that the server's key is in.
type keyFilter struct {
	g       *Gateway
	forward func(part) error
	keep    int // bytes of each text
	// texts are the ends of the texts so far, of earlier turns of the session too, by the kind
	// of their pieces.
	texts      map[string]string
	held       []part
	unfinished map[string]bool // the kinds of held pieces
}

// withoutKey returns what passes parts of a turn to forward, and ends the turn where one has the
// server's key, alone or with the pieces before it.
func (g *Gateway) withoutKey(s *session, forward func(part) error) *keyFilter {
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	return &keyFilter{g: g, forward: forward, keep: max(minTail, escaped*len(g.cfg.Key)), texts: s.texts, unfinished: map[string]bool{}}
}

func (f *keyFilter) add(p part) error {
	if f.g.cfg.Key == "" {
		return f.forward(p)
	}
	if f.g.echoes(p.data) {
		return errors.New(errEcho.text)
	}
	kind, piece := pieceOf(&p)
	if kind == "" {
		return f.addValues(p)
	}
	if err := f.extend(everything, piece); err != nil {
		return err
	}
	if err := f.extend(kind, piece); err != nil {
		return err
	}
	f.unfinished[kind] = true
	f.held = append(f.held, p)
	if begun, _ := f.begun(); begun >= minBegun && len(f.held) < f.keep {
		return nil
	}
	return f.release()
}

// tail returns what of a text is kept.
func (f *keyFilter) tail(whole string) string {
	if len(whole) > 2*f.keep {
		return strings.Clone(whole[len(whole)-f.keep:])
	}
	return whole
}

// extend puts a text and what comes next of its kind together, and fails if the key is in it.
func (f *keyFilter) extend(kind, next string) error {
	whole := f.texts[kind] + next
	if gatehttp.EchoesText(whole, []string{f.g.cfg.Key}) {
		return errors.New(errEcho.text)
	}
	f.texts[kind] = f.tail(whole)
	return nil
}

// values returns the texts of a call's input, of a result, or of a block that is no text.
func values(p *part) (kind, texts string) {
	kind, v := "other", p.data
	switch p.kind {
	case partResult:
		kind, v = "result", strictjson.Find(p.data, "content")
	case partCall:
		kind, v = "call", p.input
	case partOther:
	}
	if v == nil {
		return kind, ""
	}
	return kind, gatehttp.Texts(v)
}

// addValues passes on what is no piece of a text. The texts in it end with it: they must not
// end in half of the key.
func (f *keyFilter) addValues(p part) error {
	kind, next := values(&p)
	if err := f.extend(everything, next); err != nil {
		return err
	}
	if err := f.end(); err != nil { // it must not wait for a text that may never go on
		return err
	}
	if err := f.extend(kind, next); err != nil {
		return err
	}
	begun, all := gatehttp.Beginning(f.texts[kind], []string{f.g.cfg.Key})
	if begun >= minHalf && 2*begun >= all {
		return errors.New(errEcho.text)
	}
	return f.forward(p)
}

// begun returns how much of the key stands at the end of a text with pieces that are held, and
// how long the key is in that form.
func (f *keyFilter) begun() (begun, all int) {
	for kind := range f.unfinished {
		if b, a := gatehttp.Beginning(f.texts[kind], []string{f.g.cfg.Key}); b > begun {
			begun, all = b, a
		}
	}
	return begun, all
}

// end passes on what is held back, since the texts do not go on for now, unless it is half of
// the key.
func (f *keyFilter) end() error {
	if len(f.held) == 0 {
		return nil
	}
	if begun, all := f.begun(); begun >= minHalf && 2*begun >= all {
		return errors.New(errEcho.text)
	}
	return f.release()
}

func (f *keyFilter) release() error {
	held := f.held
	f.held = nil
	clear(f.unfinished)
	for _, p := range held {
		if err := f.forward(p); err != nil {
			return err
		}
	}
	return nil
}

// pieceOf returns the piece of a text that a part of a turn is, and of which kind of text; the
// kind is empty if it is none.
func pieceOf(p *part) (kind, piece string) {
	var member string
	switch p.event {
	case "text_delta", "thinking_delta":
		member = "delta"
	case "text", "thinking":
		member = p.event
	case "":
		if p.kind != partOther || strictjson.Kind(p.data) != '{' {
			return "", ""
		}
		if member, _ = strictjson.ParseString(strictjson.Find(p.data, "type")); member == "" {
			member = "content" // a message that is one text
		}
	default:
		return "", ""
	}
	piece, ok := strictjson.ParseString(strictjson.Find(p.data, member))
	if !ok {
		return "", ""
	}
	return p.event + " " + member, piece
}
