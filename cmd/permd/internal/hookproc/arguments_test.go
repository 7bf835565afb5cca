package hookproc

import (
	"strings"
	"testing"
	"time"
)

// TestHarness: which command lines are answered before main runs. All others reach the command
// line's own parser, which refuses them with an answer that blocks.
func TestHarness(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		is, after bool
		o         Options
	}{
		"permd hook claude":                            {is: true},
		"permd hook claude --after":                    {is: true, after: true},
		"permd hook claude --wait 5m":                  {is: true, o: Options{Wait: 5 * time.Minute}},
		"permd hook claude --system":                   {is: true, o: Options{System: true}},
		"permd hook claude --system --wait 5m":         {is: true, o: Options{Wait: 5 * time.Minute, System: true}},
		"permd hook claude --system --after":           {is: true, after: true, o: Options{System: true}},
		"permd hook nobody --system":                   {o: Options{System: true}},
		"permd hook claude --wait 2h":                  {},
		"permd hook claude --wait 5m --system":         {},
		"permd hook claude --system --system":          {},
		"permd hook claude --system --wait":            {},
		"permd hook claude --system --wait 5m --after": {},
		"permd hook claude --permission-prompt-tool":   {},
		"permd hook install claude":                    {},
		"permd hooks claude":                           {},
		"permd hook":                                   {},
		"permd":                                        {},
	} {
		h, after, o := harness(strings.Fields(line))
		if (h != nil) != want.is || after != want.after || o != want.o {
			t.Errorf("%s: %v, after %v, %+v", line, h != nil, after, o)
		}
	}
}
