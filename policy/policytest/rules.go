package policytest

import (
	"fmt"
	"strings"
)

// Rules returns a user module with the rules from first to last-1, a typical mix: half of
// them on programs, the rest on paths and hosts. None is about a call that the shipped rules
// allow.
func Rules(first, last int) string {
	var text strings.Builder
	text.WriteString("package permd.user\n\nimport rego.v2\n")
	for i := first; i < last; i++ {
		fmt.Fprintf(&text, "\n%s contains \"reason %d\" if {\n", []string{"allow", "ask", "deny"}[i%3], i)
		switch i % 4 {
		case 0, 1:
			fmt.Fprintf(&text, "\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"prog%d\"\n}\n", i)
		case 2:
			fmt.Fprintf(&text, "\tinput.effect.kind == \"write\"\n\tstartswith(input.effect.path, \"/srv/%d/\")\n}\n", i)
		default:
			fmt.Fprintf(&text, "\tinput.effect.kind == \"connect\"\n\tinput.effect.host == \"h%d.example.com\"\n}\n", i)
		}
	}
	return text.String()
}
