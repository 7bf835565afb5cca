package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// BenchmarkToolLines measures the evaluation of the use of a tool beside many deny lines
// that name other tools, none of which it is.
func BenchmarkToolLines(b *testing.B) {
	for _, n := range []int{10, 1000, 3000} {
		var lines strings.Builder
		lines.WriteString("deny:\n  use:\n")
		for i := range n {
			fmt.Fprintf(&lines, "    - Server%d:DeleteAll%d\n", i%100, i)
		}
		l, ps := Compile(unitOf(decisions.User, map[string]string{"rules.yaml": lines.String()}), testSchema(b))
		if ps.Failed() {
			b.Fatal(ps.Errors())
		}
		s := snapshotOf(l)
		for _, bb := range []struct {
			name string
			use  effects.Effect
		}{
			{"server", use("github", "merge", `{}`)},
			{"no-server", use("", "do_it", `{}`)},
			{"any-server", use(effects.UnknownServer, "merge", `{}`)},
		} {
			in := inputOf(bb.use)
			b.Run(fmt.Sprintf("%s/lines=%d", bb.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Evaluate(b.Context(), in); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
