package pattern_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// drawLine draws a line of few words, so that two of them are often alike.
func drawLine(t *rapid.T, kind effects.Kind) string {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	switch kind {
	case effects.KindRun:
		words := []string{pick("program", "a", "b", "./a", "/home/dev/p/a")}
		words = append(words, rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "a*", "-f", "-*"}), 0, 2).Draw(t, "words")...)
		return strings.Join(words, " ") + pick("rest", "", " *", " *", " * -f", " * --x")
	case effects.KindConnect:
		return pick("scheme", "", "", "https://", "ssh://") + pick("name", "a.b", "*.a.b", "*.b", "x.a.b", "b") + pick("port", "", "", ":443", ":22")
	case effects.KindUse:
		return pick("server", "", "s:", "t:", "*:", "s*:") + pick("tool", "a", "ab", "a*", "*", "a@1", "a@*", "*@1", "kind/*", "kind/a", "k*")
	default:
		return pick("base", "./", "/", "~/", "/home/dev/p/") + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*", "a*"}), 0, 2).Draw(t, "parts"), "/") +
			pick("end", "", "/**", "/**", "/**/a", "/*")
	}
}

// drawCall draws an effect that the lines of drawLine may match.
func drawCall(t *rapid.T, kind effects.Kind) effects.Effect {
	e := effects.Effect{Kind: kind, Claimed: rapid.Bool().Draw(t, "claimed")}
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	switch kind {
	case effects.KindRun:
		r := run(pick("is", "a", "b", "/home/dev/p/a"), rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "-f", "--x", ".."}), 0, 4).Draw(t, "args")...)
		r.Known = rapid.Bool().Draw(t, "known")
		r.HarmlessFrom = rapid.IntRange(0, len(r.Args)).Draw(t, "harmless")
		for i := range r.Args {
			if i == r.HarmlessFrom-1 || i < r.HarmlessFrom && rapid.Bool().Draw(t, "harmful") {
				r.Harmful = append(r.Harmful, i)
			}
		}
		r.OptionsFrom = rapid.IntRange(0, len(r.Args)).Draw(t, "options")
		e.Run = &r
	case effects.KindConnect:
		e.Connect = &effects.Connect{
			Scheme: pick("calls", "", "https", "http", "ssh"), Host: pick("host", "a.b", "x.a.b", "y.x.a.b", "b", "c.b"),
			Port: rapid.SampledFrom([]int{0, 22, 80, 443}).Draw(t, "at"),
		}
	case effects.KindUse:
		e.Use = &effects.Use{Server: pick("of", "", "s", "t", "st"), Tool: pick("name", "a", "ab", "b", "a@1", "kind/a", "kind/b"), Version: pick("version", "", "1", "1.0", "2")}
	default:
		e.File = &effects.File{Path: pick("in", "", "/home/dev", "/home/dev/p") + "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "c"}), 0, 4).Draw(t, "names"), "/"), Recursive: rapid.Bool().Draw(t, "recursive")}
		e.File.Path = "/" + strings.Trim(e.File.Path, "/")
	}
	return e
}

// TestCovers compares what two lines match of generated calls: one that covers another
// misses none of its calls, as an allow and as a deny.
func TestCovers(t *testing.T) {
	for _, kind := range []effects.Kind{effects.KindRun, effects.KindConnect, effects.KindUse, effects.KindRead, effects.KindDelete} {
		t.Run(string(kind), func(t *testing.T) { testCovers(t, kind) })
	}
}

func testCovers(t *testing.T, kind effects.Kind) {
	covered, matched := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var lines []*pattern.Pattern
		for range 5 {
			if p, err := pattern.Parse(kind, drawLine(t, kind)); err == nil {
				lines = append(lines, p)
			}
		}
		for range 20 {
			e := drawCall(t, kind)
			all := []effects.Effect{e}
			for _, w := range lines {
				for _, n := range lines {
					allow, deny := w.Covers(n, true), w.Covers(n, false)
					if w == n || !allow && !deny {
						continue
					}
					covered++
					if starts := w.Starts(); !slices.Contains(n.Starts(), starts[len(starts)-1]) {
						t.Fatalf("%q covers %q, but begins with %q, not with any of %q", w, n, starts, n.Starts())
					}
					if deny && n.Touches(&e, ctx) && !w.Touches(&e, ctx) {
						t.Fatalf("the deny %q is said to cover the deny %q, and misses %+v", w, n, e)
					}
					if !n.Match(&e, all, ctx) {
						continue
					}
					matched++
					if allow && !w.Match(&e, all, ctx) {
						t.Fatalf("the allow %q is said to cover %q, and misses %+v", w, n, e)
					}
					if deny && !w.Touches(&e, ctx) {
						t.Fatalf("the deny %q is said to cover %q, and misses %+v", w, n, e)
					}
				}
			}
		}
	})
	if matched == 0 && !testing.Short() {
		t.Errorf("nothing was tested: %d lines cover another one", covered)
	}
}
