package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions"
)

// columns returns the width of the terminal that w is, 0 if it is none.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case size.Col == 0:
		return 80
	}
	return int(size.Col)
}

// Width returns how many columns a line that is printed to w may have: what COLUMNS says, else the width of the
// terminal, else 0 for any number.
func Width(w io.Writer) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return columns(w)
}

// colourful reports whether what is printed to w may have colours: it is a terminal that
// has them, and NO_COLOR is not set.
func colourful(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && columns(w) > 0
}

// colours are the colours of verdicts, and of severities that mean as much.
var colours = map[string]string{
	string(decisions.Allow): "32", string(decisions.Ask): "33", string(decisions.Deny): "31",
	"error": "31", "warning": "33", "note": "36",
}

// Paint gives text the colour of a verdict or a severity, where w shows colours.
func Paint(w io.Writer, as, text string) string {
	colour := colours[as]
	if colour == "" || !colourful(w) {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// Table is a table of text. Columns that are flexible are shortened until it fits.
type Table struct {
	Flexible []int // columns that may be shortened, counted from 0
	Ends     []int // those of them that keep their end, as the line number of a place
	rows     [][]string
}

// Row adds a row.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// A column is shortened to a fifth of the width, but not further than minFlexible, before
// the last one gets a line of its own: a few letters of each say nothing.
const minFlexible = 8

// gap is between columns, and indent in front of a last column with a line of its own.
const (
	gap    = "  "
	indent = "    "
)

// Write prints the table to w, as wide as that is.
func (t *Table) Write(w io.Writer) error { return t.write(w, Width(w)) }

// write prints the table with at most so many columns a line, any number if width is 0.
// Cells that may not be shortened can still be longer.
func (t *Table) write(w io.Writer, width int) error {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Cells(cell))
		}
	}
	inLine := len(widths)
	if width > 0 {
		all := widths
		for widths = slices.Clone(all); inLine > 1 && !t.fit(widths, width); widths = slices.Clone(all[:inLine]) {
			inLine--
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		line := ""
		for i, cell := range row {
			if i >= inLine {
				if width > 0 && slices.Contains(t.Flexible, i) {
					cell = t.clip(i, cell, width-len(indent))
				}
				if cell != "" {
					line = strings.TrimRight(line, " ") + "\n" + indent + cell
				}
				continue
			}
			cell = t.clip(i, cell, widths[i])
			line += cell
			if i < inLine-1 {
				line += strings.Repeat(" ", widths[i]-Cells(cell)) + gap
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	return nil
}

// clip shortens the cell of a column.
func (t *Table) clip(column int, cell string, most int) string {
	if slices.Contains(t.Ends, column) {
		return clipFront(cell, most)
	}
	return ClipEnd(cell, most)
}

// fit shortens flexible columns, the widest first, and reports whether all fit then.
func (t *Table) fit(widths []int, width int) bool {
	total := len(gap) * (len(widths) - 1)
	for _, n := range widths {
		total += n
	}
	least := max(minFlexible, width/5)
	for ; total > width; total-- {
		widest := -1
		for _, i := range t.Flexible {
			if i < len(widths) && widths[i] > least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
	}
	return true
}
