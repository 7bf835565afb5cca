package gatehttp

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/permd/permd/internal/strictjson"
)

// Echoes reports whether a JSON value holds one of the secrets: in a text or the name of a
// member, as it is or in other letters, in base64 or hexadecimal, also with separators. Each may
// be escaped as in JSON, HTML or percent-encoding, up to three times, and broken into lines, unless
// it is shorter than 8 bytes. It is for upstreams that
// repeat what they got, by mistake or in an error; one that means to hide it can. A secret may
// be in pieces in texts that follow each other, or that do so among those of one name. An empty
// secret is none. A value that is not valid JSON counts as holding one. The time is linear in
// the length of the value.
func Echoes(v strictjson.Value, secrets []string) bool {
	f := formsOf(secrets)
	if len(f.all) == 0 {
		return false
	}
	j := joined{f: f, named: map[string]*text{}}
	return strictjson.Check(v) != nil || echoesOne(v, "", f, &j) || j.hold()
}

// EchoesText is Echoes for a text that need not be JSON.
func EchoesText(text string, secrets []string) bool {
	f := formsOf(secrets)
	return len(f.all) > 0 && f.in(text)
}

// Beginning returns the length of the longest end of a text with which one of the forms of the
// secrets may begin that [Echoes] recognises, in bytes of that form; all is the length of the
// whole form. It is for texts that come in pieces: what follows may make the secret complete.
func Beginning(text string, secrets []string) (begun, all int) {
	forms := formsOf(secrets)
	find := func(reading []byte, forms [][]byte) bool {
		for _, form := range forms {
			for n := min(len(reading), len(form)-1); n > begun; n-- {
				if bytes.HasSuffix(reading, form[:n]) {
					begun, all = n, len(form)
				}
			}
		}
		return true
	}
	forms.read(text, find)
	// Where it ends within an escape, the next piece says what that stands for.
	for i := len(text) - 1; i >= max(0, len(text)-maxEscape); i-- {
		switch c := text[i]; {
		case c == '%' || c == '\\' || c == '&', c == '0' && (i == len(text)-1 || text[i+1]|0x20 == 'x'):
			forms.read(text[:i], find)
		}
	}
	return begun, all
}

// maxEscape is the length of the longest escape of one character that a text may end within,
// in bytes: &amp;amp;#x2F;
const maxEscape = 16

// echoesOne looks into a value, which is a member of that name, and puts its texts together in j.
func echoesOne(v strictjson.Value, name string, f *forms, j *joined) (found bool) {
	switch strictjson.Kind(v) {
	case '{':
		err := strictjson.Each(v, func(name string, value strictjson.Value) bool {
			j.addName(name)
			found = f.in(name) || echoesOne(value, name, f, j)
			return !found
		})
		return found || err != nil
	case '[':
		err := strictjson.Each(v, func(_ string, value strictjson.Value) bool {
			found = echoesOne(value, name, f, j)
			return !found
		})
		return found || err != nil
	case '"':
		s, ok := strictjson.ParseString(v)
		j.add(name, s)
		return !ok || f.in(s)
	default:
		s := string(v)
		if s != "null" && s != "true" && s != "false" {
			j.add(name, s)
		}
		return f.in(s) // a number can be a secret
	}
}

// in reports whether a text holds one of the forms. A long one is read in windows.
func (f *forms) in(text string) (found bool) {
	if len(f.all) == 0 {
		return false
	}
	for {
		window := text[:min(len(text), f.window())]
		f.read(window, func(reading []byte, forms [][]byte) bool {
			found = slices.ContainsFunc(forms, func(form []byte) bool { return bytes.Contains(reading, form) })
			return !found
		})
		if found || len(window) == len(text) {
			return found
		}
		text = text[len(window)-f.overlap():]
	}
}

// formsOf returns the forms in which secrets are recognised.
func formsOf(secrets []string) *forms {
	f := new(forms)
	for _, s := range secrets {
		f.add(s)
		for range maxEscapes { // what looks like an escape in a secret is read as one, too
			plain := unescape(s)
			if plain == s {
				break
			}
			s = plain
			f.add(s)
		}
	}
	return f
}

func (f *forms) add(secret string) {
	if secret == "" {
		return
	}
	add := func(form string) []byte {
		b := []byte(strings.ToLower(form))
		f.all, f.longest = append(f.all, b), max(f.longest, len(b))
		if len(b) >= minPacked {
			f.long = append(f.long, b)
		}
		return b
	}
	add(secret)
	if digits := add(hex.EncodeToString([]byte(secret))); len(digits) >= minPacked {
		f.hex = append(f.hex, digits)
	}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		// In the middle of other text, a secret begins at one of three places of a group.
		for before := range 3 {
			text := e.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
			from, to := (before*8+5)/6, (before+len(secret))*8/6
			form := strings.ToLower(text[from:to])
			if slices.ContainsFunc(f.all, func(b []byte) bool { return string(b) == form }) {
				continue // without + and /, both alphabets are the same
			}
			if b := add(form); len(b) >= minPacked {
				f.base64 = append(f.base64, b)
			}
		}
	}
}
