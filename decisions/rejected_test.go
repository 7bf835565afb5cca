package decisions

import (
	"slices"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

func TestRejectedOfWhole(t *testing.T) {
	t.Parallel()
	run := func(readonly bool) effects.Effect {
		return effects.Effect{Kind: effects.KindRun, Run: &effects.Run{Program: "x", Readonly: readonly}}
	}
	script := run(false)
	script.Run.Script = &effects.Script{Path: "/p/t.py"}
	file := func(kind effects.Kind, path string, recursive bool, of int) effects.Effect {
		return effects.Effect{Kind: kind, File: &effects.File{Path: path, Recursive: recursive}, Via: &effects.Via{Effect: of}}
	}
	own := file(effects.KindRead, "/p/settings", false, 0)
	own.Via.Arg = effects.Inherent
	hint := effects.Effect{Kind: effects.KindRead, File: &effects.File{Path: "/p/hint"}, Hint: true}
	host := effects.Effect{Kind: effects.KindConnect, Connect: &effects.Connect{Host: "x.dev"}, Via: &effects.Via{Effect: 0}}
	use := effects.Effect{Kind: effects.KindUse, Use: &effects.Use{Server: "s", Tool: "t"}}
	for _, tt := range []struct {
		name string
		all  []effects.Effect
		want []int
	}{
		{"cat a", []effects.Effect{run(true), file(effects.KindRead, "/p/a", false, 0)}, []int{1}},
		{"echo a >b", []effects.Effect{run(true), {Kind: effects.KindWrite, File: &effects.File{Path: "/p/b"}}}, []int{1}},
		{"make && echo done", []effects.Effect{run(false), run(true)}, []int{0}},
		{"pwd; date", []effects.Effect{run(true), run(true)}, []int{0, 1}},
		{"grep -r x .", []effects.Effect{run(true), file(effects.KindRead, "/p", true, 0)}, []int{0}},
		{"grep -r x . >b", []effects.Effect{run(true), file(effects.KindRead, "/p", true, 0), {Kind: effects.KindWrite, File: &effects.File{Path: "/p/b"}}}, []int{0, 2}},
		{"grep -r x a .", []effects.Effect{run(true), file(effects.KindRead, "/p/a", false, 0), file(effects.KindRead, "/p", true, 0)}, []int{1}},
		{"rm -r d", []effects.Effect{run(false), file(effects.KindDelete, "/p/d", true, 0)}, []int{0, 1}},
		{"git checkout .", []effects.Effect{run(false), file(effects.KindWrite, "/p", true, 0)}, []int{0}},
		{"rm -rf /", []effects.Effect{run(false), file(effects.KindDelete, "/", true, 0)}, []int{0}},
		{"python t.py", []effects.Effect{script, file(effects.KindRead, "/p/t.py", false, 0)}, []int{0}},
		{"cp a b", []effects.Effect{run(false), file(effects.KindRead, "/p/a", false, 0), file(effects.KindWrite, "/p/b", false, 0), own, hint}, []int{0, 1, 2}},
		{"curl x.dev", []effects.Effect{run(true), host}, []int{1}},
		{"a tool", []effects.Effect{use, own, hint}, []int{0}},
		{"a search by a tool", []effects.Effect{{Kind: effects.KindRead, File: &effects.File{Path: "/p", Recursive: true}}}, nil},
		{"nothing", nil, nil},
	} {
		if got := rejected(&MemoryQuery{All: tt.all, Project: "/p"}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: rejected %v, want %v", tt.name, got, tt.want)
		}
	}
}
