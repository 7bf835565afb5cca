package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/permd/permd/internal/testload"
)

// maxGatewayRSS is the memory that a gateway may use with the longest answers, in MiB: 64 MiB of
// answers, what is searched, and what has not been collected.
const maxGatewayRSS = 350

// TestFailuresGatewaysMemory has tools answer many calls at once, as long as they may.
func TestFailuresGatewaysMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("long: gateways get 200 MiB; TestRoom is the quick one")
	}
	failures(t, []failure{
		{"many long answers of tools at once", rapGatewayLong},
		{"many long answers of tool servers at once", otcGateLong},
	})
}

// wantRSS checks how much memory a process has used at most.
func wantRSS(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	line, _, _ := strings.Cut(rest, " kB")
	kib, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d MiB", kib>>10); kib>>10 > maxGatewayRSS && !testload.Race {
		t.Errorf("the gateway has used %d MiB", kib>>10)
	}
}

func rapGatewayLong(t *testing.T) {
	g := newRAPGateway(t)
	long := strings.Repeat("a", 8<<20)
	g.tool.answers(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, long)
	})
	const all = 24
	for i := range all {
		if status, answer := g.send(http.MethodPost, "/invoke", g.invocation(fmt.Sprint("c", i), "root", "list_bins", "{}")); status != http.StatusOK {
			t.Fatalf("status %d, %s", status, answer)
		}
	}
	for range all {
		if m := g.next(); m["text"] != long {
			t.Errorf("a result is not the tool's answer: %.100v", m["text"])
		}
	}
	wantRSS(t, g.process)
}

func otcGateLong(t *testing.T) {
	g := startOTCGate(t)
	long := strings.Repeat("a", 4<<20-1<<10)
	g.upstream.set(func() {
		g.upstream.answer = func(w http.ResponseWriter, _ *http.Request, call map[string]any) {
			writeJSON(w, 200, map[string]any{"call_id": call["call_id"], "success": true, "value": long})
		}
	})
	var wg sync.WaitGroup
	var whole atomic.Int64
	for i := range 48 {
		wg.Go(func() {
			status, answer := g.request(t, "POST", "/tools/call", fmt.Sprintf(`{"tool_id":"Clock.Now","call_id":"c%d"}`, i))
			switch {
			case strings.Contains(answer, long):
				whole.Add(1)
			case status != 200 || !strings.Contains(answer, "whether the tool has run is not known"): // the server has two seconds
				t.Errorf("%d %.100s", status, answer)
			}
		})
	}
	if wg.Wait(); whole.Load() == 0 {
		t.Error("no answer came")
	}
	wantRSS(t, g.cmd)
}
