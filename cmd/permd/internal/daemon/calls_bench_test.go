package daemon

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkManyCalls measures requests of many calls with many operands that lie in the same
// folders, as a turn has in which an agent reads a project: the time of one call must not
// grow with their number.
func BenchmarkManyCalls(b *testing.B) {
	w := newBenchWorld(b, true)
	served := w.serve(b)
	served.r = bufio.NewReaderSize(served, 32<<20)
	declare := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"method":"permd/session","params":{"sessionId":"s1","cwd":%q,"client":{"name":"claude-agent-acp"}}}`+"\n", w.project)
	for n := range 8 {
		dir := filepath.Join(w.project, "internal", fmt.Sprint("part", n), "deep", "down")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		for n := range 32 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d.go", n)), []byte("package x\n"), 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	turn := 0
	for _, size := range []struct{ calls, operands int }{{1, 16}, {8, 16}, {64, 16}, {1, 100}, {16, 100}, {64, 100}, {128, 100}} {
		commands := func() (list []string) {
			turn++
			for c := range size.calls {
				text := "cat"
				for o := range size.operands {
					n := c*size.operands + o
					text += fmt.Sprintf(" internal/part%d/deep/down/file%d.go", n%8, n/8%32)
				}
				list = append(list, fmt.Sprintf("%s internal/x%d-%d", text, turn, c)) // a new command each time
			}
			return list
		}
		messages := map[string]func() string{
			"aap": func() string {
				var events []string
				for i, command := range commands() {
					events = append(events, fmt.Sprintf(`{"event":"tool_call","toolCallId":"%d_%d","name":"Bash","input":{"command":%q}}`, turn, i, command))
				}
				return `{"jsonrpc":"2.0","id":1,"method":"aap/permissions","params":{"sessionId":"s1","agent":{"name":"helper"},"tools":[{"name":"Bash"}],"turn":{"events":[{"event":"turn_start"},` +
					strings.Join(events, ",") + `,{"event":"turn_stop","stopReason":"tool_use"}]}}}`
			},
			"permd": func() string {
				var calls []string
				for i, command := range commands() {
					calls = append(calls, fmt.Sprintf(`{"callId":"%d","tool":{"name":"Bash"},"input":{"command":%q}}`, i, command))
				}
				return `{"jsonrpc":"2.0","id":1,"method":"permd/decide","params":{"sessionId":"s1","calls":[` + strings.Join(calls, ",") + `]}}`
			},
		}
		for _, protocol := range []string{"permd", "aap"} {
			if protocol == "permd" && size.calls > 64 {
				continue
			}
			b.Run(fmt.Sprintf("%s/calls=%d/operands=%d", protocol, size.calls, size.operands), func(b *testing.B) {
				b.ReportAllocs()
				var took time.Duration
				for b.Loop() {
					roundTrip(b, served, declare)
					answer, t := roundTrip(b, served, []byte(messages[protocol]()+"\n"))
					took += t
					roundTrip(b, served, []byte(`{"jsonrpc":"2.0","id":2,"method":"permd/close","params":{"sessionId":"s1"}}`+"\n"))
					if bytes.Contains(answer, []byte(`"error"`)) || bytes.Contains(answer, []byte("took too long")) {
						b.Fatalf("not what is to be measured: %.400s", answer)
					}
				}
				b.ReportMetric(float64(took.Microseconds())/float64(b.N*size.calls*size.operands), "µs/operand")
			})
		}
	}
}
