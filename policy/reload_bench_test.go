package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/policytest"
)

// BenchmarkReload measures a reload of 1,000 org rules of which one has changed,
// without and with tests, and without the waiting for the first event and for the
// quiet period. The budget is 300 ms.
func BenchmarkReload(b *testing.B) {
	for _, tests := range []int{0, 100} {
		b.Run(fmt.Sprintf("tests=%d", tests), func(b *testing.B) {
			w := newWorld(b)
			text := policytest.ManyRules(decisions.Org, 1000)
			policytest.Write(b, w.org, map[string]string{"a.rego": text, "a_test.rego": manyTests(tests)})
			s := w.open(b)
			n := 0
			var took []time.Duration
			for b.Loop() {
				b.StopTimer()
				n++
				policytest.Write(b, w.org, map[string]string{"a.rego": text + fmt.Sprintf("\nask contains \"n%d\" if input.effect.program == \"x\"\n", n)})
				past := time.Now().Add(-time.Hour)
				if err := os.Chtimes(filepath.Join(w.org, "a.rego"), past, past); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				start := time.Now()
				if changed, err := s.Reload(b.Context()); err != nil || !changed {
					b.Fatal(changed, err)
				}
				took = append(took, time.Since(start))
			}
			policytest.Report(b, took)
		})
	}
}

// manyTests are tests of manyRules.
func manyTests(n int) string {
	var b strings.Builder
	b.WriteString("package permd.org\nimport rego.v2\n")
	for i := range n {
		fmt.Fprintf(&b, "test_%d if count(deny) == 0 with input as {\"effect\": {\"kind\": \"run\", \"program\": \"none%d\"}}\n", i, i)
	}
	return b.String()
}
