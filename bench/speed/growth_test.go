package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/permd/permd/internal/testload"
)

// TestGrowth measures the least size of each dimension.
func TestGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it builds permd and starts a daemon for each dimension")
	}
	var names []string
	for _, d := range dimensions {
		names = append(names, d.name)
	}
	names = testload.Sample(t, 1, names)
	var out bytes.Buffer
	o := options{only: names, turn: 5 * time.Millisecond, most: 10, asJSON: true, plots: t.TempDir()}
	if err := runGrowth(t.Context(), o, &out, func(string) {}); err != nil {
		t.Fatal(err)
	}
	var curves []curve
	if err := json.Unmarshal(out.Bytes(), &curves); err != nil {
		t.Fatal(err)
	}
	if len(curves) != len(names) {
		t.Fatalf("%d curves", len(curves))
	}
	for _, c := range curves {
		if c.Name == "bytes" {
			continue // begins with more
		}
		if len(c.Points) == 0 || c.Points[0].Fresh <= 0 || c.Points[0].RSS <= 0 {
			t.Errorf("%s: %+v", c.Name, c.Points)
		}
	}
}
