package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// echo is a peer that sends back what it hears.
func echo(b *testing.B, r, w *os.File) {
	in := bufio.NewReaderSize(r, 64<<10)
	go func() {
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				w.Close()
				return
			}
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}()
}

// BenchmarkMessage is the round trip of an ordinary message between client and
// agent, over pipes: through the proxy, and without it.
func BenchmarkMessage(b *testing.B) {
	messages := map[string]string{
		"chunk":  `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + strings.Repeat("word ", 20) + `"}}}}` + "\n",
		"10 MiB": `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + strings.Repeat("words ", 10<<20/6) + `"}}}}` + "\n",
	}
	for name, message := range messages {
		trip := func(b *testing.B, w, r *os.File) {
			in := bufio.NewReaderSize(r, 64<<10)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				if len(message) > 64<<10 {
					go func() { // more than a pipe holds
						if _, err := w.WriteString(message); err != nil {
							b.Error(err)
						}
					}()
				} else if _, err := w.WriteString(message); err != nil {
					b.Fatal(err)
				}
				for {
					part, err := in.ReadSlice('\n')
					if bytes.HasSuffix(part, []byte("\n")) {
						break
					}
					if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
						b.Fatal(err)
					}
				}
			}
		}
		b.Run(name+"/proxy", func(b *testing.B) {
			e := start(b, nil)
			echo(b, e.agentHears, e.agentSays)
			trip(b, e.clientSays, e.clientHears)
			e.clientSays.Close()
			if err := e.wait(b); err != nil {
				b.Error(err)
			}
		})
		b.Run(name+"/direct", func(b *testing.B) {
			toAgent, fromClient, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			toClient, fromAgent, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			echo(b, toAgent, fromAgent)
			trip(b, fromClient, toClient)
			fromClient.Close()
		})
	}
}

// BenchmarkPermission is a permission request that permd decides, with a permd
// that answers at once: through the proxy, and asked directly.
func BenchmarkPermission(b *testing.B) {
	line := request("1", "c")
	b.Run("proxy", func(b *testing.B) {
		d := newPermd(b, allows)
		e := start(b, d.dial)
		hears := bufio.NewReader(e.agentHears)
		for b.Loop() {
			if _, err := e.agentSays.WriteString(line + "\n"); err != nil {
				b.Fatal(err)
			}
			if _, err := hears.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
		}
		e.agentSays.Close()
		if err := e.wait(b); err != nil {
			b.Error(err)
		}
	})
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
}
