package paths

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestMayReach: an address that is not understood shows denies each host that a program
// may take it for.
func TestMayReach(t *testing.T) {
	for url, want := range map[string]string{
		`http://good.example\@evil.example/`:     "evil.example",
		`http://evil.example\@good.example/`:     "evil.example",
		"http://good.example?@evil.example/":     "evil.example",
		"http://good.example#@EVIL.example.":     "evil.example",
		"http://a@b@evil.example/":               "evil.example",
		"http://evil.example:80:81/":             "evil.example",
		"http://evil%2eexample/":                 "evil.example",
		"http://good.example%2f@evil.example@x/": "evil.example",
		"http://ev\til.example/":                 "evil.example",
		"http://\u200bevil.example/":             "evil.example",
		"http:/evil.example/x":                   "evil.example",
		"http:evil.example":                      "evil.example",
		"http://.evil.example/":                  "evil.example",
		"foo://evil.example/":                    "evil.example",
		"http://good.example\\@[::1]:80/":        "::1",
		"http://good.example\\@127.1/":           "127.0.0.1",
		"https://evil.example/a/../b":            "evil.example",
		"https://evil.example/a/%2e%2e/b.json":   "evil.example",
	} {
		r := testResolver(tree())
		e := r.Connect(url, effects.MethodGet, "x")
		if e.Kind != effects.KindUnknown {
			t.Errorf("%q is understood: %s", url, e.Text)
		}
		if !slices.ContainsFunc(r.MayReach, func(e effects.Effect) bool { return e.Connect.Host == want && e.Guessed }) {
			t.Errorf("%q does not show %s, but %+v", url, want, r.MayReach)
		}
	}
	for _, url := range []string{"https://good.example/evil.example", "git@good.example:o/r", "https://good.example/?q=http://evil.example/"} {
		r := testResolver(tree())
		if e := r.Connect(url, effects.MethodGet, "x"); e.Kind != effects.KindConnect || len(r.MayReach) > 0 {
			t.Errorf("%q: %s, %+v", url, e.Text, r.MayReach)
		}
	}
	// All programs see the same host in it, whatever its path leads to.
	r := testResolver(tree())
	r.Connect("https://good.example/evil.example/../b", effects.MethodGet, "x")
	if len(r.MayReach) != 1 || r.MayReach[0].Connect.Host != "good.example" || r.MayReach[0].Connect.Port != 443 {
		t.Errorf("%+v", r.MayReach)
	}
}

// TestMayReachPorts: a line about a host with a port is about that port alone.
func TestMayReachPorts(t *testing.T) {
	for url, want := range map[string][]int{
		`http://a.example\@evil.example/`:        {80},
		`HTTPS://a.example\@evil.example:8443/`:  {443, 8443},
		`a.example\@evil.example:0008080:99999/`: {80, 443, 8080},
	} {
		r := testResolver(tree())
		r.Connect(url, effects.MethodGet, "x")
		var got []int
		for _, e := range r.MayReach {
			if e.Connect.Host == "evil.example" {
				got = append(got, e.Connect.Port)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s may mean the ports %v, want %v", url, got, want)
		}
	}
}

func TestMayReachBounds(t *testing.T) {
	many := `http://a\`
	for i := range maxMayReach {
		many += "@h" + strings.Repeat("x", i) + ".example"
	}
	for url, want := range map[string]bool{
		`http://a.example\@b.example`: false,
		many:                          true,
		`http://a.example\@b.example` + strings.Repeat("/", maxReadAddress): true,
	} {
		r := testResolver(tree())
		r.Connect(url, effects.MethodGet, "x")
		if r.TooManyHosts != want || len(r.MayReach) > maxMayReach {
			t.Errorf("%.40q: %v with %d hosts", url, r.TooManyHosts, len(r.MayReach))
		}
	}
}
