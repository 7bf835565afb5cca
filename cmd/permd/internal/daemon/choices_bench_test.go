package daemon

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
)

// manyChoices is how many choices BenchmarkChoices lists.
const manyChoices = 10_000

// mixedLine returns a choice of one of several kinds; some are covered by others.
func mixedLine(n int) admin.NewChoice {
	c := admin.NewChoice{Verdict: decisions.Allow, Scope: "project"}
	switch n % 8 {
	case 0:
		c.Kind, c.Line = "run", fmt.Sprintf("go test ./pkg%d", n)
	case 1:
		c.Kind, c.Line = "run", fmt.Sprintf("git log --grep=%d *", n)
	case 2:
		c.Kind, c.Line = "write", fmt.Sprintf("./a%d/b%d/**", n%97, n)
	case 3:
		c.Kind, c.Line = "write", fmt.Sprintf("./a%d/c%d/x.go", n%97, n)
		c.Verdict = decisions.Deny
	case 4:
		c.Kind, c.Line = "connect", fmt.Sprintf("h%d.example%d.com", n, n%50)
		if n%400 == 4 {
			c.Line = fmt.Sprintf("*.example%d.com", n%50)
		}
	case 5:
		c.Kind, c.Line = "use", fmt.Sprintf("server%d:tool_%d", n%20, n)
	case 6:
		c.Kind, c.Line, c.Verdict = "run", fmt.Sprintf("tool%d build *", n), decisions.Deny
	default:
		c.Kind, c.Line, c.Scope = "read", fmt.Sprintf("/data/set%d/d%d/**", n%40, n), "user"
	}
	return c
}

// BenchmarkChoices measures a filter, one page of a list, and a whole list, of 10,000 choices over the
// management socket: the budget is 100 ms for a list.
func BenchmarkChoices(b *testing.B) {
	w := newBenchWorld(b, true)
	for at := 0; at < manyChoices; at += admin.MaxList {
		list := make([]admin.ImportedChoice, 0, admin.MaxList)
		for n := at; n < at+admin.MaxList; n++ {
			c := mixedLine(n)
			c.Dir = w.project
			list = append(list, admin.ImportedChoice{NewChoice: c})
		}
		if done, err := (choices{w.daemon}).Import(b.Context(), uint32(os.Geteuid()), list, false); err != nil || len(done.Refused) > 0 {
			b.Fatal(err, done.Refused[:min(3, len(done.Refused))])
		}
	}
	c := benchServe(b, func(ctx context.Context, ln net.Listener) error {
		return socket.Serve(ctx, ln, w.adminMethods(nil, nil), socket.Options{})
	})
	c.r = bufio.NewReaderSize(c, 8<<20)
	page := func(b *testing.B, after string) (next string) {
		answer, _ := roundTrip(b, c, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{"after":%q,"limit":%d}}`+"\n", admin.MethodChoicesList, after, admin.MaxList))
		text := string(answer[max(0, len(answer)-100):])
		if _, rest, ok := strings.Cut(text, `"next":"`); ok {
			next, _, _ = strings.Cut(rest, `"`)
		}
		return next
	}
	measure := func(name string, change bool, do func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				if change {
					b.StopTimer()
					n := mixedLine(len(took))
					n.Dir, n.ExpiresIn = w.project, int64(1000+len(took))
					if _, _, err := (choices{w.daemon}).Add(b.Context(), uint32(os.Geteuid()), n); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				start := time.Now()
				do(b)
				took = append(took, time.Since(start))
			}
			b.ReportMetric(micros(took, 10)/1000, "p10-ms")
			b.ReportMetric(micros(took, 50)/1000, "p50-ms")
			b.ReportMetric(micros(took, 99)/1000, "p99-ms")
		})
	}
	measure("filtered", false, func(b *testing.B) {
		roundTrip(b, c, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{"text":"h1","newest":true,"limit":100}}`+"\n", admin.MethodChoicesList))
	})
	measure("page", false, func(b *testing.B) { page(b, "") })
	measure("page-changed", true, func(b *testing.B) { page(b, "") })
	measure("list", false, func(b *testing.B) {
		pages := 1
		for next := page(b, ""); next != ""; next = page(b, next) {
			pages++
		}
		if pages < manyChoices/admin.MaxList {
			b.Fatalf("%d pages", pages)
		}
	})
}
