package docs

import (
	"os"
	"strings"
	"testing"
)

// block is a fenced code block.
type block struct {
	heading string // the nearest heading above, without #
	info    string // what follows the opening fence
	text    string
	first   int // lines of the text, from 0; the fences stand around them
	end     int
}

// document is a parsed Markdown file.
type document struct {
	path   string
	lines  []string
	blocks []block
	tables []table
	titles []string // of headings
}

// table is a table with its header.
type table struct {
	heading string
	first   int // line of the header, from 0; the rows begin two lines below
	header  []string
	rows    [][]string
}

func read(t *testing.T, path string) *document {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := &document{path: path, lines: strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")}
	heading := ""
	var open *block
	var in *table
	for i, line := range d.lines {
		if info, fence := strings.CutPrefix(strings.TrimSpace(line), "```"); fence {
			if open == nil {
				open = &block{heading: heading, info: info, first: i + 1}
			} else {
				open.end = i
				open.text = strings.Join(d.lines[open.first:i], "\n") + "\n"
				d.blocks = append(d.blocks, *open)
				open = nil
			}
			continue
		}
		if open != nil {
			continue
		}
		if text := strings.TrimLeft(line, "#"); text != line && strings.HasPrefix(text, " ") {
			heading = strings.TrimSpace(text)
			d.titles = append(d.titles, heading)
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			in = nil
		case in == nil:
			d.tables = append(d.tables, table{heading: heading, first: i, header: cells(line)})
			in = &d.tables[len(d.tables)-1]
		case strings.Trim(line, "|-: ") != "":
			in.rows = append(in.rows, cells(line))
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block is not closed", path, open.first)
	}
	return d
}

// cells returns the cells of a table row; \| is a literal bar.
func cells(line string) []string {
	const bar = "\x00"
	line = strings.ReplaceAll(line, `\|`, bar)
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	var out []string
	for cell := range strings.SplitSeq(line, "|") {
		out = append(out, strings.ReplaceAll(strings.TrimSpace(cell), bar, "|"))
	}
	return out
}

// spans returns the texts between backquotes.
func spans(cell string) []string {
	var out []string
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			out = append(out, part)
		}
	}
	return out
}

// find returns the tables with that header.
func (d *document) find(header ...string) []table {
	var out []table
	for _, tab := range d.tables {
		if strings.Join(tab.header, "|") == strings.Join(header, "|") {
			out = append(out, tab)
		}
	}
	return out
}
