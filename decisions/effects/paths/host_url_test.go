package paths

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// Equivalent addresses have the same text for rules that compare with startswith.
func TestConnectURL(t *testing.T) {
	r := testResolver(tree())
	for given, want := range map[string]string{
		"https://h.example/public/a":                 "https://h.example/public/a",
		"HTTPS://H.Example/public/a":                 "https://h.example/public/a",
		"https://h.example:443/public/a":             "https://h.example/public/a",
		"http://h.example:80/":                       "http://h.example/",
		"http://h.example:443/":                      "http://h.example:443/",
		"https://h.example./public/":                 "https://h.example/public/",
		"https://h.example":                          "https://h.example/",
		"https://h.example?x=1":                      "https://h.example/?x=1",
		"https://h.example/a#/../b":                  "https://h.example/a",
		"https://h.example/admin#/public.json":       "https://h.example/admin",
		"https://me:s3cret@h.example/admin":          "https://h.example/admin",
		"https://h.example//admin///x":               "https://h.example/admin/x",
		"https://h.example/%61dmin":                  "https://h.example/admin",
		"https://h.example/a%2fb":                    "https://h.example/a%2Fb",
		"https://h.example/\u00e9":                   "https://h.example/%C3%A9",
		"https://h.example/%c3%a9":                   "https://h.example/%C3%A9",
		"https://h.example/a?to=/x/../y&u=%2e%2e":    "https://h.example/a?to=/x/../y&u=%2e%2e",
		"https://h.example/a..b/...x/.well-known/x.": "https://h.example/a..b/...x/.well-known/x.",
		"https://h.example/100%25":                   "https://h.example/100%25",
		"https://h.example/a;v=1/b":                  "https://h.example/a;v=1/b",
		"http://127.1/x":                             "http://127.0.0.1/x",
		"http://[0:0::1]:8080/x":                     "http://[::1]:8080/x",
		"h.example/public//a":                        "h.example/public/a",
		"H.example:8080/a":                           "h.example:8080/a",
		"ssh://git@H.example:22/o/r":                 "ssh://git@h.example/o/r",
		"ssh://bob:s3cret@h.example/o/r":             "ssh://***@h.example/o/r",
		"git@h.example:o/r.git":                      "git@h.example:o/r.git",
	} {
		e := r.Connect(given, effects.MethodGet, "url")
		if e.Kind != effects.KindConnect {
			t.Errorf("%s: got %s: %s", given, e.Kind, e.Why)
		} else if e.Connect.URL != want {
			t.Errorf("%s: got %s, want %s", given, e.Connect.URL, want)
		}
	}
}

// If a server or a program may take another path than the written one, no prefix of
// the address shows where it leads.
func TestConnectURLOfTwoPlaces(t *testing.T) {
	r := testResolver(tree())
	for _, given := range []string{
		"https://h.example/public/../admin", "https://h.example/public/%2e%2e/admin", "https://h.example/public/.%2E/admin",
		"https://h.example/public/..%2fadmin", "https://h.example/public/x%2F..%2Fadmin", "https://h.example/public/%252e%252e/admin",
		"https://h.example/public/%25252e%25252e/x", "https://h.example/public/..%5cadmin", "https://h.example/public/..;/admin",
		"https://h.example/public/%2e%2e;v=1/admin", "https://h.example/public//../admin", "https://h.example/public/..",
		"h.example/public/../admin", "h.example/public/%2e%2e/admin", "git@h.example:org/../other/r.git", "ssh://git@h.example/org/../r",
		"https://h.example/%2525252525252525", `https://h.example/public/..\admin`,
	} {
		if e := r.Connect(given, effects.MethodGet, "url"); e.Kind != effects.KindUnknown {
			t.Errorf("%s: got %s %+v, want unknown", given, e.Kind, e.Connect)
		}
	}
}

// A program that sends data in the address is no plain download.
func TestConnectOfTalkingSchemes(t *testing.T) {
	r := testResolver(tree())
	for given, want := range map[string]string{
		"gopher://h.example:6379/_SET": effects.MethodSend, "dict://h.example/d:x": effects.MethodSend, "wss://h.example/": effects.MethodSend,
		"https://h.example/": effects.MethodGet, "ftp://h.example/x": effects.MethodGet,
	} {
		if e := r.Connect(given, effects.MethodGet, ""); e.Connect == nil || e.Connect.Method != want {
			t.Errorf("%s: got %+v, want %s", given, e.Connect, want)
		}
	}
}
