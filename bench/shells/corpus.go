//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxCorpusText is the length of the longest text of a corpus that is used, in
// bytes.
const maxCorpusText = 600

// readCorpora reads the shell texts of the project's own test data and, if dir
// is not "", of the files *.jsonl in dir.
func readCorpora(module, dir string) ([]string, error) {
	var texts []string
	data := filepath.Join(module, "decisions", "effects", "testdata")
	for _, name := range []string{"shell.txt", "language.txt", "design.txt", "secrets.txt"} {
		file, err := os.ReadFile(filepath.Join(data, name))
		if err != nil {
			return nil, fmt.Errorf("reading a corpus: %w", err)
		}
		texts = append(texts, cases(string(file))...)
	}
	names := []string{filepath.Join(data, "bypass.jsonl")}
	if dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading a corpus: %w", err)
		}
		for line := range bytes.Lines(file) {
			var row struct {
				Command string `json:"command"`
			}
			if err := json.Unmarshal(line, &row); err == nil && row.Command != "" {
				texts = append(texts, row.Command)
			}
		}
	}
	texts = slices.DeleteFunc(texts, func(s string) bool { return len(s) > maxCorpusText })
	slices.Sort(texts)
	return slices.Compact(texts), nil
}

// cases returns the shell texts of a file of test cases. A text is what is between
// a line "== NAME" and a line "--", or what follows "$ ", "yes " or "no " in a
// line, up to its end or "::". There, ⏎ is a newline.
func cases(file string) []string {
	var texts []string
	for line := range strings.Lines(file) {
		for _, mark := range []string{"$ ", "yes ", "no ", "yes live ", "no live "} {
			if text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), mark); ok {
				text, _, _ = strings.Cut(text, " :: ")
				texts = append(texts, strings.ReplaceAll(text, "⏎", "\n"))
			}
		}
	}
	for part := range strings.SplitSeq(file, "\n== ") {
		_, rest, ok := strings.Cut(part, "\n")
		if !ok {
			continue
		}
		if text, _, ok := strings.Cut(rest, "\n--\n"); ok && text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}
