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
