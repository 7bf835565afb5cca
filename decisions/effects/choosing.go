package effects

import "strings"

// MayChoose reports whether a name may be that of a file that chooses what a
// shim becomes (see programs.Shims): all files of the program table have such names.
func MayChoose(name string) bool {
	if strings.HasPrefix(name, ".") || len(name) >= 4 && strings.EqualFold(name[:4], "mise") {
		return true
	}
	for i := range len(name) {
		if name[i] >= 0x80 {
			return true // it may be another one when it is folded
		}
	}
	return false
}
