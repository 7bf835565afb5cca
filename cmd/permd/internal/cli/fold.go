package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Folded returns a writer that folds the lines that are written to w at spaces, so that
// they fit its width; what does not fit goes on at a column. Without a width, as in a pipe,
// it changes nothing. A word that is longer than a line stays whole, such as a path. What is
// written has to end with the end of a line.
func Folded(w io.Writer, column int) io.Writer { return &folded{w: w, column: column, width: Width(w)} }

type folded struct {
	w             io.Writer
	column, width int
	line          []byte // begun, and not ended yet
}

// Write implements [io.Writer].
func (f *folded) Write(p []byte) (int, error) {
	if f.width <= f.column {
		n, err := f.w.Write(p)
		if err != nil {
			err = fmt.Errorf("printing: %w", err)
		}
		return n, err
	}
	f.line = append(f.line, p...)
	end := bytes.LastIndexByte(f.line, '\n') + 1
	var b strings.Builder
	for line := range strings.Lines(string(f.line[:end])) {
		f.fold(&b, strings.TrimSuffix(line, "\n"))
	}
	f.line = append(f.line[:0], f.line[end:]...)
	if _, err := io.WriteString(f.w, b.String()); err != nil {
		return 0, fmt.Errorf("printing: %w", err)
	}
	return len(p), nil
}

func (f *folded) fold(b *strings.Builder, line string) {
	for Cells(line) > f.width {
		// The last space that fits, or else the first one after.
		at, n := -1, 0
		for i, c := range line {
			if c == ' ' && i > 0 && strings.TrimLeft(line[:i], " ") != "" && n >= min(f.column, f.width) && (n <= f.width || at < 0) {
				at = i
			}
			if n += cellsOf(c); n > f.width && at >= 0 {
				break
			}
		}
		if at < 0 || strings.TrimSpace(line[at:]) == "" {
			break
		}
		b.WriteString(strings.TrimRight(line[:at], " ") + "\n")
		line = strings.Repeat(" ", f.column) + strings.TrimLeft(line[at:], " ")
	}
	b.WriteString(line + "\n")
}
