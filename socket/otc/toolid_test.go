package otc

import (
	"strings"
	"testing"
)

func TestToolID(t *testing.T) {
	for given, want := range map[string]toolID{
		"Ledger.PostEntry":                    {"Ledger", "PostEntry", ""},
		"Ledger.PostEntry@2":                  {"Ledger", "PostEntry", "2.0.0"},
		"Ledger.PostEntry@0":                  {"Ledger", "PostEntry", "0.0.0"},
		"Ledger.PostEntry@2.10.1":             {"Ledger", "PostEntry", "2.10.1"},
		"a_1._2@10":                           {"a_1", "_2", "10.0.0"},
		"X.mcp__github__merge":                {"X", "mcp__github__merge", ""},
		"A.B@01":                              {"A", "B", "1.0.0"},
		"A.B@1.02.00":                         {"A", "B", "1.2.0"},
		"A.B@000":                             {"A", "B", "0.0.0"},
		"A.B@18446744073709551616":            {"A", "B", "18446744073709551616.0.0"},
		"A.B@9223372036854775807.0.0":         {"A", "B", "9223372036854775807.0.0"},
		strings.Repeat("a", 500) + ".B@1.0.0": {strings.Repeat("a", 500), "B", "1.0.0"},
	} {
		if got, ok := parseToolID(given); !ok || got != want {
			t.Errorf("%s: %+v, %v", given, got, ok)
		}
	}
	for _, given := range []string{
		"", ".", "A", "A.", ".B", "A.B.C", "A:B", "A.B@", "A.B@latest", "A.B@1.2", "A.B@1.2.3.4", "A.B@1.0.0-rc1",
		"A.B@ 1", "A.B@+1", "A.B@-1", "A.B@1.0.0@2", "A.B@v1", "A B.C", " A.B", "A.B ", "A.B\n", "A-b.C", "Ä.B", "А.B", "A.B\u200b", "A.B@１",
		"A.B@1..0", "A.B@1.0.", "A.B\x00", "../A.B", strings.Repeat("a", 1024) + ".B",
	} {
		if got, ok := parseToolID(given); ok {
			t.Errorf("%q is %+v", given, got)
		}
	}
}
