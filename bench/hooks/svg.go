package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/hinshun/vt10x"
)

// The size of cells and margins, in units of the picture.
const (
	cellWidth  = 8.4
	cellHeight = 18
	fontSize   = 14
	margin     = 16
)

const (
	pictureInk   = "#d8dee9"
	picturePaper = "#16181d"
)

// The attributes of vt10x's glyphs that are drawn; it does not export them.
const (
	glyphReverse = 1 << iota
	glyphUnderline
	glyphBold
	_
	glyphItalic
)

// sixteen are xterm's first 16 colours, some of them brighter to be readable on a
// dark background.
var sixteen = [16]string{
	"#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9",
	"#7f848e", "#ff7b86", "#b5e890", "#ffd68a", "#82c4ff", "#dd9bf0", "#7fdbe6", "#ffffff",
}

// drawScreen draws a terminal as SVG, as text that can be selected and searched, in
// the reader's own monospaced font. It leaves out the rows before the one that
// contains from, and blank rows at the end.
func drawScreen(screen vt10x.View, from string) []byte {
	screen.Lock()
	defer screen.Unlock()
	columns, rows := screen.Size()
	for rows > 0 && blankRow(screen, rows-1, columns) {
		rows--
	}
	first := 0
	for y := range rows {
		if strings.Contains(rowText(screen, y, columns), from) {
			first = y
		}
	}
	width, height := float64(columns)*cellWidth+2*margin, (rows-first)*cellHeight+2*margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" role="img" aria-label="A terminal in which permd denies a command of Claude Code">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", picturePaper)
	fmt.Fprintf(&b, `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="%d" fill="%s" xml:space="preserve">`+"\n", fontSize, pictureInk)
	for y := first; y < rows; y++ {
		for x := 0; x < columns; {
			style := styleOf(screen.Cell(x, y))
			end := x
			var text strings.Builder
			for end < columns && styleOf(screen.Cell(end, y)) == style {
				c := screen.Cell(end, y).Char
				if c < ' ' {
					c = ' '
				}
				text.WriteRune(c)
				end++
			}
			style.draw(&b, x, y-first, end-x, text.String())
			x = end
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

func rowText(screen vt10x.View, y, columns int) string {
	row := make([]rune, columns)
	for x := range row {
		row[x] = screen.Cell(x, y).Char
	}
	return string(row)
}

func blankRow(screen vt10x.View, y, columns int) bool {
	for x := range columns {
		if c := screen.Cell(x, y); c.Char > ' ' || styleOf(c).paper != "" {
			return false
		}
	}
	return true
}

// cellStyle is how a cell looks. Neighbours of one style are drawn together.
type cellStyle struct {
	ink, paper              string // "" for the picture's own colours
	bold, italic, underline bool
}

func styleOf(g vt10x.Glyph) cellStyle {
	s := cellStyle{
		ink: colour(g.FG), paper: colour(g.BG),
		bold: g.Mode&glyphBold != 0, italic: g.Mode&glyphItalic != 0, underline: g.Mode&glyphUnderline != 0,
	}
	if g.Mode&glyphReverse != 0 {
		s.ink, s.paper = s.paper, s.ink
		if s.ink == "" {
			s.ink = picturePaper
		}
		if s.paper == "" {
			s.paper = pictureInk
		}
	}
	return s
}

// draw writes the cells [x, x+n) of row y.
func (s cellStyle) draw(b *bytes.Buffer, x, y, n int, text string) {
	left, top := margin+float64(x)*cellWidth, margin+y*cellHeight
	if s.paper != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", left, top, float64(n)*cellWidth, cellHeight, s.paper)
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	// textLength keeps columns aligned in whatever font a reader has.
	fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f"`, left, top+fontSize, float64(n)*cellWidth)
	if s.ink != "" {
		fmt.Fprintf(b, ` fill="%s"`, s.ink)
	}
	for _, a := range []struct {
		on   bool
		text string
	}{{s.bold, ` font-weight="bold"`}, {s.italic, ` font-style="italic"`}, {s.underline, ` text-decoration="underline"`}} {
		if a.on {
			b.WriteString(a.text)
		}
	}
	b.WriteByte('>')
	_ = xml.EscapeText(b, []byte(text)) // a bytes.Buffer returns no error
	b.WriteString("</text>\n")
}

// colour returns a colour of the screen as SVG writes it, "" for the default ones.
func colour(c vt10x.Color) string {
	switch {
	case c >= vt10x.DefaultFG:
		return ""
	case c < 16:
		return sixteen[c]
	case c < 232:
		// xterm's cube of 6 x 6 x 6 colours.
		level := func(n vt10x.Color) int {
			if n == 0 {
				return 0
			}
			return 55 + 40*int(n)
		}
		c -= 16
		return fmt.Sprintf("#%02x%02x%02x", level(c/36), level(c/6%6), level(c%6))
	case c < 256:
		grey := 8 + 10*int(c-232)
		return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
	}
	return fmt.Sprintf("#%06x", uint32(c))
}
