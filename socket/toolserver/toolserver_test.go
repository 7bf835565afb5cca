package toolserver

import (
	"errors"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

func TestAddress(t *testing.T) {
	for given, want := range map[string]string{
		"":                          "",
		"https://tools.example/v1/": "https://tools.example/v1",
		"https://Tools.Example:443": "https://tools.example/",
		"http://tools.example:80/a?token=secret#x": "http://tools.example/a",
		"http://user:secret@127.0.0.1:7410/invoke": "http://127.0.0.1:7410/invoke",
		"HTTPS://[::1]:443/":                       "https://[::1]/",
	} {
		if got, err := Address(given); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", given, got, err, want)
		}
	}
	for _, given := range []string{"tools", "file:///etc/passwd", "https://", "ftp://x/", "https://x/%zz?secret", "https://x/" + strings.Repeat("a", maxAddress)} {
		if got, err := Address(given); !errors.Is(err, errAddress) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %q, %v", given, got, err)
		}
	}
}

func TestReason(t *testing.T) {
	for want, d := range map[string]decisions.Decision{
		"use staging":  {Message: "use staging", Reason: "internal", By: decisions.ByPolicy},
		byPolicy:       {Reason: "internal: /etc/permd/rules.rego:7", By: decisions.ByPolicy},
		ByPerson:       {Reason: "remembered: x", By: decisions.ByMemory},
		undecided:      {Reason: "the rules are not ready", By: decisions.ByFailure},
		"bad \ufffd .": {Message: "bad \xff ."},
	} {
		if got := Reason(&d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	long := Reason(&decisions.Decision{Message: "a" + strings.Repeat("é", maxReason)})
	if len(long) != maxReason-1 || !strings.HasSuffix(long, "é") {
		t.Errorf("%d bytes", len(long))
	}
}
