package gateway

import (
	"errors"
	"strings"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/gatehttp"
)

// Texts of a turn come in pieces. A key is recognised in the text of all pieces by its first
// half, if that is long enough to be nothing else.
const (
	minHalfKey = 12      // bytes
	minTail    = 1 << 10 // bytes of a text that are kept for it, at least
)

// withoutKey returns use for parts of a turn, except that one with the server's key ends the
// turn.
func (g *Gateway) withoutKey(use func(part) error) func(part) error {
	key := g.cfg.Key
	if key == "" {
		return use
	}
	begin := key
	if half := len(key) / 2; half >= minHalfKey {
		begin = key[:half]
	}
	keep := max(minTail, 4*len(key))
	texts := map[string]string{} // the ends of the texts so far, by the kind of their pieces
	return func(p part) error {
		if g.echoes(p.data) {
			return errors.New(errEcho.text)
		}
		if name, piece := pieceOf(&p); piece != "" {
			whole := texts[name] + piece
			if gatehttp.Echoes(strictjson.Value(quote(whole)), []string{begin}) {
				return errors.New(errEcho.text)
			}
			if len(whole) > 2*keep {
				whole = strings.Clone(whole[len(whole)-keep:])
			}
			texts[name] = whole
		}
		return use(p)
	}
}

// pieceOf returns the piece of a text that a part of a stream is.
func pieceOf(p *part) (kind, piece string) {
	switch p.event {
	case "text_delta", "thinking_delta":
		piece, _ = strictjson.ParseString(strictjson.Find(p.data, "delta"))
	}
	return p.event, piece
}
