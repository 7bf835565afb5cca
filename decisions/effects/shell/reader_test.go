package shell

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/plainshell"
)

// FuzzPlainShell: a text that the recogniser accepts has the same words, quotes,
// expansions and operators for the parser.
func FuzzPlainShell(f *testing.F) {
	for _, text := range []string{
		"ls -la | head", "cat <<'E' > f\nit's\nE\nls", "git commit -m \"$(cat <<'E'\na (b)\nE\n)\"", "for f in a b; do wc -l \"$f\"; done < x",
		"if ! [ -f a ]; then (b &) elif c; then { d; } fi 2>&1", "x=1 y=$z IFS= read -r a # c", "echo ${a:-b} ${#c} \"${d%%.*}\" $((1 + (2))) $? $$", "export a=b c",
		"a \\\n && b ||\n\n c & d;", "cat <<A && cat <<\"B\"\n$x\nA\nb\nB\n", "time a | b &> c", "echo a{}b @{u} ~/x *.go \\; 'a\nb'",
	} {
		f.Add(text, uint8(plainshell.All))
		f.Add(text, uint8(plainshell.Bash))
	}
	f.Fuzz(func(t *testing.T, text string, shells uint8) {
		if _, refusal := plainshell.Read(text, plainshell.Shells(shells)); refusal != nil {
			return
		}
		if _, refusal := reader.read(text, plainshell.Shells(shells)); refusal != nil {
			t.Errorf("%q: %v", text, refusal)
		}
	})
}

// TestReadersDiffer: a difference between the two readers is found wherever it is,
// so that a mistake of one of them makes permd ask.
func TestReadersDiffer(t *testing.T) {
	const text = "a \"$x\" 'b' $(c d) && e | f & { g; }; for h in i; do j; done <k"
	file, refusal := reader.read(text, plainshell.All)
	if refusal != nil {
		t.Fatal(refusal)
	}
	marks := new(treeReader).read(file)
	if _, same := sameMarks(marks, marks); !same {
		t.Error("marks differ from themselves")
	}
	for i := range marks {
		for name, change := range map[string]func(m *plainshell.Mark){
			"start": func(m *plainshell.Mark) { m.Start++ }, "end": func(m *plainshell.Mark) { m.End-- }, "kind": func(m *plainshell.Mark) { m.Kind = unknownMark },
			"command": func(m *plainshell.Mark) { m.Command += 50 },
		} {
			other := append([]plainshell.Mark(nil), marks...)
			change(&other[i])
			if name == "command" && marks[i].Kind != plainshell.MarkWord {
				continue // its number alone proves nothing
			}
			if _, same := sameMarks(other, marks); same {
				t.Errorf("another %s of mark %d is not seen", name, i)
			}
		}
		if _, same := sameMarks(append(marks[:i:i], marks[i+1:]...), marks); same {
			t.Errorf("mark %d is not missed", i)
		}
		if _, same := sameMarks(marks, append(marks[:i:i], marks[i+1:]...)); same {
			t.Errorf("mark %d is not seen to be too much", i)
		}
	}
}

// TestShellOfText: text within text is for the shell that reads it.
func TestShellOfText(t *testing.T) {
	table := effectstest.Table(t)
	for _, c := range []struct {
		text   string
		shells plainshell.Shells
		plain  bool
	}{
		{"ls &>x", plainshell.Bash | plainshell.Zsh, true}, {"ls &>x", 0, false},
		{"sh -c 'ls &>x'", plainshell.Bash, false}, {"bash -c 'ls &>x'", plainshell.Sh, true}, {"/bin/bash -lc 'ls &>x'", 0, true},
		{"bash -c '[ a == b ]'", 0, true}, {"zsh -c '[ a == b ]'", plainshell.Bash, false}, {"ksh -c ls", plainshell.Bash, false},
		{"bash -O extglob -c ls", plainshell.Bash, false}, {"bash -ic ls", plainshell.Bash, false}, {"bash -euxc 'ls'", plainshell.Bash, true},
		{"env A=b sh -c 'ls | wc'", 0, true}, {"find . -exec sh -c 'ls &>x' ';'", plainshell.Bash, false}, {"ssh host 'ls &>x'", plainshell.Bash, false},
		{"bash <<'E'\nls &>x\nE", 0, true}, {"sh <<'E'\nls &>x\nE", plainshell.Bash, false}, {"fish -c ls", plainshell.Bash, true}, // a program like any other, which asks
		{"ls", plainshell.NotRead, false},
	} {
		b := shellBuilder(table, effectstest.Files())
		b.Shells = c.shells
		Text(b, c.text, effectstest.Cwd, "command")
		plain := true
		for i := range b.Effects {
			plain = plain && b.Effects[i].Cause != effects.CauseNotPlain
		}
		if plain != c.plain {
			t.Errorf("%q in %b: plain: %v, want %v", c.text, c.shells, plain, c.plain)
		}
		if b.Shells != c.shells {
			t.Errorf("%q: the shells are %b afterwards", c.text, b.Shells)
		}
	}
}

// TestNotPlainOnce: each reason is reported once, even for a shell in many folders.
func TestNotPlainOnce(t *testing.T) {
	b := shellBuilder(effectstest.Table(t), effectstest.Files())
	b.Call.Folders = []string{effectstest.Cwd + "/src", effectstest.Cwd + "/docs"}
	Text(b, "echo `ls`", effectstest.Cwd, "command")
	n := 0
	for i := range b.Effects {
		if e := &b.Effects[i]; e.Cause == effects.CauseNotPlain {
			n++
			if e.Construct != plainshell.Backquote || !strings.Contains(e.Why, "byte 5") {
				t.Errorf("%s: %s", e.Construct, e.Why)
			}
		}
	}
	if n != 1 {
		t.Errorf("said %d times", n)
	}
}
