//go:build linux

package main

import (
	"context"
	"regexp"
	"strings"
)

// maxMinimised is how many texts are tried to minimise one difference.
const maxMinimised = 300

// token matches a word, blanks or one other character of a text.
var token = regexp.MustCompile(`[A-Za-z0-9_./-]+|\s+|[^A-Za-z0-9_./\s-]`)

// minimise removes parts of a text as long as the same difference remains, and
// notes the shortest text.
func (w *worker) minimise(ctx context.Context, f *finding, diffs []difference) error {
	best := *f.trial
	v := w.judge.decide(ctx, &best)
	tries := 0
	better := func(text string) (bool, error) {
		if tries >= maxMinimised || ctx.Err() != nil || text == "" {
			return false, nil
		}
		tries++
		t := best
		t.text = text
		got := w.judge.decide(ctx, &t)
		if !got.allowed {
			return false, nil
		}
		have, _, err := w.try(ctx, &t, &got)
		if err != nil || len(have) == 0 || !sameKind(have, diffs) {
			return false, err
		}
		best, v, diffs = t, got, have
		return true, nil
	}
	for _, split := range []func(string) []string{func(s string) []string { return strings.SplitAfter(s, "\n") }, func(s string) []string { return token.FindAllString(s, -1) }} {
		for size := 8; size > 0; {
			parts := split(best.text)
			smaller := false
			for at := 0; at < len(parts); {
				end := min(at+size, len(parts))
				ok, err := better(strings.Join(parts[:at], "") + strings.Join(parts[end:], ""))
				if err != nil {
					return err
				}
				if ok {
					parts, smaller = split(best.text), true
				} else {
					at += size
				}
			}
			if !smaller {
				size /= 2
			}
		}
	}
	f.set(&best, &v, diffs)
	return nil
}

// sameKind reports whether two texts have a difference of one kind, so that the
// shorter one does not show something else.
func sameKind(a, b []difference) bool {
	for i := range a {
		for k := range b {
			if a[i].kind == b[k].kind {
				return true
			}
		}
	}
	return false
}
