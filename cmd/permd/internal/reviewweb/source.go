package reviewweb

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/rego"
)

const (
	// maxSource bounds a file of rules that is read, in bytes.
	maxSource = 1 << 20
	// sourceAround is how many lines are shown before and after one.
	sourceAround = 4
)

// sourceLine is a line of a file of rules.
type sourceLine struct {
	N    int
	Text string
	Here bool // the one that is named
}

// sourceOf returns the lines around a place, "file:line". There are none if it names no file of
// rules that can be read.
func sourceOf(at string) []sourceLine {
	colon := strings.LastIndexByte(at, ':')
	if colon < 0 {
		return nil
	}
	n, err := strconv.Atoi(at[colon+1:])
	if err != nil || n < 1 {
		return nil
	}
	text := rego.Base()[at[:colon]]
	if text == nil {
		text = rulesFile(at[:colon])
	}
	var lines []sourceLine
	for i, line := range slices.Collect(bytes.Lines(text)) {
		if i+1 >= n-sourceAround && i+1 <= n+sourceAround {
			lines = append(lines, sourceLine{i + 1, strings.TrimRight(strings.ReplaceAll(string(line), "\t", "    "), "\n"), i+1 == n})
		}
	}
	return lines
}

// rulesFile reads a file of rules, nil if it is none. A record of the log names it, which may
// be damaged, and links may have taken its place since: no other file is shown.
func rulesFile(path string) []byte {
	if !filepath.IsAbs(path) || !slices.Contains([]string{".rego", ".yaml", ".yml"}, filepath.Ext(path)) {
		return nil
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if folder, err := os.Lstat(filepath.Dir(path)); err != nil || !folder.IsDir() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSource))
	if err != nil {
		return nil
	}
	return text
}
