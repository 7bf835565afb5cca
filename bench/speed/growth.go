package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// curve is what requests cost, and how much memory the daemon has, as something grows.
type curve struct {
	Name   string  `json:"name"`
	What   string  `json:"what"` // grows
	Points []point `json:"points"`
	// Exponent is that of the power of n that fits what grows best: 0 is flat, 1 is linear.
	Fresh    float64 `json:"exponent_fresh"`
	Repeated float64 `json:"exponent_repeated"`
	Memory   float64 `json:"exponent_memory"`
	Ended    string  `json:"ended,omitempty"` // why there are no more points, "" if there are all
}

// point is one of a curve.
type point struct {
	N        int     `json:"n"`
	Fresh    float64 `json:"fresh_p50_us,omitempty"`
	Repeated float64 `json:"repeated_p50_us,omitempty"`
	Echo     float64 `json:"echo_p50_us,omitempty"` // of as many bytes, at the same time
	usage
}

// dimension is something that may grow.
type dimension struct {
	name, what string
	sizes      []int
	// each measures one size. The last one that is not measured because permd refuses it
	// returns errRefused.
	each func(ctx context.Context, g *growth, n int) (point, error)
}

// growth measures the dimensions.
type growth struct {
	world *world
	permd string
	turn  time.Duration
	calls numbers
	count int // of daemons that were started
}

// powers are the powers of ten from one to another.
func powers(from, to int) []int {
	var out []int
	for n := from; n <= to; n *= 10 {
		out = append(out, n)
	}
	return out
}

var dimensions = []dimension{
	{"rules", "rules of the person", append(powers(10, 10_000), 20_000), ofRules},
	{"choices", "remembered choices", append(powers(10, 100_000), 200_000, 1_000_000), ofChoices},
	{"sessions", "sessions", powers(1, 10_000), ofSessions},
	{"connections", "connections", powers(1, 1_000), ofConnections},
	{"bytes", "bytes of a request", []int{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}, ofBytes},
	{"calls", "calls on one connection", powers(1, 100_000), nil}, // one connection for all: ofCalls
	{"parallel", "parallel calls of 100 operands in a turn", []int{1, 4, 16, 64, 256}, ofParallel},
}

// daemon starts a daemon, after prepare has put files into its folder.
func (g *growth) daemon(ctx context.Context, set configuration, prepare func(dir string) error) (*server, error) {
	g.count++
	name := fmt.Sprintf("g%d", g.count)
	if prepare != nil {
		if err := prepare(filepath.Join(g.world.dir, name)); err != nil {
			return nil, err
		}
	}
	s, err := g.world.startPermd(ctx, name, g.permd, set)
	if err != nil {
		delete(g.world.servers, name)
		if s != nil {
			s.stop()
		}
	}
	return s, err
}

// end stops a daemon and removes its files.
func (g *growth) end(s *server) {
	s.stop()
	delete(g.world.servers, s.name)
	_ = os.RemoveAll(filepath.Join(g.world.dir, s.name))
}

// growthRounds is how often the requests of a point are measured.
const growthRounds = 5

// measure measures new and repeated requests of one client, and echoes of the same bytes.
func (g *growth) measure(s *server, toolCall string) (point, error) {
	p := &plan{world: g.world}
	request := newTemplate(line("session/request_permission", params(toolCall)))
	fresh := &series{Server: s.name, Clients: 1, request: request, want: []byte(`"optionId":"allow"`)}
	repeated, echo := *fresh, *fresh
	repeated.Repeated = true
	echo.Server, echo.want = serverEcho, []byte(`"toolCallId"`)
	p.all = []*series{&echo, fresh, &repeated}
	if err := g.world.measure(p.all, growthRounds, g.turn, func(string) {}); err != nil {
		return point{}, err
	}
	u, err := s.usage()
	return point{Fresh: median(fresh.p50()), Repeated: median(repeated.p50()), Echo: median(echo.p50()), usage: u}, err
}

// runGrowth measures all dimensions up to a size, and draws them.
func runGrowth(ctx context.Context, o options, out io.Writer, progress func(string)) error {
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer w.close()
	g := &growth{world: w, permd: o.program, turn: o.turn}
	if g.permd == "" {
		progress("building permd")
		g.permd = filepath.Join(w.dir, "bin", "permd")
		if err := buildPermd(ctx, g.permd); err != nil {
			return err
		}
	}
	if err := w.startEcho(ctx, serverEcho, echoLines); err != nil {
		return err
	}
	var curves []*curve
	for _, d := range dimensions {
		if len(o.only) > 0 && !slices.Contains(o.only, d.name) {
			continue
		}
		c, err := g.curve(ctx, d, o.most, progress)
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		curves = append(curves, c)
		if o.plots != "" {
			if err := os.WriteFile(filepath.Join(o.plots, "growth-"+c.Name+".svg"), c.draw(), 0o644); err != nil {
				return err
			}
		}
	}
	if o.write {
		if err := writeDocs(docsGrowth, growthMarkdown(curves)); err != nil {
			return err
		}
	}
	if o.asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(curves)
	}
	for _, c := range curves {
		c.print(out)
	}
	return nil
}

// curve measures one dimension.
func (g *growth) curve(ctx context.Context, d dimension, most int, progress func(string)) (*curve, error) {
	c := &curve{Name: d.name, What: d.what}
	if d.each == nil {
		var err error
		if c.Points, err = ofCalls(ctx, g, d.sizes, most); err != nil {
			return nil, err
		}
	}
	for _, n := range d.sizes {
		if d.each == nil || n > most {
			continue
		}
		progress(fmt.Sprintf("%d %s", n, d.what))
		p, err := d.each(ctx, g, n)
		if refused, ok := errors.AsType[errRefused](err); ok {
			c.Ended = string(refused)
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
		p.N = n
		c.Points = append(c.Points, p)
	}
	c.Fresh = c.exponent(func(p point) float64 { return p.Fresh })
	c.Repeated = c.exponent(func(p point) float64 { return p.Repeated })
	c.Memory = c.exponent(func(p point) float64 { return p.RSS })
	return c, nil
}

// errRefused says that permd takes no more of something.
type errRefused string

func (e errRefused) Error() string { return string(e) }

// exponent returns the slope of what the points say, 0 if it is not known.
func (c *curve) exponent(of func(point) float64) float64 {
	var n, v []float64
	for _, p := range c.Points {
		if value := of(p); value > 0 {
			n, v = append(n, float64(p.N)), append(v, value)
		}
	}
	if k := slope(n, v); !math.IsNaN(k) && !math.IsInf(k, 0) {
		return k
	}
	return 0
}

// print prints a curve as a table.
func (c *curve) print(w io.Writer) {
	fmt.Fprintf(w, "%s: cost grows with the power %.2f (new) and %.2f (repeated), memory with %.2f\n", c.What, c.Fresh, c.Repeated, c.Memory)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "n\tnew µs\trepeated µs\techo µs\tMiB\tpeak\t")
	for _, p := range c.Points {
		fmt.Fprintf(t, "%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t\n", p.N, p.Fresh, p.Repeated, p.Echo, p.RSS, p.Peak)
	}
	t.Flush()
	if c.Ended != "" {
		fmt.Fprintln(w, "no more:", c.Ended)
	}
	fmt.Fprintln(w)
}

// draw draws a curve: the cost, and the memory below.
func (c *curve) draw() []byte {
	of := func(name string, v func(point) float64) plotLine {
		l := plotLine{name: name}
		for _, p := range c.Points {
			if y := v(p); y > 0 {
				l.x, l.y = append(l.x, float64(p.N)), append(l.y, y)
			}
		}
		return l
	}
	lines := []plotLine{
		of("new", func(p point) float64 { return p.Fresh }),
		of("repeated", func(p point) float64 { return p.Repeated }),
		of("echo", func(p point) float64 { return p.Echo }),
	}
	memory := []plotLine{of("resident", func(p point) float64 { return p.RSS })}
	return drawPlots(strings.ToUpper(c.What[:1])+c.What[1:],
		plot{x: c.What, y: "µs, p50", lines: lines}, plot{x: c.What, y: "MiB", lines: memory})
}
