package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// mustBeXML fails unless a picture is well-formed.
func mustBeXML(t *testing.T, picture []byte) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(picture)))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, picture)
		}
	}
}

// traces is what "go tool pprof -traces" prints of three samples.
const traces = `File: permd
Type: cpu
Duration: 1s, Total samples = 60ms
-----------+-------------------------------------------------------
      20ms   runtime.mallocgc
             github.com/permd/permd/socket.read (inline)
             main.main
-----------+-------------------------------------------------------
      30ms   a/b.(*c[go.shape.int]).d
             main.main
-----------+-------------------------------------------------------
      10ms   runtime.mallocgc
             github.com/permd/permd/socket.read
             main.main
-----------+-------------------------------------------------------
`

func TestFlames(t *testing.T) {
	root := foldTraces(traces)
	if root.total != 60*time.Millisecond {
		t.Errorf("all samples: %v", root.total)
	}
	main := root.children["main.main"]
	if main == nil || main.total != root.total || len(main.children) != 2 {
		t.Fatalf("main.main: %+v", main)
	}
	// Samples of one stack are one, whether it was inlined or not.
	read := main.children["github.com/permd/permd/socket.read"]
	if read == nil || read.total != 30*time.Millisecond || read.children["runtime.mallocgc"].total != read.total {
		t.Fatalf("read: %+v", read)
	}
	picture := drawFlames("a < b", root)
	mustBeXML(t, picture)
	for _, want := range []string{"socket.read", "50.0 %", "a &lt; b"} {
		if !strings.Contains(string(picture), want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
	mustBeXML(t, drawFlames("none", foldTraces("")))
}

func TestCurve(t *testing.T) {
	c := curve{Name: "x", What: "things & more"}
	for _, n := range []int{1, 10, 100} {
		c.Points = append(c.Points, point{N: n, Fresh: 100, Repeated: float64(n), usage: usage{RSS: 50}})
	}
	if k := c.exponent(func(p point) float64 { return p.Fresh }); k != 0 {
		t.Errorf("flat: %v", k)
	}
	if k := c.exponent(func(p point) float64 { return p.Repeated }); k < 0.999 || k > 1.001 {
		t.Errorf("linear: %v", k)
	}
	if k := c.exponent(func(p point) float64 { return p.Echo }); k != 0 {
		t.Errorf("not measured: %v", k)
	}
	mustBeXML(t, c.draw())
	c.Points = c.Points[:1]
	mustBeXML(t, c.draw())
	c.Points = nil
	mustBeXML(t, c.draw())
}

// TestOverlay says that the source still has the line after which the instrumented build
// drops records.
func TestOverlay(t *testing.T) {
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := overlay(root, t.TempDir()); err != nil {
		t.Error(err)
	}
}
