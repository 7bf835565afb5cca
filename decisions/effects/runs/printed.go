package runs

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
)

// printsVariable reports whether echo or printf prints a variable with the name of a
// secret. Whether it is set, and its length, are not secret.
func printsVariable(program string, words []effects.Word) bool {
	if program != "echo" && program != "printf" {
		return false
	}
	for i := range words {
		for rest := words[i].Shown; words[i].Dynamic(); {
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
			for end < len(name) && (display.WordByte(name[end])) {
				end++
			}
			if asks := strings.TrimPrefix(name[end:], ":"); !strings.HasPrefix(asks, "+") && display.SecretName(name[:end], display.NameOfVariable) {
				return true
			}
		}
	}
	return false
}

// markPrintsSecrets marks a run that prints secrets.
func (b *Builder) markPrintsSecrets(index int, words []effects.Word) {
	if r := b.Effects[index].Run; b.Table.PrintsSecrets(r) || printsVariable(r.Program, words) {
		b.Effects[index].Tags = b.Effects[index].Tags.With(effects.Secret)
	}
}
