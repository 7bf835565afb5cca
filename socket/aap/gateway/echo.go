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
		if err := f.end(); err != nil { // it must not wait for a text that may never go on
			return err
		}
		return f.forward(p)
	}
	whole := f.texts[kind] + piece
	if gatehttp.Echoes(strictjson.Value(quote(whole)), []string{f.g.cfg.Key}) {
		return errors.New(errEcho.text)
	}
	if len(whole) > 2*f.keep {
		whole = strings.Clone(whole[len(whole)-f.keep:])
	}
	f.texts[kind], f.unfinished[kind] = whole, true
	f.held = append(f.held, p)
	if begun, _ := f.begun(); begun >= minBegun && len(f.held) < f.keep {
		return nil
	}
	return f.release()
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
