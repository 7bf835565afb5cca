package daemon

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
)

// TestPinsMasked: lists of choices mask secrets in the names of files that a choice is bound to.
func TestPinsMasked(t *testing.T) {
	t.Parallel()
	const secret = "Zq9CANARY142xW7"
	c := remember.Choice{Verdict: decisions.Allow, Kind: effects.KindRun, Label: "mytool", Pins: remember.Pins{
		Project: "/tmp/token=" + secret, Cwd: "/tmp/token=" + secret + "/a", Script: "/tmp/password=" + secret + "/x.sh", SHA256: "0123456789abcdef",
	}}
	words := strings.Join(pinsInWords(&c), "\n")
	if strings.Contains(words, secret) || !strings.Contains(words, "run in /tmp/token=***") {
		t.Errorf("the pins are told as %q", words)
	}
	c.Pins = remember.Pins{Cwd: "/work/shop/a b"}
	if words := pinsInWords(&c); len(words) != 1 || words[0] != "run in /work/shop/a b" {
		t.Errorf("without a secret: %q", words)
	}
}

func TestReasonMasked(t *testing.T) {
	t.Parallel()
	for why, want := range map[string]string{
		"token=Zq9CANARY70xW7": "token=***", "password=Zq9CANARY71xW7, for a demo": "password=*** for a demo",
		"lunch": "lunch", "ünder construction": "ünder construction", "two\nlines": "two\nlines", "": "",
	} {
		if got := masked(why); got != want {
			t.Errorf("the reason %q is %q, want %q", why, got, want)
		}
	}
}
