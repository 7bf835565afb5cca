package runs

import (
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
)

// markPrintsSecrets marks a run that prints secrets.
func (b *Builder) markPrintsSecrets(index int, words []effects.Word) {
	if r := b.Effects[index].Run; b.Table.PrintsSecrets(r) || display.PrintsVariable(r.Program, words) {
		b.Effects[index].Tags = b.Effects[index].Tags.With(effects.Secret)
	}
}
