package list

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/pattern"
)

// FuzzParse: a list that is accepted compiles, with a rule for each entry at its place,
// and says the same when it is written anew from what was read. One that is refused says
// where, and has no entries.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		sampleList, "", "allow:\n  run: [ls, 'git log *']\n", "deny:\n  run:\n    - \"*\"\n", "allow: {run: [&a ls, *a]}", "allow: {run: [!!str ls]}", "ask: {connect: ['[::1]:80', '*.example.com']}",
		"deny: {read: [\"~/**/.env\", \"./a b\"]}\nallow: ~\n", "allow:\n  run:\n    - ls\nallow:\n  run:\n    - rm\n", "---\nallow: {}\n---\nallow: {}\n", "deny: {use: ['github:*', 'a:b*']}", "\ufeffallow: {}", "allow: {run: ['a \\', 'b']}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := Parse("rules.yaml", data)
		if err != nil {
			if entries != nil {
				t.Fatal("entries of a list that is refused")
			}
			if e, ok := errors.AsType[*Error](err); !ok || e.Line < 0 || e.Line > strings.Count(string(data), "\n")+1 {
				t.Fatalf("the error %v", err)
			}
			return
		}
		lists := map[decisions.Set]map[string][]string{}
		for _, e := range entries {
			if e.Line < 1 || e.Line > strings.Count(string(data), "\n")+1 || e.Pattern == nil {
				t.Fatalf("entry %+v", e)
			}
			if lists[e.Set] == nil {
				lists[e.Set] = map[string][]string{}
			}
			lists[e.Set][string(e.Kind)] = append(lists[e.Set][string(e.Kind)], e.Pattern.String())
		}
		// JSON is YAML, and nothing in it needs a second look.
		text, err := json.Marshal(lists, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("rules.yaml", text)
		if err != nil || len(again) != len(entries) {
			t.Fatalf("written anew, %d entries are %d: %v\n%s", len(entries), len(again), err, text)
		}
		count := map[string]int{}
		of := func(e *Entry) string { return string(e.Set) + " " + string(e.Kind) + " " + e.Pattern.String() }
		for i := range entries {
			count[of(&entries[i])]++
			count[of(&again[i])]--
		}
		for entry, n := range count {
			if n != 0 {
				t.Fatalf("written anew, %q is there %d times less", entry, n)
			}
		}
		if len(data) > 4096 {
			return // compiling takes its time
		}
		for _, restrict := range []bool{false, true} {
			m, err := Compile("project", "rules.yaml", data, restrict, nil)
			if err != nil {
				t.Fatalf("it does not compile: %v", err)
			}
			for _, r := range m.Rules {
				if set := string(r.Head.Name); restrict && set == string(decisions.SetAllow) {
					t.Fatalf("a project allows: %s", r)
				}
				if strings.ContainsAny(r.Location.File, "\n") || r.Location.Row < 1 {
					t.Fatalf("a rule at %s", r.Location)
				}
			}
		}
	})
}

// FuzzNamed: the kinds of a list are those of patterns, so that no line is read as one of
// another kind.
func FuzzNamed(f *testing.F) {
	f.Add("git log *", "allow")
	f.Add("./x", "deny")
	f.Fuzz(func(t *testing.T, line, set string) {
		for _, kind := range pattern.Kinds {
			text, err := json.Marshal(map[string]any{set: map[string][]string{string(kind): {line}}})
			if err != nil {
				return
			}
			entries, err := Parse("rules.yaml", text)
			p, perr := pattern.Parse(kind, line)
			if err != nil {
				continue
			}
			if perr != nil || len(entries) != 1 || string(entries[0].Set) != set || entries[0].Pattern.String() != p.String() || entries[0].Kind != kind {
				t.Fatalf("%s %s %q became %+v, %v", set, kind, line, entries, perr)
			}
		}
	})
}
