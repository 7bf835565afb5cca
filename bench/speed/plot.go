package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
)

// plot is one chart with two logarithmic axes.
type plot struct {
	x, y  string // what the axes show
	lines []plotLine
}

// plotLine is one line of a chart. All values are positive.
type plotLine struct {
	name string
	x, y []float64
}

// The size of a chart and its margins, in units of the picture.
const (
	plotWidth  = 460
	plotHeight = 280
	plotLeft   = 56
	plotRight  = 84
	plotTop    = 40
	plotBottom = 44
)

var plotColours = []string{"#c2571a", "#1f6fb2", "#7a7a7a", "#3a8f4d"}

// drawPlots draws charts next to each other as SVG.
func drawPlots(title string, plots ...plot) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", plotWidth*len(plots), plotHeight, escape(title))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#ffffff"/><g font-family="sans-serif" font-size="11" fill="#333333">`+"\n")
	fmt.Fprintf(&b, `<text x="12" y="20" font-size="14">%s</text>`+"\n", escape(title))
	for i := range plots {
		fmt.Fprintf(&b, `<g transform="translate(%d,0)">`+"\n", i*plotWidth)
		plots[i].draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// axis maps values to places, by their logarithm.
type axis struct{ least, most, from, to float64 }

func newAxis(values []float64, from, to float64) axis {
	least, most := slices.Min(values), slices.Max(values)
	a := axis{math.Pow(10, math.Floor(math.Log10(least)+1e-9)), math.Pow(10, math.Ceil(math.Log10(most)-1e-9)), from, to}
	if a.most <= a.least {
		a.most = a.least * 10
	}
	return a
}

func (a axis) at(v float64) float64 {
	return a.from + (a.to-a.from)*(math.Log10(v)-math.Log10(a.least))/(math.Log10(a.most)-math.Log10(a.least))
}

// ticks are the powers of ten on the axis.
func (a axis) ticks() []float64 {
	var out []float64
	for v := a.least; v <= a.most*1.0001; v *= 10 {
		out = append(out, v)
	}
	return out
}

func (p *plot) draw(b *bytes.Buffer) {
	var xs, ys []float64
	for _, l := range p.lines {
		xs, ys = append(xs, l.x...), append(ys, l.y...)
	}
	if len(xs) == 0 {
		return
	}
	x, y := newAxis(xs, plotLeft, plotWidth-plotRight), newAxis(ys, plotHeight-plotBottom, plotTop)
	for _, v := range y.ticks() {
		fmt.Fprintf(b, `<path d="M%.1f %.1fH%.1f" stroke="#e3e3e3"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n",
			x.from, y.at(v), x.to, x.from-6, y.at(v)+4, tickName(v))
	}
	for _, v := range x.ticks() {
		fmt.Fprintf(b, `<path d="M%.1f %.1fV%.1f" stroke="#e3e3e3"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
			x.at(v), y.from, y.to, x.at(v), y.from+15, tickName(v))
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", (x.from+x.to)/2, plotHeight-10, escape(p.x))
	fmt.Fprintf(b, `<text x="8" y="%.1f">%s</text>`+"\n", y.to-6, escape(p.y))
	below := math.Inf(-1)
	for i, l := range p.lines {
		if len(l.x) == 0 {
			continue
		}
		colour := plotColours[i%len(plotColours)]
		fmt.Fprintf(b, `<path fill="none" stroke="%s" stroke-width="2" d="`, colour)
		for j := range l.x {
			fmt.Fprintf(b, "%c%.1f %.1f", "ML"[min(j, 1)], x.at(l.x[j]), y.at(l.y[j]))
		}
		b.WriteString("\"/>\n")
		for j := range l.x {
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"><title>%s: %s at %s</title></circle>`+"\n",
				x.at(l.x[j]), y.at(l.y[j]), colour, escape(l.name), tickName(l.y[j]), tickName(l.x[j]))
		}
		last := len(l.x) - 1
		at := y.at(l.y[last]) + 4
		if math.Abs(at-below) < 12 { // names do not cover each other
			at = below + 12
		}
		below = at
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s">%s</text>`+"\n", x.at(l.x[last])+7, at, colour, escape(l.name))
	}
}

// tickName writes a number as short as it is clear.
func tickName(v float64) string {
	switch {
	case v >= 999_999.5:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 9_999.5:
		return fmt.Sprintf("%.3gk", v/1e3)
	}
	return fmt.Sprintf("%.3g", v)
}
