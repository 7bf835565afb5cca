package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	maybeEcho(os.Args[1:])
	os.Exit(m.Run())
}

// numbersOfJSON are those that others read of -json.
var numbersOfJSON = []string{
	"ratio_fresh", "ratio_cached", "speedup_vs_opa", "echo_p50_us", "permd_fresh_p50_us", "permd_cached_p50_us", "opa_p50_us",
	"throughput_permd", "throughput_opa", "hook_ms_p50",
}

// TestRun runs everything, without programs of others, for moments.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it builds permd and starts daemons")
	}
	o := options{rounds: 1, runs: 1, turn: 10 * time.Millisecond, clients: []int{2}, asJSON: true, quiet: true}
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range numbersOfJSON {
		v, ok := got[name].(float64)
		if !ok {
			t.Errorf("%s is missing", name)
		}
		ofOPA := name == "speedup_vs_opa" || name == "opa_p50_us" || name == "throughput_opa"
		if v <= 0 && !ofOPA {
			t.Errorf("%s is %v", name, v)
		}
		if v != 0 && ofOPA {
			t.Errorf("%s is %v, and OPA did not run", name, v)
		}
	}
}

// TestDocumented says that docs/performance.md explains each member of -json.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	of := reflect.TypeFor[report]()
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		said := strings.Contains(string(page), "`"+name+"`")
		if p99 := strings.Replace(name, "_p99_", "_p50_", 1); p99 != name { // "the same with p99"
			said = said || strings.Contains(string(page), "`"+p99+"`")
		}
		if name == "" || !said {
			t.Errorf("docs/performance.md does not say what %s (%q) is", of.Field(i).Name, name)
		}
	}
}

// TestMarkdown says that the page has the marks that -write looks for.
func TestMarkdown(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, mark := range []string{docsSpeed, docsGrowth, docsProxy, docsPairs} {
		got, err := between(string(page), mark, "TEXT")
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(got, mark+"\nTEXT\n"+docsEnd) {
			t.Errorf("not written after %q", mark)
		}
	}
	if _, err := between("a\n"+docsSpeed+"b\n", docsSpeed, "TEXT"); err == nil {
		t.Error("a page without an end is written")
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-turn", "-1s"}, {"-nosuch"}, {"extra"}} {
		if _, err := parse(args, new(bytes.Buffer)); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
