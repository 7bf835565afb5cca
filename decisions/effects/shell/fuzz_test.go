package shell

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/runs"
	"github.com/permd/permd/internal/wordset"
)

// FuzzShell checks what must be true of the effects of any text.
func FuzzShell(f *testing.F) {
	for _, a := range attacks(f) {
		f.Add(a.Command)
	}
	for _, text := range []string{
		"", "#", "a&&(b;c)|d", "x=$(y)", "[[ -v a ]]", "for((;;));do :;done", "case x in y) z;; esac", "{a,b}{c,d}{1..9}",
		"cat <<-E\n\ta\n\tE\n", "$'\\x'", "find . -exec {} +", "env -S a", "xargs", "git -c", "sed -e", "cd -- -", "test", "[",
		"find -newer", "cp a", "ln", "sudo", "timeout", "command -p", "eval", "trap", "exec >x", "printf -v", "read", "go -C",
	} {
		f.Add(text)
	}
	table, files := effectstest.Table(f), effectstest.Files()
	f.Fuzz(func(t *testing.T, text string) {
		b := shellBuilder(table, files)
		Text(b, text, effectstest.Cwd, "command")
		b.DeferText(text, effectstest.Cwd, "command")
		ReadRest(b, nil)
		checkEffects(t, b)
		if len(b.Effects) > 2*MaxEffects || b.Statements > maxStatements+1 {
			t.Errorf("%d effects of %d commands", len(b.Effects), b.Statements)
		}
		if len(b.Effects) == 0 && !b.Nothing {
			t.Error("no effects, and not nothing")
		}
		if len(b.Effects) < MaxEffects && b.Statements <= maxStatements {
			checkCommands(t, b, text)
		}
	})
}

// withoutEffect are commands of the shell itself that may have no effect, and wrappers that
// add none to that of the command that they run.
var withoutEffect = wordset.Fields(`: . [ alias bg break cd chdir command continue echo eval exec exit export false fc fg getopts hash help
	jobs kill let local logout printf pwd read readonly return set shift shopt source suspend test time times trap true type
	ulimit umask unalias unset wait declare typeset builtin pushd popd dirs enable bind complete compgen compopt caller mapfile
	readarray history disown print autoload bindkey builtins whence where which rehash setopt unsetopt zle zmodload noglob nocorrect
	echotc echoti emulate float integer functions limit unlimit log private pushln sched unfunction unhash ttyctl vared zcompile
	zformat zparseopts zstyle coproc repeat - r
	timeout nice nohup env stdbuf setsid ionice chrt taskset unbuffer setarch`)

// checkCommands fails the test when a command that the reader of plain shell finds is hidden:
// no effect names it, and nothing is unknown.
func checkCommands(t testing.TB, b *runs.Builder, text string) {
	t.Helper()
	script, refusal := plainshell.Read(text, plainshell.All)
	if refusal != nil {
		return
	}
	for _, m := range script.Marks {
		name := strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(text[m.Start:m.End])
		if m.Kind != plainshell.MarkName || name == "" || name == "~" || withoutEffect.Has(name) { // ~ is written out in effects
			continue
		}
		if !slices.ContainsFunc(b.Effects, func(e effects.Effect) bool {
			return e.Kind == effects.KindUnknown || strings.Contains(e.Text, path.Base(name))
		}) {
			t.Errorf("no effect names the command %q", name)
		}
	}
}

// checkEffects fails the test when an effect is not well formed.
func checkEffects(t testing.TB, b *runs.Builder) {
	t.Helper()
	for i := range b.Effects {
		e := &b.Effects[i]
		if e.From == "" || e.Text == "" {
			t.Errorf("effect %d says too little: %s", i, effectstest.Compact(e))
		}
		if strings.ContainsFunc(e.Text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
			t.Errorf("effect %d has a text with hidden characters: %q", i, e.Text)
		}
		if e.Kind == effects.KindRun && (e.Run == nil || e.Run.HarmlessFrom < 0 || e.Run.HarmlessFrom > len(e.Run.Args)) {
			t.Errorf("effect %d is no good run: %s", i, effectstest.Compact(e))
		}
		if v := e.Via; v != nil {
			if v.Effect < 0 || v.Effect >= len(b.Effects) || b.Effects[v.Effect].Kind != effects.KindRun {
				t.Errorf("effect %d comes from no run: %s", i, effectstest.Compact(e))
			} else if v.Arg != effects.Inherent && (v.Arg < 0 || v.Arg >= len(b.Effects[v.Effect].Run.Args)) {
				t.Errorf("effect %d comes from no word of its run: %s", i, effectstest.Compact(e))
			}
		}
	}
}

// TestShellBounds has texts that would take the parser too long without bounds. The
// limits of time are far above what it needs with bounds and far below what it
// would need without.
func TestShellBounds(t *testing.T) {
	table, files := effectstest.Table(t), effectstest.Files()
	repeat := strings.Repeat
	for name, text := range map[string]string{
		"a million brackets":       repeat("(", 1<<20),
		"32 KiB of brackets":       repeat("(", maxShellText),
		"201 brackets":             repeat("(", 201) + "ls" + repeat(")", 201),
		"brackets with quoted end": repeat(`(")"`, maxShellText/4),
		"closed brackets":          repeat(`(")";`, 6<<10) + "ls" + repeat(")", 1<<10),
		"closed subshells":         repeat(`(: ")";`, 4<<10) + "ls" + repeat(")", 4<<10),
		"substitutions":            repeat("$(", 16<<10),
		"substitutions in quotes":  repeat(`"$(`, 10<<10),
		"arithmetic":               repeat("$((", 10<<10),
		"hidden arithmetic":        repeat(`$((#)`+"\n", 5<<10),
		"backquotes":               repeat("\\`", 16<<10),
		"braces":                   repeat("{a,b}", 6<<10),
		"one brace of many":        "cat {1..9223372036854775807}",
		"many commands":            repeat("a;", 16<<10),
		"many ands":                "a" + repeat("&&a", 10<<10),
		"many pipes":               "a" + repeat("|a", 16<<10),
		"many ifs":                 repeat("if a;then ", 3<<10),
		"bang":                     repeat("! ", 16<<10),
		"carriage return":          "echo hi\rrm x",
		"NUL":                      "echo hi\x00rm x",
		"escape":                   "echo \x1b[8m",
		"bidi":                     "echo \u202e x",
		"zero width":               "echo\u200b x",
		"byte order mark":          "\ufeffls",
		"not UTF-8":                "ls \xff",
		"too long":                 "echo " + repeat("x", maxShellText),
		"unclosed":                 "echo 'x",
		"if alone":                 "if",
		"shell in shell":           nestedShell(maxShellInShell + 1),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			b := shellBuilder(table, files)
			Text(b, text, effectstest.Cwd, "command")
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			checkEffects(t, b)
			if len(b.Effects) > MaxEffects+32 {
				t.Errorf("%d effects", len(b.Effects))
			}
			for i := range b.Effects {
				if b.Effects[i].Kind == effects.KindUnknown {
					return
				}
			}
			t.Error("no unknown effect")
		})
	}
}

func nestedShell(depth int) string {
	text := "ls"
	for range depth {
		text = "bash -c " + display.QuoteWord(text)
	}
	return text
}
