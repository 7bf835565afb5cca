package cli

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"30m": 30 * time.Minute, "8h": 8 * time.Hour, "0": 0, "-1s": -time.Second, "1h30m": 90 * time.Minute,
		"7d": 7 * day, "2w": 14 * day, "1w2d3h": 9*day + 3*time.Hour, "0d": 0, "1d12h": 36 * time.Hour,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "7", "7 d", "-7d", "1.5d", "1d-2h", "1d+2h", "2d1w", "1d2d", "9999999w", "106751d2540400h", "1y", "+7d", "1d ", "1dd"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q: %s", text, got)
		}
	}
}
