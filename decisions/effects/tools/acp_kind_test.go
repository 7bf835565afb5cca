package tools

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/testload"
)

// TestACPKinds has calls with input that name no tool, and what their kind makes of them.
func TestACPKinds(t *testing.T) {
	in := func(s string) strictjson.Value { return strictjson.Value(s) }
	runToolCases(t, []toolCase{
		{name: "stranger's search", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "search", in(`{"query":"x","index":"wiki"}`)
		}), want: []string{"?use :kind/search @kind"}},
		{name: "stranger's tool that calls another", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "think", in(`{"tool":"merge","arguments":{}}`)
		}), want: []string{"use ?:merge @rawInput.tool", "unknown - @rawInput"}, missing: true},
		{name: "stranger's folder", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "search", in(`{"query":"x","index":"docs"}`)
		}), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "stranger's diff that was taken back", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input, c.Claims.Retracted = "search", in(`{"query":"x"}`), true
		}), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "stranger's tool with a diff", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "other", in(`{"x":1}`)
			c.Claims.Diffs = []effects.Diff{{Path: "a.go", From: "content[0]"}}
		}), want: []string{"unknown - @rawInput"}, missing: true, defects: []string{"contradiction @content[0]"}},
		{name: "stranger's tool of another kind", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "read", in(`{"id":1}`)
		}), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "tool without a name of an agent with a profile", call: acp("codex-acp", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "other", in(`{"id":1}`)
		}), want: []string{"unknown - @rawInput"}, missing: true, defects: []string{"contradiction @rawInput.id"}},
	})
}

// TestKindNamesNothing: a call without a name is the use of a tool of its kind if and only if a
// second reading of its input, as Go values, finds nothing but words in members for words.
func TestKindNamesNothing(t *testing.T) {
	w := toolWorld(t)
	word := regexp.MustCompile(`^[\pL\p{Nd}][\pL\p{Nd}\pM_'-]*[.,]?$`)
	beside := regexp.MustCompile(`(?i)(^|[^\pL\p{Nd}\pM])(src|docs|out)([^\pL\p{Nd}\pM]|$)`)
	members := strings.Fields("q query term keywords topic thought index title")
	statement := regexp.MustCompile(`(?i)^(drop|select|delete|vacuum)[.,]?$`)
	var plain func(member string, v any) bool
	plain = func(member string, v any) bool {
		switch v := v.(type) {
		case string:
			fields := strings.Fields(v)
			for _, f := range fields {
				if !word.MatchString(f) {
					return false
				}
			}
			return slices.Contains(members, member) && !beside.MatchString(v) && (len(fields) == 0 || !statement.MatchString(fields[0]))
		case []any:
			return !slices.ContainsFunc(v, func(item any) bool { return !plain(member, item) })
		case map[string]any:
			for name, inner := range v {
				if w.Profiles.roleOf(name) != roleNone || beside.MatchString(name) || !plain(name, inner) {
					return false
				}
			}
		}
		return true
	}
	random := rand.New(rand.NewPCG(2, testSeed(t)))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	names := append([]string{
		"limit", "Query", "path", "file", "f", "glob", "include", "command", "cmd", "script", "sql", "url", "host", "uri", "tool", "name", "server",
		"src", "docs", "out", "code", "target", "id",
	}, members...)
	parts := []string{
		"totals", "of", "the", "year", "don't", "über", "日本", "x_y", "re-use", "10", "words,", "end.", "sources", "outer",
		"/home/ana/shop/.env", ".env", "private/k", "./k", "*", "private?", "[k]", "{a", "~", `c:\k`, "a:b", "evil.example", "https://evil.example", "-rf", "a;b",
		"$HOME", "`x`", "a|b", "x>y", "SRC", "docs", "out,", "DROP", "select", "a\tb", "a．b", "a∕b", "a\u200bb", "..", "k.",
	}
	var value func(depth int) any
	value = func(depth int) any {
		switch n := random.IntN(9); {
		case n == 0 && depth < 3:
			return []any{value(depth + 1), value(depth + 1)}
		case n == 1 && depth < 3:
			return map[string]any{pick(names...): value(depth + 1)}
		case n == 2:
			return []any{7, true, nil, 1.5}[random.IntN(4)]
		}
		text := make([]string, random.IntN(4))
		for i := range text {
			if text[i] = pick(parts[:14]...); random.IntN(8) == 0 {
				text[i] = pick(parts...)
			}
		}
		return strings.Join(text, " ")
	}
	found := map[bool]int{}
	for range testload.Rounds(t, "PERMD_TEST_KIND_ROUNDS", 3000, 30000) {
		input := map[string]any{}
		for range 1 + random.IntN(3) {
			name := pick(members...)
			if random.IntN(6) == 0 {
				name = pick(names...)
			}
			input[name] = value(0)
		}
		sent, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		call := acp("nobody", func(c *effects.Call) { c.Claims.Kind, c.Input = pick("search", "think", "other"), sent })
		got := slices.ContainsFunc(lines(w.Effects(call)), func(l string) bool { return strings.HasPrefix(l, "?use :kind/") })
		if want := plain("", input); got != want {
			t.Fatalf("%s: the use of a tool of its kind: %v, want %v: %q", sent, got, want, lines(w.Effects(call)))
		}
		found[got]++
	}
	if found[true] < 100 || found[false] < 100 {
		t.Errorf("too few of one sort: %v", found)
	}
}

// TestKindMembersDocumented: policy.md lists the members that may hold text.
func TestKindMembersDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(doc), "Text may be in ")
	list, _, _ = strings.Cut(list, ", and consists of words")
	var got []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(list, -1) {
		got = append(got, m[1])
	}
	if want := slices.Sorted(asksOnly.All()); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
}
