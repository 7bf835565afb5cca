package daemon

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/proxy"
)

// BenchmarkProxyDecision measures a permission request of an agent that permd
// decides, through the proxy and over the socket, in turns. The budget is that the
// proxy adds at most 50 µs.
func BenchmarkProxyDecision(b *testing.B) {
	w := newBenchWorld(b, true)
	served := w.serve(b)
	roundTrip(b, served, []byte(`{"jsonrpc":"2.0","id":0,"method":"permd/session","params":`+w.session()+"}\n"))

	var peers proxy.Peers
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		return r, w
	}
	var agentSays, agentHears, clientSays, clientHears *os.File
	peers.ClientIn, clientSays = pipe()
	clientHears, peers.ClientOut = pipe()
	agentHears, peers.AgentIn = pipe()
	peers.AgentOut, agentSays = pipe()
	done := make(chan error, 1)
	go func() {
		done <- proxy.Run(context.Background(), peers, proxy.Config{Dial: func(ctx context.Context) (*client.Client, error) {
			return client.Dial(ctx, served.RemoteAddr().String(), client.Options{})
		}})
	}()
	agent, person := bufio.NewReaderSize(agentHears, 1<<20), bufio.NewReader(clientHears)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"claude-agent-acp","version":"0.60.0"}}}`,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q}}`, w.project), `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}`,
	} {
		from, to := clientSays, agent
		if bytes.Contains([]byte(line), []byte("result")) {
			from, to = agentSays, person
		}
		fmt.Fprintln(from, line)
		if _, err := to.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range benchCalls {
		b.Run(c.name, func(b *testing.B) {
			line := []byte(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":` + w.params(c.toolCall) + "}\n")
			var direct, through []time.Duration
			for b.Loop() {
				answer, took := roundTrip(b, served, line)
				direct = append(direct, took)
				mustAllow(b, answer)
				began := time.Now()
				if _, err := agentSays.Write(line); err != nil {
					b.Fatal(err)
				}
				answer, err := agent.ReadSlice('\n')
				if err != nil {
					b.Fatal(err)
				}
				through = append(through, time.Since(began))
				mustAllow(b, answer)
			}
			b.ReportMetric(micros(through, 10)-micros(direct, 10), "added-p10-µs")
			b.ReportMetric(micros(through, 50)-micros(direct, 50), "added-p50-µs")
			b.ReportMetric(micros(direct, 50), "socket-p50-µs")
			b.ReportMetric(micros(through, 50), "p50-µs")
		})
	}
	clientSays.Close()
	agentSays.Close()
	if err := <-done; err != nil {
		b.Error(err)
	}
}
