package testload

import (
	"testing"
	"time"
)

func TestLate(t *testing.T) {
	for _, tt := range []struct {
		name               string
		left, passed, most time.Duration
		want               bool
	}{
		{"the default limit, at the start", 10 * time.Minute, 0, 2 * time.Minute, false},
		{"in time", 2 * time.Minute, 8 * time.Minute, 2 * time.Minute, false},
		{"at the end", 119 * time.Second, 481 * time.Second, 2 * time.Minute, true},
		{"a short limit, at the start", time.Minute, 0, 2 * time.Minute, false},
	} {
		if got := late(tt.left, tt.passed, tt.most); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
