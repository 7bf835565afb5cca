package policytest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
)

// ManyRules writes n rules of the mix that real policies have: half of them on
// programs, the rest on paths, hosts and tools.
func ManyRules(layer decisions.Layer, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package permd.%s\n\nimport rego.v2\n", layer)
	for i := range n {
		set := []string{"allow", "ask", "deny"}[i%3]
		fmt.Fprintf(&b, "\n# METADATA\n# title: Rule %d\n%s contains \"reason %d\" if {\n", i, set, i)
		switch i % 10 {
		case 0, 1, 2, 4, 5:
			fmt.Fprintf(&b, "\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"prog%d\"\n\t\"--flag%d\" in input.effect.flags\n", i, i)
		case 3, 6:
			fmt.Fprintf(&b, "\tinput.effect.kind in {\"write\", \"delete\"}\n\tstartswith(input.effect.path, \"/srv/%d/\")\n\tglob.match(\"/srv/%d/**/x\", [\"/\"], input.effect.path)\n", i, i)
		case 7:
			fmt.Fprintf(&b, "\tinput.effect.kind == \"connect\"\n\tendswith(input.effect.host, \".h%d.example.com\")\n", i)
		default:
			fmt.Fprintf(&b, "\tinput.effect.kind == \"use\"\n\tinput.effect.server == \"s%d\"\n\tinput.effect.tool == \"t%d\"\n", i, i)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// Report adds the percentiles that budgets are stated in.
func Report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1000, "p99-µs")
}
