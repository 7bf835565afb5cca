package pattern

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestLabel: what a width covers is said in words.
func TestLabel(t *testing.T) {
	for _, tt := range []struct {
		kind        effects.Kind
		line, label string
	}{
		{effects.KindRun, "go test *", "any `go test` with harmless options"},
		{effects.KindRun, "git pull * --rebase", "any `git pull` with `--rebase` and harmless options"},
		{effects.KindRun, "mytool 'a b' *", "any `mytool 'a b'` with harmless options"},
		{effects.KindRun, "go test", ""},
		{effects.KindWrite, "./internal/cart/**", "write anything in `./internal/cart` and below"},
		{effects.KindRead, "./**", "read anything in the project and below"},
		{effects.KindRead, "/usr/include/**", "read anything in `/usr/include` and below"},
		{effects.KindDelete, "./internal/*", "delete files of `./internal` itself"},
		{effects.KindDelete, "./internal/a.go", ""},
		{effects.KindWrite, "./*.go", ""},
		{effects.KindConnect, "*.example.com:443", "connect to any host below example.com, port 443"},
		{effects.KindConnect, "example.com", ""},
		{effects.KindUse, "ide:*", ""},
	} {
		p, err := Parse(tt.kind, tt.line)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Label(); got != tt.label {
			t.Errorf("%s %s: %q, want %q", tt.kind, tt.line, got, tt.label)
		}
	}
}

// TestWidenSaysSomething: no line is offered that repeats the call and adds a *.
func TestWidenSaysSomething(t *testing.T) {
	for _, tt := range []struct {
		words []string
		known bool
		want  int
	}{
		{[]string{"staticcheck", "./..."}, false, 0}, {[]string{"python", "-m", "venv", ".venv"}, true, 0}, {[]string{"tsx", "gen.ts"}, false, 1},
		{[]string{"mytool", "status"}, false, 1},
	} {
		e := effects.Effect{Kind: effects.KindRun, Run: &effects.Run{Program: tt.words[0], Args: tt.words[1:], Known: tt.known}}
		for i := range e.Run.Args {
			e.Run.Harmful = append(e.Run.Harmful, i)
		}
		e.Run.HarmlessFrom, e.Run.OptionsFrom = len(e.Run.Args), len(e.Run.Args)
		if got := Widen(&e, []effects.Effect{e}, Context{Project: "/p"}); len(got) != tt.want {
			t.Errorf("%q: %d lines, want %d", tt.words, len(got), tt.want)
		}
	}
	file := effects.Effect{Kind: effects.KindWrite, File: &effects.File{Path: "/p/a/x.go", Recursive: true}, Shell: true}
	for _, w := range Widen(&file, []effects.Effect{file}, Context{Project: "/p"}) {
		if line := w.Pattern.String(); line == "./a/x.go/**" {
			t.Errorf("offered: %s", line)
		}
	}
}
