package effects

import "strings"

// MayChoose reports whether a name may be that of a file that determines what a shim
// runs (see programs.Shims): all such files in the program table have names for which it
// returns true.
func MayChoose(name string) bool {
	if strings.HasPrefix(name, ".") || len(name) >= 4 && strings.EqualFold(name[:4], "mise") {
		return true
	}
	for i := range len(name) {
		if name[i] >= 0x80 {
			return true // its folded form may be another name
		}
	}
	return false
}
