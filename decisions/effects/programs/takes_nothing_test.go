package programs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/shell"
)

func init() { programs.TakesNothing = takesNothing }

// takesNothing checks that a user overlay keeps all effects of the table, and makes
// no run look more harmless.
func takesNothing(t *testing.T, entry string, table, with *programs.Table) {
	t.Helper()
	for _, text := range []string{
		"known", "known a b", "known a b c", "known -q --plain a", "known --out=f --in=g", "known -of a", "known --unknown x", "known one a -x",
		"known one deep --x=y", "known uno -x", "known eins b", "known two .env", "known tw-x a", "known new --x", "known -- -x .env", "known --pl",
		"known 'a b' \"$X\"", "cat x | known", "known <<< x", "known new; cat new/../x", "known -20", "known tvf x", "known again",
	} {
		was, before := ran(t, table, text)
		is, after := ran(t, with, text)
		rest := slices.Clone(kindsIn(after))
		for _, line := range kindsIn(before) {
			i := slices.Index(rest, line)
			if i < 0 {
				t.Errorf("%s: %s: %q is gone: %q", entry, text, line, after)
				continue
			}
			rest = slices.Delete(rest, i, i+1)
		}
		if is.Readonly && !was.Readonly || is.HarmlessFrom < was.HarmlessFrom || is.Subcommand != was.Subcommand ||
			!slices.Equal(is.Flags, was.Flags) || is.Known != was.Known || is.WithoutOverlay != nil {
			t.Errorf("%s: %s: it was %+v and is %+v", entry, text, was, is)
		}
	}
}

// ran returns the first run of shell text, and all effects.
func ran(t *testing.T, table *programs.Table, text string) (run *effects.Run, lines []string) {
	t.Helper()
	c := &effects.Call{
		Cwd:  effectstest.Cwd,
		User: effects.User{UID: 1000, Name: "ana", Home: "/home/ana", Env: map[string]string{"HOME": "/home/ana", "USER": "ana"}},
	}
	env := paths.Environment{FS: effectstest.Files()}
	b := shell.NewBuilder(env, table, c, paths.NewResolver(env, c))
	shell.Text(b, text, effectstest.Cwd, "command")
	for i := range b.Effects {
		if run == nil {
			run = b.Effects[i].Run
		}
		lines = append(lines, effectstest.Compact(&b.Effects[i]))
	}
	return run, lines
}

// kindsIn returns the effects, without the facts about the words of runs.
func kindsIn(lines []string) []string {
	var out []string
	for _, l := range lines {
		if strings.HasPrefix(l, "run ") {
			l = strings.Join(strings.Fields(l)[:2], " ")
		}
		out = append(out, strings.Split(l, " ^")[0])
	}
	return out
}
