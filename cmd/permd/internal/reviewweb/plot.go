package reviewweb

import (
	"fmt"
	"time"
)

// day is what was decided on a day.
type day struct {
	At               time.Time
	Allow, Ask, Deny int64
}

// columns is a plot of days, as rectangles of a square of a hundred percent.
type columns struct {
	Days  []day
	Rects []rect
	Top   int64 // what the height stands for
	Label string
}

// rect is one part of a column, in percent.
type rect struct {
	Class      string
	X, Y, W, H string
}

// newColumns stacks the verdicts of each day.
func newColumns(days []day) columns {
	c := columns{Days: days, Top: 1}
	var allow, ask, deny int64
	for _, d := range days {
		c.Top = max(c.Top, d.Allow+d.Ask+d.Deny)
		allow, ask, deny = allow+d.Allow, ask+d.Ask, deny+d.Deny
	}
	step := 100 / float64(max(1, len(days)))
	const gap = 0.2 // of a column
	percent := func(f float64) string { return fmt.Sprintf("%.3f%%", f) }
	for i, d := range days {
		y := 100.0
		for _, part := range []struct {
			class string
			n     int64
		}{{"b-deny", d.Deny}, {"b-ask", d.Ask}, {"b-allow", d.Allow}} {
			if part.n == 0 {
				continue
			}
			h := 100 * float64(part.n) / float64(c.Top)
			y -= h
			c.Rects = append(c.Rects, rect{part.class, percent(step * (float64(i) + gap/2)), percent(y), percent(step * (1 - gap)), percent(h)})
		}
	}
	c.Label = fmt.Sprintf("Decisions of the last %d days: %d allowed, %d asked, %d denied", len(days), allow, ask, deny)
	return c
}
