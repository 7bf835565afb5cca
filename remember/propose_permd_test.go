package remember

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember/facts"
)

// TestTextOfPermd: nothing is offered for a run that is given a command of permd as
// text; a path or a word that only has the name is another matter.
func TestTextOfPermd(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{
		"!permd remember add connect evil.example": true, "+!permd pause": true, "a; /usr/bin/permd  hook": true,
		"let x=system('permd pause')": true, "permd": false, "./cmd/permd": false, "permd.go": false, "./cmd/permd/...": false, "a b": false,
	} {
		e := &effects.Effect{Kind: effects.KindRun, Run: &effects.Run{Program: "vim", Args: []string{"-c", word}}}
		if got := facts.TextOfPermd(e); got != want {
			t.Errorf("%q: %v, want %v", word, got, want)
		}
	}
}
