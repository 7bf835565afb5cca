package gatehttp

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// PreferredWait returns how long a client waits for its answer, by the preference wait of its
// header Prefer (RFC 7240), at most limit; 0 if it does not say. Other preferences are ignored.
// It reports false for a wait that is no number of seconds.
func PreferredWait(h http.Header, limit time.Duration) (wait time.Duration, ok bool) {
	for p := range preferences(strings.Join(h["Prefer"], ",")) {
		p, _, _ = strings.Cut(p, ";") // its parameters
		name, value, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		value = strings.TrimSpace(value)
		if value == "" || strings.ContainsFunc(value, func(c rune) bool { return c < '0' || c > '9' }) {
			return 0, false
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n > int64(limit/time.Second) {
			return limit, true
		}
		return time.Duration(n) * time.Second, true // the first one counts
	}
	return 0, true
}

// preferences splits a header's value at the commas that are not in a quoted string.
func preferences(value string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		quoted, begin := false, 0
		for i := 0; i < len(value); i++ {
			switch c := value[i]; {
			case c == '\\' && quoted:
				i++
			case c == '"':
				quoted = !quoted
			case c == ',' && !quoted:
				if !yield(value[begin:i]) {
					return
				}
				begin = i + 1
			}
		}
		yield(value[begin:])
	}
}
