package pattern_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// A line touches all that it covers, and its printed form has the same meaning.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(pattern.Kinds).Draw(t, "kind")
		line := rapid.StringMatching(`[a-c./*~:'"\\ =-]{1,12}|\./[ab*/]{1,8}|[ab] [ab*'./-]{1,6}( \*)?|[ab*]{1,3}:[ab*]{1,3}`).Draw(t, "line")
		p, err := pattern.Parse(kind, line)
		if err != nil {
			return
		}
		again, err := pattern.Parse(kind, p.String())
		if err != nil {
			t.Fatalf("%q prints as %q, which is refused: %v", line, p, err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatalf("%q prints as %q, which means something else:\n%s", line, p, diff)
		}
		e := effects.Effect{Kind: kind}
		word := rapid.StringMatching(`[ab./-]{0,4}`)
		switch {
		case p.Run != nil:
			r := run(p.Run.Program, rapid.SliceOfN(word, 0, 3).Draw(t, "args")...)
			r.HarmlessFrom = rapid.IntRange(0, 3).Draw(t, "harmless")
			e.Run = &r
		case p.Path != nil:
			e.File = &effects.File{
				Path:      rapid.SampledFrom([]string{"/", "/home/dev", "/home/dev/p"}).Draw(t, "base"),
				Recursive: rapid.Bool().Draw(t, "recursive"),
			}
			for _, part := range rapid.SliceOfN(rapid.StringMatching(`[ab]{1,2}`), 0, 3).Draw(t, "parts") {
				e.File.Path = strings.TrimSuffix(e.File.Path, "/") + "/" + part
			}
		case p.Host != nil:
			e.Connect = &effects.Connect{Host: word.Draw(t, "host")}
		case p.Tool != nil:
			e.Use = &effects.Use{Server: word.Draw(t, "server"), Tool: word.Draw(t, "tool")}
		}
		all := []effects.Effect{e}
		if p.Match(&e, all, ctx) && !p.Touches(&e, ctx) {
			t.Fatalf("%s covers what it does not touch: %+v", p, e)
		}
		if p.Exact(&e, all, ctx) && !p.Match(&e, all, ctx) {
			t.Fatalf("%s names exactly what it does not cover: %+v", p, e)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{"go test *", `a "b" 'c' \d`, "./docs/**", `/a\[b`, "*.example.com:80", "[::1]:1", "a:b*", "{a,b}", "\u202e"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, kind := range pattern.Kinds {
			p, err := pattern.Parse(kind, line)
			if err != nil {
				continue
			}
			again, err := pattern.Parse(kind, p.String())
			if err != nil {
				t.Fatalf("%s %q prints as %q, which is refused: %v", kind, line, p, err)
			}
			if diff := cmp.Diff(p, again); diff != "" {
				t.Fatalf("%s %q prints as %q, which means something else:\n%s", kind, line, p, diff)
			}
		}
	})
}
