package languages

import "strings"

// GoFlags reports whether flags for the go compiler or linker only omit things from
// a program or set its variables. Others name a linker to run.
func GoFlags(flags string) bool {
	if _, rest, ok := strings.Cut(flags, "="); ok && !strings.HasPrefix(flags, "-") {
		flags = rest // the pattern of packages before it
	}
	value := false
	for flag := range strings.FieldsSeq(flags) {
		switch {
		case value:
			value = false
			if !strings.Contains(flag, "=") || strings.ContainsAny(flag, "'\"") {
				return false
			}
		case flag == "-X":
			value = true
		case strings.HasPrefix(flag, "-X=") && !strings.ContainsAny(flag, "'\""):
		case flag == "-s", flag == "-w", flag == "-N", flag == "-l", flag == "-m", flag == "-m=2", flag == "-buildid=":
		default:
			return false
		}
	}
	return !value
}
