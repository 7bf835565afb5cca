package rules

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/policy/policytest"
)

// liveHeap is how much of the heap is in use, in bytes.
func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// repeated returns n texts, in which # is the number.
func repeated(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// TestWeight compares estimates with what compiled rules take. A greater one is safe, but a
// far greater one would refuse rules without need. It does not run with others: they use the
// heap, too.
func TestWeight(t *testing.T) {
	module := "package permd.user\n\n"
	part := 1 // of the rules
	if testing.Short() {
		part = 6
	}
	files := map[string][2]string{
		"rules":          {"a.rego", policytest.Rules(0, 2000/part)},
		"a large set":    {"a.rego", module + "x := {" + repeated(20000, "\"name#\", ") + "\"y\"}\nallow contains \"a\" if input.effect.program in x\n"},
		"an array":       {"a.rego", module + "x := [" + repeated(30000/part, "#, ") + "1]\nallow contains \"a\" if input.effect.port in x\n"},
		"patterns":       {"a.rego", module + repeated(2000/part, "deny contains \"r\" if { input.effect.kind == \"write\"; regex.match(`^/srv/#/.*$`, input.effect.path) }\n")},
		"functions":      {"a.rego", module + repeated(1000/part, "f#(x, y) := z if { z := concat(\"/\", [x, y]); z != \"q\" }\nallow contains \"r\" if f#(input.effect.path, \"a\") == \"b\"\n")},
		"comprehensions": {"a.rego", module + repeated(1000/part, "allow contains \"r\" if { every x in input.effect.tags { x != \"a#\"; some y in [1, 2, 3]; count([z | some z in [x, y]]) > 1 } }\n")},
		"comments":       {"a.rego", module + strings.Repeat("#\n", 200_000/part) + "deny contains \"x\" if input.effect.kind == \"run\"\n"},
		"runs":           {"rules.yaml", "deny:\n  run:\n" + repeated(2000/part, "  - \"prog# *\"\n")},
		"allowed runs":   {"rules.yaml", "allow:\n  run:\n" + repeated(500/part, "  - \"frob a# --b *\"\n")},
		"paths":          {"rules.yaml", "deny:\n  write:\n" + repeated(300/part, "  - \"/srv/#/**/x\"\n")},
		"hosts":          {"rules.yaml", "allow:\n  connect:\n" + repeated(2000/part, "  - \"h#.example.com\"\n")},
	}
	for _, name := range testload.WithShort(t, 1, testload.Sample(t, 3, slices.Sorted(maps.Keys(files)))) {
		file := files[name]
		u := unitOf(decisions.User, map[string]string{file[0]: file[1]})
		schema := testSchema(t)
		before := liveHeap()
		c, ps := Compile(u, schema)
		if ps.Failed() {
			t.Fatalf("%s: %v", name, ps.Errors())
		}
		took := liveHeap() - before
		runtime.KeepAlive(c)
		if c.Weight < took || c.Weight > 4*took+(4<<20) {
			t.Errorf("%s: %d KiB by estimate, %d KiB in fact", name, c.Weight>>10, took>>10)
		}
	}
}
