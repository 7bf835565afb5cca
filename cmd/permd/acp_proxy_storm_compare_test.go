package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxStormAsked is how often the person may be asked about one request, if something
// changes before each answer.
const maxStormAsked = 3

// answers returns what was sent. An approval after which permd has to ask again, because the
// daemon was restarted, does not arrive if one of the peers ends before.
func (p *stormPeer) answers() []stormLine {
	lines := slices.Clone(p.sent)
	for i := range lines {
		if lines[i].fate == isYes && !p.settled {
			lines[i].fate = isYesAtMost
		}
	}
	return lines
}

// compareStorm compares what one peer sent with what the other received: nothing is
// repeated, out of order or missing in between; with whole, nothing is missing at
// all, and with cut, the last line may be incomplete.
func compareStorm(sent []stormLine, received []string, whole, cut bool) error {
	// An approval that permd did not get because its turn or request was cancelled.
	instead := map[string]bool{}
	for _, line := range received {
		if w := parsePair(line); w.Method == "" && w.ID != nil && stormNumber.FindString(line) == "" {
			instead[string(w.ID)] = true
		}
	}
	// An approval after which permd asked the person again, and got another answer.
	last := map[string]int{}
	for _, l := range sent {
		if w := parsePair(l.text); w.Method == "" && w.ID != nil {
			last[string(w.ID)] = l.n
		}
	}
	missing := func(lines []stormLine) error {
		return missing(slices.DeleteFunc(slices.Clone(lines), func(l stormLine) bool {
			w := parsePair(l.text)
			return l.fate == isYes && (instead[string(w.ID)] || l.n < last[string(w.ID)])
		}))
	}
	asked := map[int]int{} // how often a request reached the person
	i := 0
	for _, line := range received {
		if end := len(sent) - 1; end >= 0 && sent[end].unsure && line != "" && line != sent[end].text && strings.HasPrefix(sent[end].text, line) {
			if err := missing(sent[min(i, end):end]); err != nil {
				return fmt.Errorf("before the beginning of the last line: %w", err)
			}
			i = len(sent)
			continue
		}
		if j := slices.IndexFunc(sent[i:], func(l stormLine) bool { return l.text != line && strings.HasPrefix(l.text, line) }); cut && line != "" && j >= 0 {
			if err := missing(sent[i : i+j]); err != nil {
				return fmt.Errorf("before what was left of a line: %w", err)
			}
			i = len(sent)
			continue
		}
		m := stormNumber.FindStringSubmatch(line)
		if m == nil {
			if w := parsePair(line); (w.Method != "" || w.ID == nil) && !strings.Contains(line, ownRequest) && !strings.Contains(line, `{"requestId":"permd-`) {
				return fmt.Errorf("nobody said %.300q", line)
			}
			continue // permd's answer
		}
		n, _ := strconv.Atoi(m[1])
		if j := slices.IndexFunc(sent[:i], func(l stormLine) bool { return l.n == n && l.fate == isAsk }); j >= 0 &&
			parsePair(line).Method == "session/request_permission" && sent[j].becomes(line) && asked[n] < maxStormAsked {
			asked[n]++
			continue
		}
		from := i
		for i < len(sent) && sent[i].n < n {
			i++
		}
		if err := missing(sent[from:i]); err != nil {
			return fmt.Errorf("before %.300q: %w", line, err)
		}
		if i == len(sent) || sent[i].n != n {
			return fmt.Errorf("twice, or out of order: %.200q … %q", line, line[max(0, len(line)-200):])
		}
		if l := sent[i]; !l.becomes(line) {
			return fmt.Errorf("%.300q became %.300q", l.text, line)
		}
		asked[n]++
		i++
	}
	if whole {
		return missing(sent[i:])
	}
	return nil
}

func missing(lines []stormLine) error {
	i := slices.IndexFunc(lines, func(l stormLine) bool { return !l.unsure && (l.fate == arrives || l.fate == isYes) })
	if i < 0 {
		return nil
	}
	return fmt.Errorf("lost: %.300q", lines[i].text)
}

// becomes reports whether a line may arrive like that.
func (l *stormLine) becomes(line string) bool {
	switch l.fate {
	case isYes, isYesAtMost:
		return line == l.text || sameButOption(l.text, line)
	case isAsk:
		was, is := parsePair(l.text), parsePair(line)
		return line == l.text || was.Method == "session/request_permission" && is.Method == was.Method && string(is.ID) == string(was.ID)
	case isRefused:
		return false
	}
	return line == l.text
}
