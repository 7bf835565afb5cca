package effects

import "strings"

// printsVariable reports whether echo or printf shows a variable whose name says
// that it holds a secret; whether it is set, and how long, is none.
func printsVariable(program string, words []word) bool {
	if program != "echo" && program != "printf" {
		return false
	}
	for i := range words {
		for rest := words[i].shown; words[i].dynamic(); {
			_, after, found := strings.Cut(rest, "$")
			if !found {
				break
			}
			rest = after
			name := strings.TrimLeft(rest, "{!")
			if strings.HasPrefix(name, "#") {
				continue
			}
			end := 0
			for end < len(name) && (wordByte(name[end])) {
				end++
			}
			if asks := strings.TrimPrefix(name[end:], ":"); !strings.HasPrefix(asks, "+") && secretName(name[:end], nameOfVariable) {
				return true
			}
		}
	}
	return false
}

// printed marks a run that prints secrets.
func (b *builder) printed(index int, words []word) {
	if r := b.effects[index].Run; b.table.printsSecrets(r) || printsVariable(r.Program, words) {
		b.effects[index].Tags = b.effects[index].Tags.With(Secret)
	}
}
