package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/socket/httpapi"
)

// BenchmarkHTTP measures a call over HTTP on a Unix socket and the same call with
// permd/decide, in turns. Over HTTP each request declares its session again.
func BenchmarkHTTP(b *testing.B) {
	w := newBenchWorld(b, true)
	rule := "package permd.user\n\nimport rego.v2\n\nallow contains \"weather\" if input.effect.tool == \"weather\"\n"
	if err := os.WriteFile(filepath.Join(w.dirs.Config, account.PolicyDir, "use.rego"), []byte(rule), 0o600); err != nil {
		b.Fatal(err)
	}
	if _, err := w.rules.Reload(b.Context()); err != nil {
		b.Fatal(err)
	}
	lines := w.serve(b)
	web := benchServe(b, func(ctx context.Context, ln net.Listener) error {
		return httpapi.Serve(ctx, ln, httpapi.Deps{Methods: w.engine.Methods(), Health: w.healthOf}, httpapi.Options{})
	})
	roundTrip(b, lines, []byte(`{"jsonrpc":"2.0","id":0,"method":"permd/session","params":`+w.session()+"}\n"))
	for _, bench := range []struct{ name, line, body string }{
		{
			"tool", `"calls":[{"callId":"c","tool":{"name":"weather"},"input":{"city":"Oslo"}}]`,
			`{"input":{"tool":{"name":"weather"},"args":{"city":"Oslo"}}}`,
		},
		{
			"command in a session", `"sessionId":"s1","calls":[{"callId":"c","tool":{"name":"Bash"},"input":{"command":"git status"}}]`,
			`{"input":{"tool":{"name":"Bash"},"args":{"command":"git status"},"session":` + w.session() + `}}`,
		},
	} {
		b.Run(bench.name, func(b *testing.B) {
			line := []byte(`{"jsonrpc":"2.0","id":1,"method":"permd/decide","params":{` + bench.line + "}}\n")
			post := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: permd\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
				httpapi.PathDecision, len(bench.body), bench.body)
			var onLines, onHTTP []time.Duration
			for b.Loop() {
				answer, took := roundTrip(b, lines, line)
				onLines = append(onLines, took)
				if !bytes.Contains(answer, []byte(`"verdict":"allow"`)) {
					b.Fatalf("not allowed: %s", answer)
				}
				answer, took = roundTripHTTP(b, web, post)
				onHTTP = append(onHTTP, took)
				if !bytes.Contains(answer, []byte(`"decision":"allow"`)) {
					b.Fatalf("not allowed: %s", answer)
				}
			}
			b.ReportMetric(micros(onLines, 50), "socket-p50-µs")
			b.ReportMetric(micros(onHTTP, 50), "http-p50-µs")
			b.ReportMetric(micros(onHTTP, 99), "http-p99-µs")
			b.ReportMetric(micros(onHTTP, 50)/micros(onLines, 50), "×socket")
		})
	}
}

// roundTripHTTP sends a request and reads its answer.
func roundTripHTTP(b *testing.B, c *benchConn, request []byte) ([]byte, time.Duration) {
	start := time.Now()
	if _, err := c.Write(request); err != nil {
		b.Fatal(err)
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	return body, time.Since(start)
}
