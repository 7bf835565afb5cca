package display

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/permd/permd/internal/strictjson"
)

// maskMembers masks the secrets inside of the strings of a JSON text, such as the arguments
// of a tool: each is escaped and may hold a command or another JSON text, and those of a
// list may be the words of a command. What the name of a member tells is left to mask.
func maskMembers(s string) string {
	if s == "" || s[0] != '{' && s[0] != '[' || !strings.Contains(s, `"`) {
		return s
	}
	var b strings.Builder
	done := 0
	list := jsonList{}
	put := func(from, end int, text string) {
		b.WriteString(s[done:from])
		b.WriteString(jsonString(text))
		done = end
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			if strings.IndexByte(", \t\r\n", s[i]) < 0 {
				list.flush(put)
			}
			continue
		}
		n := closing(s[i+1:], '"')
		if n < 0 {
			break
		}
		end := i + n + 2
		if text, ok := strictjson.ParseString([]byte(s[i:end])); ok {
			list.add(i, end, text)
		}
		i = end - 1
	}
	list.flush(put)
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// jsonList is a sequence of strings in a JSON text, with their bounds.
type jsonList struct {
	texts  []string
	bounds []span
}

func (l *jsonList) add(from, end int, text string) {
	l.texts, l.bounds = append(l.texts, text), append(l.bounds, span{from, end})
}

// flush masks the strings, passes on those that changed, and begins anew.
func (l *jsonList) flush(put func(from, end int, text string)) {
	masked := make([]string, len(l.texts))
	for i, text := range l.texts {
		masked[i] = maskText(text, true)
	}
	if len(l.texts) > 1 {
		// The program may be in another member.
		words := append([]string{""}, l.texts[:min(len(l.texts), maxSecretWords)]...)
		secretParts(words, func(i, keep int) {
			if i--; i >= 0 && keep < len(l.texts[i]) {
				masked[i] = l.texts[i][:keep] + hide(l.texts[i][keep:])
			}
		})
	}
	for i, text := range masked {
		if text != l.texts[i] {
			put(l.bounds[i].from, l.bounds[i].end, text)
		}
	}
	l.texts, l.bounds = l.texts[:0], l.bounds[:0]
}

// jsonString returns a string as JSON, with characters that a shell acts on as they are.
func jsonString(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return `"` + Masked + `"` // cannot happen
	}
	return strings.TrimSuffix(b.String(), "\n")
}
