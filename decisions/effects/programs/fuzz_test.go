package programs

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/rego"
)

// FuzzLayer: whatever a person's program file says, no program that permd knows becomes
// read-only by it, and none of its options harmless. Errors and an overlay exclude each
// other, and a file is read the same each time.
func FuzzLayer(f *testing.F) {
	for _, text := range []string{
		"programs:\n  - names: [bd]\n    sub:\n      - names: [list]\n", "extend:\n  - names: [git]\n    sub:\n      - names: [push]\n        unknown: x\n", "extend: [{names: [rm], readonly: false}]",
		"programs: [{names: [x], options: {writes: ['-o= --out=']}}]", "groups: {g: {harmless: [-v]}}\nprograms: [{names: [x], include: [g]}]", "extend: [{names: [ls], options: {unknown: ['--newopt']}}]",
		"extend:\n  - names: [git]\n    sub:\n      - names: [yolo]\n        readonly: true\n", "programs: [{names: &a [x]}]", "programs: [{names: [x], <<: {readonly: true}}]", "",
	} {
		f.Add([]byte(text))
	}
	table := shipped(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		files := map[string][]byte{"p.yaml": data}
		overlay, errs := table.ParseOverlay(files)
		if (overlay == nil) == (errs == nil) {
			t.Fatal("neither or both of an overlay and errors")
		}
		for _, e := range errs {
			if e.File != "p.yaml" || e.Line < 0 || len(e.Text) > 2*maxTableText || strings.ContainsRune(e.Text, 0x1b) {
				t.Errorf("error %+v", e)
			}
		}
		if overlay == nil {
			return
		}
		for name, p := range overlay.Programs {
			if known := table.programs[name]; known != nil {
				notMilder(t, name, known, p)
			}
		}
		again, _ := table.ParseOverlay(files)
		if again == nil || !slices.Equal(slices.Sorted(maps.Keys(again.Programs)), slices.Sorted(maps.Keys(overlay.Programs))) {
			t.Error("read again, it is another overlay")
		}
	})
}

// notMilder compares a program that an overlay changed with what it was.
func notMilder(t *testing.T, name string, was, is *Program) {
	t.Helper()
	if is.Readonly && !was.Readonly {
		t.Errorf("%s became read-only", name)
	}
	for option, o := range is.Options {
		if o.Role != RoleText {
			continue
		}
		if before := was.Options[option]; before == nil || before.Role != RoleText {
			t.Errorf("%s: %s became harmless", name, option)
		}
	}
	for sub, p := range is.Subs {
		before := was.Subs[sub]
		if before == nil {
			before = &Program{}
		}
		notMilder(t, name+" "+sub, before, p)
	}
}

// FuzzTable: a table that is accepted is complete, and never accepted twice in different
// ways.
func FuzzTable(f *testing.F) {
	for _, data := range rego.Programs() {
		if len(data) < 16<<10 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		files := map[string][]byte{"p.yaml": data}
		table, err := ParseTable(files)
		if err != nil {
			return
		}
		again, err := ParseTable(files)
		if err != nil || len(again.programs) != len(table.programs) {
			t.Fatalf("read again: %v", err)
		}
		for name, p := range table.programs {
			if p == nil || name == "" || len(p.Names) == 0 {
				t.Fatalf("the program %q", name)
			}
		}
	})
}

// FuzzReader: every word of a run is read once, in order, as whatever; and words that are
// not understood are never harmless options.
func FuzzReader(f *testing.F) {
	for _, line := range []string{
		"git\x00-c\x00a=b\x00log\x00--format=%h\x00-n3\x00--\x00-x", "sort\x00-uo\x00f\x00--outp=g", "find\x00.\x00-exec\x00rm\x00{}\x00;", "tar\x00xzf\x00a", "ps\x00aux", "ps\x00-ef\x00e",
		"dd\x00if=a\x00of=b", "rsync\x00-e\x00ssh\x00a\x00b:c", "env\x00-S\x00x", "rg\x00--pre\x00x", "kubectl\x00get\x00-o\x00json", "xargs\x00-I{}\x00sh\x00-c\x00{}",
	} {
		f.Add(line)
	}
	table := shipped(f)
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 4096 {
			return
		}
		texts := strings.Split(line, "\x00")
		program := table.programs[texts[0]]
		if program == nil {
			return
		}
		words := make([]effects.Word, len(texts)-1)
		for i, text := range texts[1:] {
			words[i] = effects.Word{Text: text}
		}
		seen := make([]bool, len(words))
		options := 0
		for r := program.Read(words); r.More(); {
			arg := r.Next()
			if arg.Index < 0 || arg.Index >= len(words) || seen[arg.Index] {
				t.Fatalf("%q: the part %+v, of words that were read: %v", texts, arg, seen)
			}
			seen[arg.Index] = true
			if arg.Kind != ArgOptions {
				continue
			}
			for use, ok := r.Option(); ok; use, ok = r.Option() {
				if options++; options > len(line)+len(program.Options)*len(words) {
					t.Fatalf("%q: %d options", texts, options)
				}
				if use.Index < arg.Index || use.Value >= len(words) {
					t.Fatalf("%q: the option %+v", texts, use)
				}
				if use.Option != nil && use.Canonical == "" {
					t.Fatalf("%q: an option without a name", texts)
				}
			}
		}
		if r := slices.Index(seen, true); len(words) > 0 && r != 0 {
			t.Fatalf("%q: the first word was not read", texts)
		}
	})
}
