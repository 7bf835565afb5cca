package runs

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/collect"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/wordset"
)

// maxPossible bounds the commands in words that are not understood, of one call.
const maxPossible = MaxRestQueue / 2

// setAside adds an effect of the word i that may stop the call and allows nothing, unless
// the rest of the call is read, which only denies see.
func (v *invocation) setAside(i int, e effects.Effect) {
	if v.b.Rest == nil {
		v.b.SetAside(v.index, i, e)
	}
}

// passesOn sets aside the read of a path that gets another name. Under that name its
// content may be read, and no rule about this path would see it.
func (v *invocation) passesOn(i int, word string) {
	e := v.b.Entry(effects.KindRead, word, v.run.Cwd, v.at.From)
	if e.File != nil {
		e.File.Recursive = v.isFolder(e.File.Path)
	}
	v.setAside(i, e)
}

func (v *invocation) isFolder(file string) bool {
	mode, err := v.b.Paths.Lstat(file)
	return err == nil && mode.IsDir()
}

// mayRead sets aside the read of each file that a part of a word names: the word, the
// value of an option or assignment, what follows a @ or file://. Only files that exist
// count: other words are hardly paths.
func (v *invocation) mayRead(i int) {
	for _, text := range v.named(i) {
		at := v.b.Paths.Resolved(text, v.run.Cwd)
		if at == "" {
			continue
		}
		if mode, err := v.b.Paths.Lstat(at); err == nil && mode.IsRegular() {
			v.setAside(i, v.b.Operand(effects.KindRead, text, v.run.Cwd, v.at.From))
		}
	}
}

// named returns the parts of a word that may be paths.
func (v *invocation) named(i int) []string {
	w := &v.args[i]
	if w.Dynamic() || w.Glob || v.b.Rest != nil || v.b.Remote {
		return nil
	}
	return slices.DeleteFunc(parts(w.Text), func(text string) bool {
		return len(text) > maxGuardedWord || strings.ContainsAny(text, "\n\x00")
	})
}

// mayWrite sets aside the write of each path that a part of a word names, and the read if
// it is a folder: a program of which nothing is known may do both. Of a path where there is
// nothing yet only denies see the write, as most such words are no paths.
func (v *invocation) mayWrite(i int) {
	if v.b.Table.OverlayProgram(v.run.Program) != nil {
		return // the person says what its words are
	}
	for _, text := range v.named(i) {
		if looksLikeOption(text) || strings.Contains(text, "://") {
			continue
		}
		e := v.b.Operand(effects.KindWrite, text, v.run.Cwd, v.at.From)
		if e.File == nil || e.Tags.Has(effects.Permd) || e.File.Path == v.run.Cwd {
			continue // a word for one of permd's own files is asked about
		}
		mode, err := v.b.Paths.Lstat(e.File.Path)
		switch {
		case err == nil && mode.IsDir() && !strings.Contains(text, "/"): // more likely a sub-command
		case err == nil && mode.IsDir():
			v.setAside(i, v.b.Operand(effects.KindRead, text, v.run.Cwd, v.at.From))
			v.setAside(i, e)
		case err == nil:
			v.setAside(i, e)
		case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(text, "./") && !strings.ContainsAny(text, " \t"):
			v.b.OpenSometimes(v.via(i, e))
		}
	}
}

// mayReadWords sets aside the reads of the words that no effect explains, of a run that
// may do anything with them: git add FILE, gh gist create FILE.
func (v *invocation) mayReadWords() {
	if v.p == nil || v.run.Readonly || v.b.inOverlay {
		return
	}
	explained := map[int]bool{}
	for i := range v.b.Effects {
		if e := &v.b.Effects[i]; e.File != nil && e.Via != nil && e.Via.Effect == v.index {
			explained[e.Via.Arg] = true
		}
	}
	v.b.TooManyAsides = v.b.TooManyAsides || len(v.args) > maxMayRead
	for i := range v.args[:min(len(v.args), maxMayRead)] {
		if !explained[i] {
			v.mayRead(i)
		}
	}
}

// maxMayRead bounds the words of a run that are looked up as possible files.
const maxMayRead = 1024

// maxParts bounds the parts of a word, which may be a long list of assignments.
const maxParts = 4

// parts returns the texts in a word that may be a path or a command.
func parts(word string) []string {
	found := []string{word}
	for rest := word; len(found) < maxParts; {
		_, value, ok := strings.Cut(rest, "=")
		if !ok {
			break
		}
		found = append(found, value)
		rest = value
	}
	for i, text := range found {
		text = strings.TrimPrefix(text, "@")
		if p, why := collect.FileURL(text); why == "" {
			text = p
		}
		found[i] = text
	}
	return slices.DeleteFunc(found, func(text string) bool { return text == "" })
}

// mayDo sets aside what a word may do that no entry of the table explains.
func (v *invocation) mayDo(i int) {
	v.mayRead(i)
	v.mayWrite(i)
	w := &v.args[i]
	if w.Dynamic() || w.Glob || v.p != nil && v.p.Interpreter != "" {
		return // code in another language is not shell text
	}
	behind := i > 0 && takesCommand.Has(v.args[i-1].Text)
	if v.p == nil && !behind {
		return // it may be any text
	}
	for _, text := range parts(w.Text) {
		if behind || strings.ContainsAny(text, " \t\n") {
			if _, behind, ok := strings.Cut(text, "!"); ok {
				text = behind // of an editor, or an alias of git
			}
			text = strings.TrimPrefix(text, "shell ") // of gdb
			v.mayRunText(text)
		}
	}
}

// takesCommand are the options whose value is a command, in programs that run one.
var takesCommand = wordset.Of("-c", "-e", "-x", "-ex", "-iex", "-eval-command", "--eval-command", "-qc", "-ec", "--command", "--cmd", "--exec", "--execute", "--run")

// mayRunText defers shell text that may run to the rest of the call.
func (v *invocation) mayRunText(text string) {
	v.b.possibly(text, nil, v.run.Cwd, v.at)
}

// mayRun defers the words from i on to the rest of the call if they may be a command
// that the program runs: the first of them is a program of the table, or a file that may
// be executed. Where the same name is a sub-command of some program, it is more likely to
// be one here as well.
func (v *invocation) mayRun(i int) {
	w := &v.args[i]
	if w.Dynamic() || w.Glob {
		return
	}
	name := v.b.ProgramName(w.Text)
	if i > 0 && v.args[i-1].Text == "--args" { // of gdb
		v.b.possibly("", v.args[i:], v.run.Cwd, v.at)
		return
	}
	if name == "" && !v.isExecutable(w.Text) || name != "" && (v.b.Table.Program(name) == nil || name == w.Text && v.b.Table.IsSubcommand(name)) {
		return
	}
	v.b.possibly("", v.args[i:], v.run.Cwd, v.at)
}

// isExecutable reports whether a word is the path of a file that its mode lets run.
func (v *invocation) isExecutable(text string) bool {
	if len(text) > maxGuardedWord || !strings.Contains(text, "/") || strings.ContainsAny(text, "\n\x00") || v.b.Remote {
		return false
	}
	at := v.b.Paths.Resolved(text, v.run.Cwd)
	if at == "" || v.b.Rearranges(at) {
		return false
	}
	mode, err := v.b.Paths.Lstat(at)
	return err == nil && mode.IsRegular() && mode.Perm()&0o111 != 0
}

// mayRunParts defers the runs of the programs in the folders that run-parts is given.
func (v *invocation) mayRunParts() {
	for _, w := range v.args {
		if w.Dynamic() || w.Glob || looksLikeOption(w.Text) || v.b.Remote {
			continue
		}
		names, _ := v.b.Paths.Names(v.folder(0, w.Text))
		for _, n := range names {
			if p := strings.TrimRight(w.Text, "/") + "/" + n.Name(); v.isExecutable(p) {
				v.b.possibly("", []effects.Word{effects.LiteralWord(p)}, v.run.Cwd, v.at)
			}
		}
	}
}

// mayDoInput sets aside the reads and writes of the files that a script for ar names, line
// by line, on standard input: ADDMOD file, CREATE library.
func (v *invocation) mayDoInput() {
	input := Input{Kind: v.at.Stdin, Text: v.at.Text, Printed: v.at.Printed}
	text, ok := input.Known()
	if !ok || len(text) > MaxOutput {
		return
	}
	before := v.args
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(" \t\r\n,()", c) }) {
		v.args = []effects.Word{effects.LiteralWord(word)}
		v.mayRead(0)
		v.mayWrite(0)
	}
	v.args = before
}

// mayDoOperands sets aside what the operands of a run may do that is not understood.
func (v *invocation) mayDoOperands() {
	v.b.TooManyAsides = v.b.TooManyAsides || len(v.operands) > maxMayRead
	for _, i := range v.operands[:min(len(v.operands), maxMayRead)] {
		v.mayDo(i)
		v.mayRun(i)
	}
}

// MayUse sets aside what a program may do with the value of a variable that is not known
// to be harmless: run it (PAGER), or read the file that it names (BASH_ENV).
func (b *Builder) MayUse(value effects.Word, at Setting) {
	v := invocation{b: b, at: at, run: &effects.Run{Cwd: at.Cwd}, args: []effects.Word{value}}
	if !value.Dynamic() && (strings.ContainsAny(value.Text, " \t\n") || v.isExecutable(value.Text)) {
		v.mayRunText(value.Text)
	}
	v.index = len(b.Effects) - 1 // the state
	v.mayRead(0)
}

// opens adds the reads of the files that the program opens by itself and obeys, for
// denies: those of the project, and secrets of the home.
func (v *invocation) opens() {
	if len(v.p.Obeys) == 0 || v.b.Rest != nil || v.b.Remote {
		return
	}
	for _, home := range v.b.Paths.Session().Homes {
		v.opensIn(home, func(o *programs.Obeyed) bool { return o.Home }, effects.TagsOf(effects.Secret))
	}
	root := v.b.Paths.Project()
	for n, dir := 0, v.b.Paths.Resolved(v.run.Cwd, ""); root != "" && lexpath.In(root, dir); n++ {
		if n == maxOpenedDepth {
			v.b.TooManyAsides = true
			break
		}
		v.opensIn(dir, func(o *programs.Obeyed) bool {
			return !o.Home && !o.Variable && !o.Git && !o.Project && !o.NextToOperand
		}, 0)
		if dir == root {
			break
		}
		dir = dir[:max(strings.LastIndexByte(dir, '/'), 0)]
	}
}

const maxOpenedDepth = 32 // folders above that of a run

// opensIn adds the reads of obeyed files in a folder, those with one of the tags unless
// there are none.
func (v *invocation) opensIn(dir string, counts func(*programs.Obeyed) bool, tags effects.Tags) {
	for i := range v.p.Obeys {
		o := &v.p.Obeys[i]
		if !counts(o) {
			continue
		}
		file := paths.Child(dir, o.Name)
		if at := v.b.Paths.Resolved(file, ""); at == "" || !v.b.Exists(at) {
			continue // as most
		}
		if e := v.b.Paths.Operand(effects.KindRead, file, "", v.at.From); e.File != nil && (tags == 0 || e.Tags&tags != 0) {
			e.File.Recursive = v.isFolder(e.File.Path)
			v.b.OpenSometimes(v.via(effects.Inherent, e))
		}
	}
}
