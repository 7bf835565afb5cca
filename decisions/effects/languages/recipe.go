package languages

import "strings"

// Recipe returns a makefile's rule for a target, on one line.
func Recipe(text, target string) string {
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
