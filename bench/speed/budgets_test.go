package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestBudgets(t *testing.T) {
	r := &report{
		RatioFresh: 5, RatioCached: 2.6, // at the limit, and above it
		SpeedupOPA: 4, // at the limit
		Compared:   []compared{{Clients: 1, Fresh: 1, P99: 1}, {Clients: 16, Fresh: 2.9, Repeated: 7, P99: 0.5}},
		HookP50:    9,
	}
	want := map[string]string{
		"a new command's p50, by the echo's":                    "pass",
		"a repeated command's p50, by the echo's":               "FAIL",
		"OPA's p50, by a new command's":                         "pass",
		"p99 of 1 clients, new commands, by OPA's":              "pass",
		"throughput of 16 clients, new commands, by OPA's":      "FAIL",
		"throughput of 16 clients, repeated commands, by OPA's": "pass",
		"p99 of 16 clients, new commands, by OPA's":             "pass",
		"permd hook claude, p50 in ms":                          "pass",
		"256 parallel AAP calls of 100 operands, in s":          "not measured",
		"allocations of a repeated command, over the socket":    "not measured",
	}
	var out bytes.Buffer
	all := r.budgets()
	writeBudgets(&out, all)
	for line := range strings.Lines(out.String()) {
		for name, result := range want {
			if strings.HasPrefix(line, name+" ") {
				delete(want, name)
				if !strings.HasSuffix(strings.TrimSpace(line), result) {
					t.Errorf("%s: not %s", strings.TrimSpace(line), result)
				}
			}
		}
	}
	for name := range want {
		t.Errorf("there is no line for %q in\n%s", name, out.String())
	}
	if err := failed(all); err == nil || !strings.HasPrefix(err.Error(), "2 of ") {
		t.Errorf("exceeded budgets: %v", err)
	}
	if err := failed(all[:1]); err != nil {
		t.Error(err)
	}
}
