package goals

import "strings"

// recipe returns a makefile's rule for a target, on one line.
func recipe(text, target string) string {
	var lines []string
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "\t") || inside && strings.HasPrefix(line, " "):
			if inside && strings.TrimSpace(line) != "" {
				lines = append(lines, strings.TrimSpace(line))
			}
		case strings.TrimSpace(line) == "":
		default:
			names, rest, ok := strings.Cut(line, ":")
			inside = ok && !strings.HasPrefix(rest, "=") && strings.Contains(" "+names+" ", " "+target+" ")
		}
	}
	return strings.Join(lines, "; ")
}

// Commands returns the commands of a makefile or similar, in the order of its lines.
func Commands(text string) (found []string) {
	for line := range strings.Lines(text) {
		command, ok := strings.CutPrefix(line, "\t")
		if _, after, cut := strings.Cut(line, ";"); !ok && cut {
			command, ok = after, true // "target: ; command"
		}
		if command = strings.TrimLeft(strings.TrimSpace(command), "@-+ "); ok && command != "" {
			found = append(found, command)
		}
	}
	return found
}
