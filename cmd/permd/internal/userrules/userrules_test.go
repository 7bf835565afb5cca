package userrules

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

func TestCheck(t *testing.T) {
	good := func(names ...string) (p pushParams) {
		for _, name := range names {
			p.Files = append(p.Files, file{Name: name})
		}
		return p
	}
	var most, many []string
	for i := range maxFiles + 1 {
		if many = append(many, fmt.Sprintf("f%d.rego", i)); i < maxFiles {
			most = append(most, many[i])
		}
	}
	for name, tt := range map[string]struct {
		p    pushParams
		says string // "" for what is taken
	}{
		"none":               {},
		"nested":             {p: good("a.rego", "programs/x.yaml", "a/b/c/d.rego")},
		"as many as may be":  {p: good(most...)},
		"too many":           {good(many...), "more than 256 files"},
		"as long as may be":  {p: pushParams{Files: []file{{"a.rego", strings.Repeat("#", maxBytes)}}}},
		"too long":           {pushParams{Files: []file{{"a.rego", strings.Repeat("#", maxBytes)}, {"b.rego", "#"}}}, "1024 KiB"},
		"twice":              {good("a.rego", "a.rego"), "one name"},
		"a file as a folder": {good("a.rego", "a.rego/b.rego"), "place of a folder"},
		"too deep":           {good("a/b/c/d/e.rego"), "at most 4 parts"},
		"a long name":        {good(strings.Repeat("a", maxName+1)), "at most 4 parts"},
		"up":                 {good("../a.rego"), "a name"}, "up below": {good("a/../b.rego"), "a name"}, "here": {good("./a.rego"), "a name"},
		"absolute": {good("/a.rego"), "a name"}, "nothing": {good(""), "a name"}, "a folder": {good("a/"), "a name"}, "hidden": {good(".a.rego"), "a name"},
		"NUL": {good("a\x00.rego"), "a name"}, "a line": {good("a\n.rego"), "a name"}, "an option": {good("-a.rego"), "a name"}, "a space": {good("a b.rego"), "a name"},
		"a backslash": {good(`a\b.rego`), "a name"},
	} {
		err := tt.p.check()
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
}

// TestPushChecks: what permd policy check finds in descriptions of programs and agents, a push
// finds, too, and changes nothing.
func TestPushChecks(t *testing.T) {
	s := newStore(t)
	peer := decisions.Peer{UID: 7}
	rules := file{Name: "rules.yaml", Text: "deny:\n  run: [\"frob *\"]\n"}
	if got, err := s.push(t.Context(), peer, []file{rules}); err != nil || !got.Stored || got.Rules != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, bad := range []file{
		{"programs/x.yaml", "allow:\n  run: [\"a *\"]\n"}, {"programs/x.yaml", "[[["}, {"profiles.yaml", "allow: 1\n"}, {"profiles.yaml", "zzz"}, {"a.rego", "package permd.user\n\nx"},
		{"a_test.yaml", "deny:\n  - git status\n"},
	} {
		got, err := s.push(t.Context(), peer, []file{rules, bad})
		if err != nil || got.Stored || len(got.Problems) == 0 {
			t.Errorf("%s: %q: %+v, %v", bad.Name, bad.Text, got, err)
		}
		if all, err := s.pull(7); err != nil || len(all.Files) != 1 || all.Files[0] != rules {
			t.Fatalf("after %s: %q there is %+v, %v", bad.Name, bad.Text, all, err)
		}
	}
}

// TestPushesOfOne: a person has one push at a time, and no more than that of all that are checked.
func TestPushesOfOne(t *testing.T) {
	s := newStore(t)
	end, err := s.begin(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.push(t.Context(), decisions.Peer{UID: 7}, nil); !errors.Is(err, errBusy) {
		t.Errorf("a second push of the person: %v", err)
	}
	if got, err := s.push(t.Context(), decisions.Peer{UID: 8}, nil); err != nil || !got.Stored {
		t.Errorf("a push of another person: %+v, %v", got, err)
	}
	second, err := s.begin(t.Context(), 8)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.begin(ctx, 9); !errors.Is(err, context.Canceled) {
		t.Errorf("a third one: %v", err)
	}
	end()
	second()
	if got, err := s.push(t.Context(), decisions.Peer{UID: 9}, nil); err != nil || !got.Stored {
		t.Errorf("afterwards: %+v, %v", got, err)
	}
}

func newStore(t *testing.T) *Store {
	dir := t.TempDir()
	return &Store{
		Dir:    func(uid uint32) string { return filepath.Join(dir, fmt.Sprint(uid), "policy.d") },
		Load:   func(context.Context, uint32) error { return nil },
		Record: func(context.Context, decisions.Peer, string) error { return nil },
	}
}
