package rules

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/policy/evaltime"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/input/inputtest"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/rego"
)

// parallelTests is how many parallel tests run at a time. They wait for quiet periods and
// events, so they do not need a processor each.
const parallelTests = 16

func TestMain(m *testing.M) {
	testload.Parallel(parallelTests)
	testload.Rapid()
	goleak.VerifyTestMain(m)
}

var shippedSchema = sync.OnceValues(func() (*input.Schema, error) { return input.ParseSchema(rego.InputSchema()) })

// testSchema is the schema that permd ships.
func testSchema(t testing.TB) *input.Schema {
	t.Helper()
	s, err := shippedSchema()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// unitOf makes a unit of files by name; a text without a package clause gets
// the one of its layer.
func unitOf(layer decisions.Layer, files map[string]string) Unit {
	u := Unit{Layer: layer}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		if strings.HasSuffix(name, ".rego") && !strings.Contains(text, "package ") {
			text = "package permd." + string(layer) + "\nimport rego.v2\n" + text
		}
		u.Files = append(u.Files, source.File{Name: "/p/" + name, Rel: name, Data: []byte(text)})
	}
	return u
}

// mustCompile compiles one file of rules.
func mustCompile(t testing.TB, layer decisions.Layer, text string) *Layer {
	t.Helper()
	c, ps := Compile(unitOf(layer, map[string]string{"a.rego": text}), testSchema(t))
	if ps.Failed() {
		t.Fatalf("compiling: %v", ps.Errors())
	}
	return c
}

// snapshotOf makes a snapshot of compiled layers.
func snapshotOf(layers ...*Layer) *Snapshot {
	return NewSnapshot(Basis{Layers: layers, Limiter: new(evaltime.Limiter)})
}

// The inputs and effects of tests.
var (
	inputOf = inputtest.Of
	run     = inputtest.Run
	file    = inputtest.File
	connect = inputtest.Connect
	use     = inputtest.Use
	why     = inputtest.Why
)

func kindsForTest() []string {
	var out []string
	for _, k := range effects.Kinds {
		out = append(out, string(k))
	}
	return out
}
