package hookproc

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/permd/permd/internal/testload"
)

var update = flag.Bool("update", false, "write what is initialised into testdata anew")

const (
	initialisationFile = "testdata/initialisation.txt"
	smallPackage       = 1024 // bytes; packages that allocate less are not in the file by name
	tolerance          = 0.05 // maps have more or less memory at random
)

// TestInitialisation holds what permd allocates to initialise its packages, before a hook is
// answered and before main runs, to numbers that are checked in. The bytes are the same on
// every machine, and most of the time goes with them.
func TestInitialisation(t *testing.T) {
	if testing.Short() {
		t.Skip("long: permd is built")
	}
	if testload.Race || testing.CoverMode() != "" || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the numbers are those of linux/amd64, without instrumentation")
	}
	program := filepath.Join(t.TempDir(), "permd")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, "../..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	processes := []string{"hook claude", "version"}
	measured := map[string]map[string]int{}
	for _, process := range processes {
		measured[process] = initialised(t, program, strings.Fields(process)...)
	}
	// A package that a hook initialises although it needs no such package, now that another
	// one imports it.
	for _, name := range []string{"net/http", "github.com/open-policy-agent/opa/v1/topdown", "github.com/prometheus/client_golang/prometheus", "github.com/santhosh-tekuri/jsonschema/v6"} {
		if _, ok := measured["hook claude"][name]; ok {
			t.Errorf("a hook initialises %s; what does this package import since? go list -deps ./cmd/permd/internal/hookproc", name)
		}
	}
	if *update {
		var text strings.Builder
		for _, process := range processes {
			writeInitialised(&text, process, measured[process])
		}
		if err := os.WriteFile(initialisationFile, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := readInitialised(t)
	for _, process := range processes {
		if problem := compareInitialised(want[process], measured[process]); problem != "" {
			t.Errorf("permd %s: %s\nif it must be so: go test ./cmd/permd/internal/hookproc -run TestInitialisation -update", process, problem)
		}
	}
}

// all is the name of the line with the sum.
const all = "all"

var initLine = regexp.MustCompile(`(?m)^init (\S+) @.* ms clock, ([0-9]+) bytes, [0-9]+ allocs$`)

// initialised returns how many bytes each package of a process allocates to be initialised.
func initialised(t *testing.T, program string, args ...string) map[string]int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "GODEBUG=inittrace=1"}
	var trace bytes.Buffer
	cmd.Stderr = &trace
	_ = cmd.Run() // a hook without a daemon, and without a call, fails
	packages := map[string]int{}
	for _, line := range initLine.FindAllStringSubmatch(trace.String(), -1) {
		n, err := strconv.Atoi(line[2])
		if err != nil {
			t.Fatal(err)
		}
		packages[line[1]] += n
		packages[all] += n
	}
	if len(packages) < 50 {
		t.Fatalf("permd %s: the trace is\n%s", strings.Join(args, " "), trace.String())
	}
	return packages
}

func writeInitialised(text *strings.Builder, process string, packages map[string]int) {
	fmt.Fprintf(text, "permd %s, in bytes\n", process)
	names := slices.SortedFunc(maps.Keys(packages), func(a, b string) int {
		return cmp.Or(cmp.Compare(packages[b], packages[a]), cmp.Compare(a, b))
	})
	for _, name := range names {
		if packages[name] >= smallPackage {
			fmt.Fprintf(text, "%8d %s\n", packages[name], name)
		}
	}
	text.WriteString("\n")
}

func readInitialised(t *testing.T) map[string]map[string]int {
	t.Helper()
	text, err := os.ReadFile(initialisationFile)
	if err != nil {
		t.Fatal(err)
	}
	processes := map[string]map[string]int{}
	var packages map[string]int
	for line := range strings.Lines(string(text)) {
		if process, ok := strings.CutPrefix(strings.TrimSpace(line), "permd "); ok {
			process, _, _ = strings.Cut(process, ",")
			packages = map[string]int{}
			processes[process] = packages
		} else if fields := strings.Fields(line); len(fields) == 2 {
			n, err := strconv.Atoi(fields[0])
			if err != nil {
				t.Fatal(err)
			}
			packages[fields[1]] = n
		}
	}
	return processes
}

// compareInitialised says which packages allocate more or less if the sum is another one.
func compareInitialised(want, got map[string]int) string {
	if diff := got[all] - want[all]; float64(max(diff, -diff)) <= tolerance*float64(want[all]) {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d bytes are allocated to initialise packages, %d in %s", got[all], want[all], initialisationFile)
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if name != all && max(want[name], got[name]) >= smallPackage && (got[name] < want[name]*9/10 || got[name] > want[name]*11/10) {
			fmt.Fprintf(&text, "\n%s: %d, was %d", name, got[name], want[name])
		}
	}
	return text.String()
}

// TestCompareInitialised: the comparison names the package that has grown.
func TestCompareInitialised(t *testing.T) {
	want := map[string]int{"a": 2000, "b": 50_000, all: 52_500}
	for name, tt := range map[string]struct {
		got  map[string]int
		says []string
	}{
		"the same":         {map[string]int{"a": 2000, "b": 50_000, all: 52_500}, nil},
		"by chance":        {map[string]int{"a": 2000, "b": 51_000, all: 53_500}, nil},
		"one has grown":    {map[string]int{"a": 12_000, "b": 50_000, all: 62_500}, []string{"62500 bytes", "52500 in", "\na: 12000, was 2000"}},
		"there is another": {map[string]int{"a": 2000, "b": 50_000, "c": 4000, all: 56_500}, []string{"\nc: 4000, was 0"}},
		"one is less":      {map[string]int{"a": 2000, "b": 5000, all: 7500}, []string{"\nb: 5000, was 50000"}},
	} {
		got := compareInitialised(want, tt.got)
		if (got == "") != (tt.says == nil) {
			t.Errorf("%s: %q", name, got)
		}
		for _, part := range tt.says {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q does not say %q", name, got, part)
			}
		}
	}
}
