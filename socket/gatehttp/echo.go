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
	forms := allForms(secrets)
	return len(forms) > 0 && echoesOne(v, forms)
}

func allForms(secrets []string) (forms []string) {
	for _, s := range secrets {
		if s != "" {
			forms = append(forms, formsOf(s)...)
		}
	}
	return forms
}

// Beginning returns the length of the longest end of a text with which one of the forms of the
// secrets may begin that [Echoes] recognises, in bytes of that form; all is the length of the
// whole form. It is for texts that come in pieces: what follows may make the secret complete.
func Beginning(text string, secrets []string) (begun, all int) {
	texts := []string{strings.ToLower(text)}
	if i := strings.LastIndexByte(text, '%'); i >= 0 {
		if len(text)-i < len("%2f") {
			text = text[:i] // the next piece says what it stands for
		}
		texts = append(texts, strings.ToLower(unescape(text)))
	}
	for _, form := range allForms(secrets) {
		for _, text := range texts {
			for n := min(len(text), len(form)-1); n > begun; n-- {
				if strings.HasSuffix(text, form[:n]) {
					begun, all = n, len(form)
				}
			}
		}
	}
	return begun, all
}

// unescape decodes what is percent-encoded, and leaves everything else as it is.
func unescape(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		if one, err := url.PathUnescape(s[:min(3, len(s))]); err == nil {
			b.WriteString(one)
			s = s[3:]
			continue
		}
		b.WriteByte('%')
		s = s[1:]
	}
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
		decoded = strings.ToLower(unescape(text))
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
