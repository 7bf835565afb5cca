package daemon

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// BenchmarkAAPTurn measures a turn with 50 pending calls, decided over the socket with
// the journal on: the budget is 5 ms. In "asked" rules leave all of them to the person,
// which is the most work; in "mixed" half of them are files that the client itself
// would read, which the shipped rules allow.
func BenchmarkAAPTurn(b *testing.B) {
	const calls = 50
	w := newBenchWorld(b, true)
	served := w.serve(b)
	served.r = bufio.NewReaderSize(served, 1<<20)
	roundTrip(b, served, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"method":"permd/session","params":{"sessionId":"s1","cwd":%q,"client":{"name":"claude-agent-acp"}}}`+"\n", w.project))
	for _, kind := range []string{"asked", "mixed"} {
		b.Run(kind, func(b *testing.B) {
			var events []string
			asked := 0
			for i := range calls {
				call := fmt.Sprintf(`{"event":"tool_call","toolCallId":"%s_%d","name":"deploy_service","input":{"service":"payments-%d","environment":"staging","revision":"4f2c9e1"}}`, kind, i, i)
				if kind == "mixed" && i%2 == 0 {
					call = fmt.Sprintf(`{"event":"tool_call","toolCallId":"%s_%d","name":"Read","input":{"file_path":"src/main.go","limit":%d}}`, kind, i, i+1)
				} else {
					asked++
				}
				events = append(events, call)
			}
			line := []byte(`{"jsonrpc":"2.0","id":1,"method":"aap/permissions","params":{"sessionId":"s1","agent":{"name":"helper"},"tools":[{"name":"Read"}],"turn":{"events":[{"event":"turn_start"},` +
				strings.Join(events, ",") + `,{"event":"turn_stop","stopReason":"tool_use"}]}}}` + "\n")
			var took []time.Duration
			for b.Loop() {
				answer, t := roundTrip(b, served, line)
				took = append(took, t)
				if bytes.Count(answer, []byte(`"outcome":"ask"`)) != asked || bytes.Count(answer, []byte(`"outcome":"execute"`)) != calls-asked {
					b.Fatalf("not what is to be measured: %.400s", answer)
				}
			}
			b.ReportMetric(micros(took, 10), "p10-µs")
			b.ReportMetric(micros(took, 50), "p50-µs")
			b.ReportMetric(micros(took, 99), "p99-µs")
		})
	}
}
