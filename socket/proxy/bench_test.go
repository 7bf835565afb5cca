package proxy

import (
	"bufio"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/strictjson"
)

// echo is a peer that sends back what it receives, in pieces as they come.
func echo(r io.Reader, w io.WriteCloser) {
	go func() {
		defer w.Close()
		_, _ = io.Copy(writer{w}, r)
	}()
}

// writer is only a writer, so that the bytes are copied through the process.
type writer struct{ io.Writer }

func pipe(b *testing.B) (r, w *os.File) {
	b.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// trips sends a message and waits until it is back, b.N times. It reports the
// median, since the mean includes the garbage collector.
func trips(b *testing.B, message string, w io.Writer, r io.Reader) {
	in := bufio.NewReaderSize(r, 64<<10)
	b.SetBytes(int64(len(message)))
	b.ReportAllocs()
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if len(message) > 64<<10 {
			go func() { // more than a pipe holds
				if _, err := io.WriteString(w, message); err != nil {
					b.Error(err)
				}
			}()
		} else if _, err := io.WriteString(w, message); err != nil {
			b.Fatal(err)
		}
		for {
			_, err := in.ReadSlice('\n')
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				b.Fatal(err)
			}
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-µs")
}

// BenchmarkProxyMessage measures the round trip of a message between a client and
// an agent that sends it back, over pipes: directly, through a process that copies
// what it reads, and through the proxy. The proxy adds the difference between the
// first and the last; any process in between adds at least that of the copy.
// Chained is a conductor's pipe, one way.
func BenchmarkProxyMessage(b *testing.B) {
	message := func(text string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}}}` + "\n"
	}
	for _, m := range []struct{ name, text string }{
		{"ordinary", message(strings.Repeat("word ", 20))},
		{"10 MiB", message(strings.Repeat("words ", 10<<20/6))},
		{"10 MiB of code", message(strings.Repeat(`\tif err := f(\"name\"); err != nil {\n\t\treturn fmt.Errorf(\"naming: %w\", err)\n\t}\n`, 10<<20/82))},
	} {
		b.Run(m.name+"/direct", func(b *testing.B) {
			toAgent, fromClient := pipe(b)
			toClient, fromAgent := pipe(b)
			echo(toAgent, fromAgent)
			trips(b, m.text, fromClient, toClient)
		})
		b.Run(m.name+"/copy", func(b *testing.B) {
			toCopy, fromClient := pipe(b)
			toAgent, fromCopy := pipe(b)
			backToCopy, fromAgent := pipe(b)
			toClient, backFromCopy := pipe(b)
			echo(toCopy, fromCopy)
			echo(toAgent, fromAgent)
			echo(backToCopy, backFromCopy)
			trips(b, m.text, fromClient, toClient)
		})
		b.Run(m.name+"/proxy", func(b *testing.B) {
			e := start(b, nil)
			echo(e.agentHears, e.agentSays)
			trips(b, m.text, e.clientSays, e.clientHears)
			e.clientSays.Close()
			if err := e.wait(b); err != nil {
				b.Error(err)
			}
		})
		b.Run(m.name+"/chained", func(b *testing.B) {
			e := startWith(b, Config{Conducted: true, Retry: time.Hour})
			trips(b, m.text, e.clientSays, e.clientHears)
			e.clientSays.Close()
			if err := e.wait(b); err != nil {
				b.Error(err)
			}
		})
	}
}

// BenchmarkProxyPermission measures a permission request that permd answers at
// once, directly and through the proxy.
func BenchmarkProxyPermission(b *testing.B) {
	line := request("1", "c")
	b.Run("direct", func(b *testing.B) {
		d := newPermd(b, allows)
		c, err := d.dial(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		params := strictjson.Find(strictjson.Value(line), "params")
		for b.Loop() {
			if err := c.Call(b.Context(), "session/request_permission", params, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("proxy", func(b *testing.B) {
		d := newPermd(b, allows)
		e := start(b, d.dial)
		trips(b, line+"\n", e.agentSays, e.agentHears)
		e.agentSays.Close()
		if err := e.wait(b); err != nil {
			b.Error(err)
		}
	})
}
