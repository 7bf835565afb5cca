package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestBudgets(t *testing.T) {
	r := &report{
		RatioFresh: 5, RatioCached: 2.6, // at the limit, and above it
		SpeedupOPA: 4, // at the limit
		Compared:   []compared{{Clients: 1, likeness: likeness{Fresh: 1, P99: 1}}, {Clients: 16, Repeated: 7, likeness: likeness{Fresh: 2.9, P99: 0.5}}},
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

// TestLogged compares servers that store their decisions with ones that do, and ones that
// do not with ones that do not.
func TestLogged(t *testing.T) {
	made := func(server string, p50 float64) *series {
		return &series{Server: server, Kind: command, Size: small, Clients: 1, rounds: []round{{p50: p50, p99: 2 * p50, perSecond: 1000 / p50}}}
	}
	p := &plan{all: []*series{made(serverPermd, 100), made(serverOff, 50), made(serverOPA, 200), made(serverOPALog, 400)}}
	r := new(report)
	r.headline(p, options{})
	want := [][]string{{"permd", "1", "2.00", "2.00", "0.50"}, {"both", "1", "4.00", "4.00", "0.25"}, {"neither", "1", "4.00", "4.00", "0.25"}}
	if got := r.logged(); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%q, want %q", got, want)
	}
}
