package gatehttp

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/permd/permd/internal/strictjson"
)

// Echoes reports whether a JSON value holds one of the secrets: in a text or the name of a
// member, as it is or in other letters, in base64, hexadecimal or percent-encoding. It is
// for upstreams that repeat what they got, by mistake or in an error; one that means to hide
// it can. An empty secret is none. A value that is not valid JSON counts as holding one.
func Echoes(v strictjson.Value, secrets []string) bool {
	var forms []string
	for _, s := range secrets {
		if s != "" {
			forms = append(forms, formsOf(s)...)
		}
	}
	return len(forms) > 0 && echoesOne(v, forms)
}

func echoesOne(v strictjson.Value, forms []string) bool {
	switch strictjson.Kind(v) {
	case '{':
		o, err := strictjson.ParseObject(v)
		if err != nil {
			return true
		}
		for _, m := range o {
			if holds(m.Name, forms) || echoesOne(m.Value, forms) {
				return true
			}
		}
	case '[':
		list, err := strictjson.ParseArray(v)
		if err != nil {
			return true
		}
		for _, item := range list {
			if echoesOne(item, forms) {
				return true
			}
		}
	case '"':
		s, ok := strictjson.ParseString(v)
		return !ok || holds(s, forms)
	default:
		return holds(string(v), forms) // a number can be a secret
	}
	return false
}

// holds reports whether a text holds one of the forms, all in small letters.
func holds(text string, forms []string) bool {
	plain := strings.ToLower(text)
	decoded := plain
	if strings.Contains(plain, "%") {
		if d, err := url.PathUnescape(text); err == nil {
			decoded = strings.ToLower(d)
		}
	}
	for _, f := range forms {
		if strings.Contains(plain, f) || strings.Contains(decoded, f) {
			return true
		}
	}
	return false
}

// formsOf returns the forms in which a secret is recognised, in small letters.
func formsOf(secret string) []string {
	forms := []string{strings.ToLower(secret), hex.EncodeToString([]byte(secret))}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		// In the middle of other text, a secret begins at one of three places of a group.
		for before := range 3 {
			text := e.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
			from, to := (before*8+5)/6, (before+len(secret))*8/6
			forms = append(forms, strings.ToLower(text[from:to]))
		}
	}
	return forms
}
