package socket

import (
	"bufio"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// benchLine is a request of the size that agents send.
var benchLine = []byte(`{"jsonrpc":"2.0","id":12345,"method":"echo","params":{"sessionId":"sess-0123456789","toolCall":{"toolCallId":"call-1","title":"` +
	strings.Repeat("t", 300) + `","kind":"execute","rawInput":{"command":"go test ./...","description":"` + strings.Repeat("d", 100) +
	`"}},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"},{"optionId":"r","name":"Reject","kind":"reject_once"}]}}` + "\n")

// BenchmarkRoundTrip compares a trivial method with a raw echo of the same
// bytes, in one run: the budget is their ratio.
func BenchmarkRoundTrip(b *testing.B) {
	b.Run("raw line echo", func(b *testing.B) {
		ln, err := net.Listen("unix", filepath.Join(shortDir(b), "echo.sock"))
		if err != nil {
			b.Fatal(err)
		}
		defer ln.Close()
		go func() {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			r := bufio.NewReaderSize(c, 64<<10)
			for {
				line, err := r.ReadSlice('\n')
				if err != nil {
					return
				}
				if _, err := c.Write(line); err != nil {
					return
				}
			}
		}()
		c, err := net.Dial("unix", ln.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		roundTrips(b, c)
	})
	b.Run("method", func(b *testing.B) {
		r := serve(b, Methods{"echo": echo}, Options{})
		roundTrips(b, r.dial().UnixConn)
	})
}

func roundTrips(b *testing.B, c net.Conn) {
	r := bufio.NewReaderSize(c, 64<<10)
	b.SetBytes(int64(len(benchLine)))
	b.ReportAllocs()
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		if _, err := c.Write(benchLine); err != nil {
			b.Fatal(err)
		}
		if _, err := r.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
}

// BenchmarkPipelined sends many requests before it reads the answers.
func BenchmarkPipelined(b *testing.B) {
	r := serve(b, Methods{"echo": echo}, Options{})
	c := r.dial()
	const many = 32
	line := strings.Replace(string(benchLine), `"id":12345`, `"id":null`, 1)
	batch := []byte(strings.Repeat(line, many))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(batch); err != nil {
			b.Fatal(err)
		}
		for range many {
			if _, err := c.r.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*many), "ns/request")
}

func BenchmarkDecode(b *testing.B) {
	line := benchLine[:len(benchLine)-1]
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, fault := decode(line); fault != nil {
			b.Fatal(fault)
		}
	}
}
