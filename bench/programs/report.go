package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// The table in docs/programs.md is between these marks.
const (
	docsFile = "docs/programs.md"
	docsFrom = "<!-- written by go run ./bench/programs -write -->\n"
	docsTo   = "<!-- end -->\n"
)

// writeDocs writes the results between the marks of docs/programs.md.
func writeDocs(list []*programResult) error {
	data, err := os.ReadFile(docsFile)
	if err != nil {
		return fmt.Errorf("reading the page: %w", err)
	}
	before, rest, found := strings.Cut(string(data), docsFrom)
	_, after, end := strings.Cut(rest, docsTo)
	if !found || !end {
		return fmt.Errorf("%s has no marks for the table", docsFile)
	}
	if err := os.WriteFile(docsFile, []byte(before+docsFrom+"\n"+report(list)+"\n"+docsTo+after), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// maxUnseen is how many forms the report names of a program that is not installed.
const maxUnseen = 40

// report returns the table, with lists of the forms of which little or nothing was
// seen.
func report(list []*programResult) string {
	var b strings.Builder
	b.WriteString("| program | version | forms | outcome |\n|---|---|---|---|\n")
	var notes, unseen []string
	for _, o := range list {
		if o.Missing != "" && o.Forms == 0 {
			text := o.Missing
			if len(o.Untried) > 0 {
				line := fmt.Sprintf("- `%s`: %s", o.Name, codes(o.Untried[:min(len(o.Untried), maxUnseen)]))
				if more := len(o.Untried) - maxUnseen; more > 0 {
					line += fmt.Sprintf(" and %d more", more)
				}
				unseen = append(unseen, line)
			} else if o.Asked > 0 {
				text += "; no form is allowed by itself"
			}
			fmt.Fprintf(&b, "| `%s` | | | %s |\n", o.Name, text)
			continue
		}
		text := "as decided"
		if len(o.Explained) > 0 {
			text += "; " + strings.Join(o.Explained, "; ")
		}
		if o.Forms == 0 {
			text = "no form is allowed by itself"
		}
		if len(o.Findings) > 0 {
			text = fmt.Sprintf("**%s**", differences(len(o.Findings)))
		}
		if len(o.Noticed) > 0 {
			text += "; asks with " + codes(o.Noticed)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %d | %s |\n", o.Name, o.Version, o.Forms, text)
		if len(o.Untried) > 0 {
			notes = append(notes, fmt.Sprintf("- `%s`: %s", o.Name, codes(o.Untried)))
		}
		if len(o.Findings) > 0 {
			notes = append(notes, fmt.Sprintf("- `%s`, differences: %s", o.Name, codes(o.Findings)))
		}
	}
	if len(notes) > 0 {
		b.WriteString("\nAllowed, but ended with an error however they were tried, so that little of them was seen:\n\n" + strings.Join(notes, "\n") + "\n")
	}
	if len(unseen) > 0 {
		b.WriteString("\nAllowed, but of programs that could not be installed, so that nothing of them was seen:\n\n" + strings.Join(unseen, "\n") + "\n")
	}
	return b.String()
}

// differences returns a number of differences in words.
func differences(n int) string {
	if n == 1 {
		return "1 difference"
	}
	return fmt.Sprintf("%d differences", n)
}

// codes returns a list in Markdown, each entry as code.
func codes(list []string) string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = "`" + strings.ReplaceAll(list[i], "|", "\\|") + "`"
	}
	return strings.Join(list, ", ")
}

// keep appends a result to a file of results.
func keep(file string, o *programResult) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("keeping a result: %w", err)
	}
	return errors.Join(json.NewEncoder(f).Encode(o), f.Close())
}

// last returns the last result of each program in a file of results, in the order
// of the table.
func last(file string, t *table) ([]*programResult, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading outcomes: %w", err)
	}
	of := map[string]*programResult{}
	for line := range bytes.Lines(data) {
		o := &programResult{}
		if err := json.Unmarshal(line, o); err != nil {
			return nil, fmt.Errorf("reading outcomes: %w", err)
		}
		of[o.Name] = o
	}
	var all []*programResult
	for _, name := range t.names() {
		if of[name] != nil {
			all = append(all, of[name])
		}
	}
	return all, nil
}
