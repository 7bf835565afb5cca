package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
)

// reloadRules is the number of rules that are compiled at each reload.
const reloadRules = 1000

// BenchmarkDuringReload measures a request over the socket while nothing else happens,
// and while 1,000 rules, of which one has changed, are read and compiled repeatedly.
// The budget is that the p99 of the second is at most 3 times that of the first, and a
// reload takes at most 300 ms. Files must be unchanged for 100 ms before they are read;
// that wait is not included, since it takes no processor time.
func BenchmarkDuringReload(b *testing.B) {
	w := newBenchWorld(b, false)
	file := filepath.Join(w.dirs.Config, account.PolicyDir, "more.rego")
	var text strings.Builder
	text.WriteString("package permd.user\n\nimport rego.v2\n")
	for i := range reloadRules - benchRules {
		fmt.Fprintf(&text, "\nask contains \"more %d\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"more%d\"\n\t\"--flag\" in input.effect.flags\n}\n", i, i)
	}
	n := 0
	reload := func() time.Duration {
		n++
		rules := text.String() + fmt.Sprintf("\nask contains \"new %d\" if input.effect.program == \"new\"\n", n)
		if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
			b.Error(err)
		}
		past := time.Now().Add(-time.Hour)
		for _, name := range []string{file, filepath.Dir(file)} {
			if err := os.Chtimes(name, past, past); err != nil {
				b.Error(err)
			}
		}
		start := time.Now()
		if changed, err := w.rules.Reload(b.Context()); err != nil || !changed {
			b.Errorf("reload: %v, %v", changed, err)
		}
		return time.Since(start)
	}
	reload()
	served := w.serve(b)
	roundTrip(b, served, []byte(`{"jsonrpc":"2.0","id":0,"method":"permd/session","params":`+w.session()+"}\n"))
	line := []byte(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":` + w.params(benchCalls[1].toolCall) + "}\n")
	ask := func() time.Duration {
		answer, took := roundTrip(b, served, line)
		mustAllow(b, answer)
		return took
	}
	for range 1000 {
		ask()
	}
	var quiet, busy, reloads []time.Duration
	for b.Loop() {
		for range 2000 {
			quiet = append(quiet, ask())
		}
		var reloading atomic.Bool
		reloading.Store(true)
		took := make(chan time.Duration, 1)
		go func() {
			took <- reload()
			reloading.Store(false)
		}()
		for reloading.Load() {
			busy = append(busy, ask())
		}
		reloads = append(reloads, <-took)
	}
	b.ReportMetric(micros(quiet, 50), "p50-µs")
	b.ReportMetric(micros(quiet, 99), "p99-µs")
	b.ReportMetric(micros(busy, 50), "reload-p50-µs")
	b.ReportMetric(micros(busy, 99), "reload-p99-µs")
	b.ReportMetric(micros(busy, 99)/micros(quiet, 99), "×p99")
	b.ReportMetric(micros(reloads, 50)/1000, "reload-ms")
}
