package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/programs"
)

// commandsOf returns the commands of the golden files and of the attacks.
func commandsOf(t *testing.T) []string {
	t.Helper()
	var all []string
	files, err := filepath.Glob("../testdata/programs/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				all = append(all, strings.TrimSpace(command))
			}
		}
	}
	for _, a := range attacks(t) {
		all = append(all, a.Command)
	}
	if len(all) < 500 {
		t.Fatalf("only %d commands", len(all))
	}
	return all
}

// TestOverlayOnlyAdds has a person's overlay that says everything it may about
// every program, and checks every command: all effects of the table remain, and
// later parts of the command keep their meaning.
func TestOverlayOnlyAdds(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it goes through all commands of the golden files")
	}
	t.Parallel()
	table := effectstest.Table(t)
	commands := commandsOf(t)
	var extend, programs strings.Builder
	for _, name := range table.Names() {
		p := table.Program(name)
		if p.Aliases[name] != "" || p.Wrapper != nil && p.Wrapper.Transparent {
			continue
		}
		fmt.Fprintf(&extend, "  - {names: ['%s'], readonly: false, recursive: true, operands: ['moves...'], implicit: ['writes .'], inherent: ['deletes x']", name)
		var subs []string
		for sub, inner := range p.Subs {
			if inner.Aliases[sub] == "" {
				subs = append(subs, fmt.Sprintf("{names: ['%s'], operands: ['makes...'], inherent: ['writes .git/config'], unknown_if_changing: x}", sub))
			}
		}
		fmt.Fprintf(&extend, ", sub: [%s]}\n", strings.Join(subs, ", "))
	}
	entries, added := 0, map[string]bool{}
	for _, text := range commands {
		_, b := shellEffects(t, table, text)
		for i := range b.Effects {
			r := b.Effects[i].Run
			if r == nil || r.Known || added[r.Program] {
				continue
			}
			if _, errs := table.ParseOverlay(map[string][]byte{"p.yaml": []byte("programs:\n  - {names: ['" + r.Program + "'], text: true}\n")}); len(errs) > 0 {
				continue
			}
			added[r.Program] = true
			kind := []string{
				"text: true", "operands: ['makes...', text]", "operands: ['moves...']", "options: {executes: ['-c=']}, operands: ['text...']",
				"rearranges: true, stop: true, operands: ['text...']", "options: {chdir: ['-C=']}, open: true, operands: ['text...']",
			}[entries%6]
			entries++
			fmt.Fprintf(&programs, "  - {names: ['%s'], readonly: true, %s}\n", r.Program, kind)
		}
	}
	if entries < 10 {
		t.Errorf("only %d programs are added", entries)
	}
	o := opinions(t, table, "programs:\n"+programs.String())
	for name, p := range extended(t, table, extend.String()) {
		o.Programs[name] = p
	}
	with := table.With(o, true)
	for _, text := range commands {
		before, was := shellEffects(t, table, text)
		after, is := shellEffects(t, with, text)
		onlyAdded(t, text, before, after)
		if !reflect.DeepEqual(was.After(), is.After()) || !slices.Equal(was.FinalFolders, is.FinalFolders) {
			t.Errorf("%s: what comes after it is %+v and was %+v", text, is.After(), was.After())
		}
		runsStay(t, text, was.Effects, is.Effects)
	}
}

// extended reads an overlay in files of a hundred entries, since one file would be
// too large.
func extended(t *testing.T, table *programs.Table, entries string) map[string]*programs.Program {
	t.Helper()
	all := map[string]*programs.Program{}
	for chunk := range slices.Chunk(strings.SplitAfter(strings.TrimRight(entries, "\n"), "\n"), 100) {
		o := opinions(t, table, "extend:\n"+strings.Join(chunk, ""))
		if o == nil {
			t.FailNow()
		}
		for name, p := range o.Programs {
			all[name] = p
		}
	}
	return all
}

func onlyAdded(t *testing.T, text string, before, after []string) {
	t.Helper()
	rest := kindsIn(after)
	for _, line := range kindsIn(before) {
		i := slices.Index(rest, line)
		if i < 0 {
			t.Errorf("%s: %q is gone:\n%s\nit was\n%s", text, line, strings.Join(after, "\n"), strings.Join(before, "\n"))
			return
		}
		rest = slices.Delete(rest, i, i+1)
	}
}

// runsStay checks that each run remains, as persons without the overlay see it.
func runsStay(t *testing.T, text string, before, after []effects.Effect) {
	t.Helper()
	plain := func(e *effects.Effect) *effects.Run {
		if e.Run != nil && e.Run.WithoutOverlay != nil {
			return e.Run.WithoutOverlay
		}
		return e.Run
	}
	at := 0
	for i := range before {
		was := before[i].Run
		if was == nil {
			continue
		}
		for ; at < len(after); at++ {
			is := plain(&after[at])
			if is != nil && is.Program == was.Program && slices.Equal(is.Args, was.Args) && !after[at].FromOverlay {
				break
			}
		}
		if at == len(after) {
			t.Errorf("%s: the run %v is gone", text, was)
			return
		}
		is := plain(&after[at])
		if is.Readonly && !was.Readonly || is.Known != was.Known || is.HarmlessFrom < was.HarmlessFrom || is.Subcommand != was.Subcommand ||
			!slices.Equal(is.Flags, was.Flags) || is.Cwd != was.Cwd || is.Stdin != was.Stdin || before[i].Tags&^after[at].Tags != 0 {
			t.Errorf("%s: it is %+v and was %+v", text, is, was)
		}
		at++
	}
}
