package setup

import (
	"fmt"
	"strings"
	"unicode"
)

// diffContext is how many lines are shown around a change.
const diffContext = 3

// maxDiff is the most lines that are compared pair by pair; longer changes are
// shown as all old lines and all new ones.
const maxDiff = 2000

// lineDiff shows what a change of a text does, as diff -u does. nil is no file.
func lineDiff(path string, before, after []byte) string {
	from, to := path, path
	if before == nil {
		from = "/dev/null"
	}
	if after == nil {
		to = "/dev/null"
	}
	old, now := splitLines(before), splitLines(after)
	head := 0
	for head < len(old) && head < len(now) && old[head] == now[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(now)-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	edits := make([]string, 0, len(old)+len(now)-head-tail)
	for _, line := range old[:head] {
		edits = append(edits, " "+line)
	}
	edits = append(edits, compareLines(old[head:len(old)-tail], now[head:len(now)-tail])...)
	for _, line := range old[len(old)-tail:] {
		edits = append(edits, " "+line)
	}
	return fmt.Sprintf("--- %s\n+++ %s\n%s", from, to, hunks(edits))
}

// splitLines are the lines with their ends.
func splitLines(text []byte) []string {
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, line)
	}
	return lines
}

// compareLines marks each line of two texts as kept, removed or added, by the
// longest common subsequence.
func compareLines(old, now []string) (edits []string) {
	if len(old) > maxDiff || len(now) > maxDiff {
		for _, line := range old {
			edits = append(edits, "-"+line)
		}
		for _, line := range now {
			edits = append(edits, "+"+line)
		}
		return edits
	}
	common := make([][]int, len(old)+1)
	for i := range common {
		common[i] = make([]int, len(now)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(now) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if old[i] == now[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(old) || j < len(now) {
		switch {
		case i < len(old) && j < len(now) && old[i] == now[j]:
			edits = append(edits, " "+old[i])
			i, j = i+1, j+1
		case i < len(old) && (j == len(now) || common[i+1][j] >= common[i][j+1]):
			edits = append(edits, "-"+old[i])
			i++
		default:
			edits = append(edits, "+"+now[j])
			j++
		}
	}
	return edits
}

// hunks groups the lines around changes.
func hunks(edits []string) string {
	var b strings.Builder
	oldLine, newLine := 1, 1
	for i := 0; i < len(edits); {
		next := i
		for next < len(edits) && edits[next][0] == ' ' {
			next++
		}
		if next == len(edits) {
			break
		}
		start := max(i, next-diffContext)
		oldLine, newLine = oldLine+start-i, newLine+start-i
		end, quiet := next, 0 // the hunk goes on while changes are close
		for ; end < len(edits) && quiet <= 2*diffContext; end++ {
			quiet++
			if edits[end][0] != ' ' {
				quiet = 0
			}
		}
		end -= max(0, quiet-diffContext)
		var body strings.Builder
		olds, news := 0, 0
		for _, line := range edits[start:end] {
			if line[0] != '+' {
				olds++
			}
			if line[0] != '-' {
				news++
			}
			body.WriteString(line)
			if !strings.HasSuffix(line, "\n") {
				body.WriteString("\n\\ No newline at end of file\n")
			}
		}
		fmt.Fprintf(&b, "@@ -%s +%s @@\n%s", lineRange(oldLine, olds), lineRange(newLine, news), body.String())
		oldLine, newLine = oldLine+olds, newLine+news
		i = end
	}
	return b.String()
}

func lineRange(at, n int) string {
	if n == 0 {
		at--
	}
	return fmt.Sprintf("%d,%d", at, n)
}

// visibleLines is a text in which a terminal shows all that there is: what moves
// its cursor or is not seen could hide a part of a change from who is asked.
func visibleLines(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\n', r == '\t', unicode.IsPrint(r), r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}
