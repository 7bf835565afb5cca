package policy

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testSchema is the schema that permd ships.
func testSchema(t testing.TB) *inputSchema {
	t.Helper()
	data, err := os.ReadFile("../rego/input.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := parseSchema(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// unitOf makes a unit of files by name; a text without a package clause gets
// the one of its layer.
func unitOf(layer decisions.Layer, files map[string]string) unit {
	u := unit{layer: layer}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		if strings.HasSuffix(name, ".rego") && !strings.Contains(text, "package ") {
			text = "package permd." + string(layer) + "\nimport rego.v2\n" + text
		}
		u.files = append(u.files, source.File{Name: "/p/" + name, Rel: name, Data: []byte(text)})
	}
	return u
}

// mustCompile compiles one file of rules.
func mustCompile(t testing.TB, layer decisions.Layer, text string) *compiled {
	t.Helper()
	c, ps := compile(unitOf(layer, map[string]string{"a.rego": text}), testSchema(t))
	if ps.Failed() {
		t.Fatalf("compiling: %v", ps.Errors())
	}
	return c
}

// snapshotOf makes a snapshot of compiled layers.
func snapshotOf(layers ...*compiled) *snapshot {
	return &snapshot{layers: layers, limiter: new(limiter)}
}

// input makes the input of the first of some effects.
func input(list ...effects.Effect) *decisions.Input {
	return &decisions.Input{
		Effect: &list[0],
		All:    list,
		Call: &effects.Call{
			Protocol: "permd",
			Tool:     effects.Tool{Name: "Bash"},
			Input:    []byte(`{"command":"x","deep":{"n":12345678901234567890}}`),
			Cwd:      "/home/u/p",
			User:     effects.User{UID: 1000, Name: "u", Home: "/home/u"},
		},
		Result: &effects.Result{Effects: list, Completeness: effects.Full, Project: "/home/u/p"},
		Now:    time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
	}
}

func run(program string, args ...string) effects.Effect {
	r := &effects.Run{Program: program, Args: args, Cwd: "/home/u/p", Known: true, HarmlessFrom: len(args)}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		r.Subcommand = args[0]
	}
	for _, a := range args {
		if strings.HasPrefix(a, "--") {
			r.Flags = append(r.Flags, a)
		}
	}
	return effects.Effect{Kind: effects.KindRun, Text: "run " + program, From: "rawInput.command", Run: r}
}

func file(kind effects.Kind, path string, tags ...effects.Tag) effects.Effect {
	return effects.Effect{Kind: kind, Text: string(kind) + " " + path, From: "rawInput.path",
		Tags: effects.TagsOf(tags...), File: &effects.File{Path: path, Given: path}}
}

func connect(host string) effects.Effect {
	return effects.Effect{Kind: effects.KindConnect, Text: "connect " + host,
		Connect: &effects.Connect{Host: host, Port: 443, Scheme: "https", URL: "https://" + host + "/", Method: effects.MethodGet}}
}

func use(server, tool, args string) effects.Effect {
	return effects.Effect{Kind: effects.KindUse, Text: "use " + tool,
		Use: &effects.Use{Server: server, Tool: tool, Arguments: []byte(args)}}
}

func why(kind effects.Kind, text string) effects.Effect {
	return effects.Effect{Kind: kind, Text: text, Why: text}
}

// write puts files below dir.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func self() []uint32 { return []uint32{0, uint32(os.Getuid())} }

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}
