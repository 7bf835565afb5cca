package shell

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/testload"
)

// TestWithinEachOtherIsLinear: programs within each other take time and memory in proportion to
// their number, up to what permd follows of a call and of its rest.
func TestWithinEachOtherIsLinear(t *testing.T) {
	const most = 80 << 10
	table := effectstest.Table(t)
	words := func(text string) (runs, args int) {
		c := &effects.Call{Cwd: "/p", User: effects.User{Name: "ana", Home: "/home/ana"}}
		env := paths.Environment{FS: paths.OSFS{}}
		b := NewBuilder(env, table, c, paths.NewResolver(env, c))
		Text(b, text, "/p", "command")
		rest := ReadRest(b, nil)
		for _, e := range append(b.Effects, rest...) {
			if e.Run != nil {
				runs++
				args += len(e.Run.Args)
			}
		}
		if n := len(b.Effects); n == 0 {
			t.Errorf("%.40s: no effects", text)
		}
		return runs, args
	}
	for _, w := range testload.WithShort(t, 3, []string{"npx ", "ssh h ", "script -c ", "uv run ", "flock a ", "sudo ", "xargs ", "watch ", "docker exec x ", "env ", "nice ", "ssh -o a=b h "}) {
		_, few := words(strings.Repeat(w, 500) + "ls")
		n, many := words(strings.Repeat(w, 1000) + "ls")
		if many > max(3*few, most) || n > 700 {
			t.Errorf("%q: %d words, and twice as many are %d, of %d runs", w, few, many, n)
		}
	}
}
