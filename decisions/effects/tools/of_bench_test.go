package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/paths"
)

// checkoutOnDisk makes the folders of a checkout.
func checkoutOnDisk(b *testing.B) string {
	b.Helper()
	root, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	cwd := filepath.Join(root, "shop")
	for _, dir := range []string{".git", "src", "docs"} {
		if err := os.MkdirAll(filepath.Join(cwd, dir), 0o700); err != nil {
			b.Fatal(err)
		}
	}
	return cwd
}

// BenchmarkTypical measures the time from a typical call to its effects, on the
// real file system and on one in memory: the difference is the kernel's part. The
// budget is 15 µs.
func BenchmarkTypical(b *testing.B) {
	cwd := checkoutOnDisk(b)
	for _, name := range []string{"src/vat.ts", "docs/readme"} {
		if err := os.WriteFile(filepath.Join(cwd, name), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	inMemory := toolWorld(b)
	inMemory.Table = effectstest.Table(b)
	onDisk := *inMemory
	onDisk.FS = paths.NewIndex(paths.OSFS{}, func() time.Time { return time.Now().Add(time.Hour) }) // as the daemon has it
	for _, bb := range []struct{ name, tool, input string }{
		{"status", "Bash", `{"command":"git status","description":"Show the state of the working tree"}`},
		{"cat", "Bash", `{"command":"cat src/vat.ts docs/readme","description":"Show two files","timeout":120000}`},
		{"pipeline", "Bash", `{"command":"cd src && grep -rn TODO . | head -20","description":"Find what is left to do"}`},
		{"jq", "Bash", `{"command":"jq . src/vat.ts | jq -r .a","description":"Show it"}`},
		{"read", "Read", `{"file_path":"CWD/src/vat.ts","offset":1,"limit":200}`},
	} {
		for _, on := range []struct {
			name, cwd string
			w         *World
		}{{"disk", cwd, &onDisk}, {"memory", effectstest.Cwd, inMemory}} {
			b.Run(bb.name+"/"+on.name, func(b *testing.B) {
				c := agentCall("claude-code", bb.tool, strings.ReplaceAll(bb.input, "CWD", on.cwd))
				c.Cwd = on.cwd
				b.ReportAllocs()
				for b.Loop() {
					if r := on.w.Effects(c); r.Completeness != effects.Full || len(r.Defects) > 0 {
						b.Fatalf("not understood: %s %v", r.Missing, r.Defects)
					}
				}
			})
		}
	}
}
