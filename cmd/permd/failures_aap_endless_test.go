package main

import (
	"fmt"
	"strings"
	"testing"
)

// aapEndless: a server calls another tool after every result. The number of turns that the
// gateway posts for one request is bounded, and the client gets the denials.
func aapEndless(t *testing.T) {
	d := aapDaemon(t)
	for name, row := range map[string]struct {
		call  string
		turns int // at most
	}{
		"denied": {"deploy " + production, 16}, "allowed": {"deploy " + staging, 256},
	} {
		for _, stream := range []string{"message", "none"} {
			var script []aapStep
			for i := range row.turns + 8 {
				script = append(script, calls(fmt.Sprintf("c%d %s", i, row.call)))
			}
			s := newFaultyAAP(t, append(script, says("done"))...)
			url, key := d.startGateway(t, s.front.URL)
			c := newPlainAAP(t, url, key, stream)
			status, text := c.sends(aapUser("go"))
			seen := c.read(text)
			if status != 200 || seen.stop != "error" || len(s.executed) >= row.turns+8 {
				t.Errorf("%s, %s: status %d, stop %q, the server ran %d calls", name, stream, status, seen.stop, len(s.executed))
			}
			if n := strings.Count(text, "Tool call denied"); name == "denied" && (n != row.turns || len(seen.calls) != n) {
				t.Errorf("%s, %s: %d denials of %d calls shown", name, stream, n, len(seen.calls))
			}
			if told := s.told(c.session); len(told) > row.turns {
				t.Errorf("%s, %s: %d turns", name, stream, len(told))
			}
		}
	}
}
