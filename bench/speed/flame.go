package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// frame is a function in a stack, with the time that it and what it called took.
type frame struct {
	name     string
	total    time.Duration
	children map[string]*frame
}

// foldTraces reads what "go tool pprof -traces" prints: stacks with their time, the
// innermost function first, and makes a tree of them.
func foldTraces(text string) *frame {
	root := &frame{name: "all", children: map[string]*frame{}}
	var stack []string
	var took time.Duration
	add := func() {
		at := root
		at.total += took
		for _, name := range slices.Backward(stack) {
			next := at.children[name]
			if next == nil {
				next = &frame{name: name, children: map[string]*frame{}}
				at.children[name] = next
			}
			next.total += took
			at = next
		}
		stack, took = nil, 0
	}
	begun := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "-----------+") {
			add()
			begun = true
			continue
		}
		if !begun || line == "" {
			continue
		}
		if value, name, ok := strings.Cut(line, " "); ok {
			if d, err := time.ParseDuration(value); err == nil {
				took, line = d, strings.TrimSpace(name)
			}
		}
		stack = append(stack, strings.TrimSuffix(line, " (inline)"))
	}
	add()
	return root
}

// The size of a flame graph, in units of the picture, and the least part of the whole that
// is drawn.
const (
	flameWidth  = 1200
	flameRow    = 17
	flameMargin = 12
	flameLeast  = 0.004
)

// drawFlames draws a flame graph of the tree: each function is drawn above its caller, and
// its width is its share of the time. The name and share are shown under the mouse.
func drawFlames(title string, root *frame) []byte {
	var boxes bytes.Buffer
	depth := 0
	var draw func(f *frame, left float64, level int)
	draw = func(f *frame, left float64, level int) {
		depth = max(depth, level)
		width := float64(f.total) / float64(root.total) * (flameWidth - 2*flameMargin)
		part := float64(f.total) / float64(root.total)
		top := -(level + 1) * flameRow
		fmt.Fprintf(&boxes, `<g><title>%s, %.1f %%</title><rect x="%.1f" y="%d" width="%.1f" height="%d" rx="1" fill="%s"/>`,
			escape(f.name), 100*part, left, top, max(width-0.4, 0.2), flameRow-1, flameColour(f.name))
		if name := shortName(f.name); width > 30 {
			if most := int(width / 6.2); len(name) > most {
				name = name[:most]
			}
			fmt.Fprintf(&boxes, `<text x="%.1f" y="%d">%s</text>`, left+3, top+flameRow-5, escape(name))
		}
		boxes.WriteString("</g>\n")
		for _, name := range slices.Sorted(maps.Keys(f.children)) {
			child := f.children[name]
			if float64(child.total) >= flameLeast*float64(root.total) {
				draw(child, left, level+1)
			}
			left += float64(child.total) / float64(root.total) * (flameWidth - 2*flameMargin)
		}
	}
	if root.total > 0 {
		draw(root, flameMargin, 0)
	}
	height := (depth+1)*flameRow + 2*flameMargin + 24
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", flameWidth, height, escape(title))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#ffffff"/><text x="%d" y="24" font-family="sans-serif" font-size="15">%s</text>`+"\n", flameMargin, escape(title))
	fmt.Fprintf(&b, `<g transform="translate(0,%d)" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="10">`+"\n", height-flameMargin)
	b.Write(boxes.Bytes())
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// shortName is the name of a function without the folders of its package.
func shortName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// flameColour tells whose function it is.
func flameColour(name string) string {
	switch {
	case strings.HasPrefix(name, "github.com/permd/permd/"):
		return "#f2a65a"
	case strings.Contains(name, "open-policy-agent"):
		return "#8fb8de"
	case strings.HasPrefix(name, "runtime."), strings.HasPrefix(name, "internal/runtime"):
		return "#d9d9d9"
	}
	return "#f6d186"
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder returns no error
	return b.String()
}
