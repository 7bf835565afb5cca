package shell

import (
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/plainshell"
)

func BenchmarkShell(b *testing.B) {
	table, files := effectstest.Table(b), effectstest.Files()
	for _, bench := range []struct{ name, text string }{
		{"status", "git status"},
		{"pipeline", "cd src && grep -rn TODO . | head -20"},
		{"commit", `git add -A && git commit -m "fix the parser" && git push origin main`},
		{"redirect", "go test ./... 2>&1 | tee /tmp/out.txt"},
		{"find", `find . -name '*.go' -exec grep -l Foo {} +`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				builder := shellBuilder(table, files)
				Text(builder, bench.text, effectstest.Cwd, "command")
			}
		})
	}
}

// BenchmarkShellParse is the parser's share of BenchmarkShell/pipeline.
func BenchmarkShellParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := reader.read("cd src && grep -rn TODO . | head -20", plainshell.All); err != nil {
			b.Fatal(err)
		}
	}
}
