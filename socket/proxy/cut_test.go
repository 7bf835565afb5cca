package proxy

import "testing"

// TestCutLine: if a peer ends in the middle of a line that is passed on, permd's
// next message does not become part of that line.
func TestCutLine(t *testing.T) {
	q := newQueue()
	for _, line := range []string{"whole\n", "cut", "{}\n", "cut", "cut", "end\n"} {
		q.push([]byte(line), false)
	}
	q.end()
	got := ""
	for line, ok := q.next(); ok; line, ok = q.next() {
		got += string(line)
	}
	if want := "whole\ncut\n{}\ncut\ncut\nend\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
