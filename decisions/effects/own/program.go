package own

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/lexpath"
)

const (
	// maxSearched is how much of one word or text is searched for permd's name, in
	// bytes.
	maxSearched = 64 << 10
	maxWords    = 4 << 10 // words of one run that are examined
)

// Detector finds uses of permd in runs of programs.
type Detector struct {
	Own   *paths.Own
	Table *programs.Table
	Paths *paths.Resolver
}

// Use returns how a run uses permd. It is called when the run is complete. appended
// is set if the run gets more words than those of the call.
func (d *Detector) Use(r *effects.Run, given string, appended bool) effects.OwnUse {
	args := r.Args
	if appended {
		args = append(slices.Clip(args), effects.DynamicWord)
	}
	if d.isOwn(r.Program, r.Cwd) || d.isOwn(given, r.Cwd) {
		return command(args)
	}
	use := effects.OwnNone
	if p := d.Table.Program(r.Program); p == nil && (appended || startsCommand(args)) && d.linkedToOwn(given) {
		use = command(args)
	}
	if r.Known && r.Readonly {
		return use // it runs no other program, and only reads files
	}
	for _, word := range r.Args[:min(len(r.Args), maxWords)] {
		if !strings.ContainsAny(word, " \t\n") && d.namesSocket(word) {
			return effects.OwnChanges
		}
	}
	code := d.runsCode(r)
	for n, i := range d.candidates(r) {
		if n >= maxWords {
			break
		}
		word := r.Args[i]
		if d.namesSocket(word) {
			return effects.OwnChanges
		}
		if d.isOwn(packageProgram(word), r.Cwd) || given == "go" && path.Base(path.Join(r.Cwd, word)) == permd {
			if slices.Contains(wrappers, path.Base(r.Program)) {
				use = max(use, command(args[i+1:]))
			} else {
				use = max(use, useOfWords(args[i+1:]))
			}
		}
		if code {
			use = max(use, d.UseInText(word))
		}
	}
	if code && r.StdinText != "" {
		use = max(use, d.UseInText(r.StdinText))
	}
	return use
}

// candidates returns the indices of the words that may make a run use permd: for a
// known program, those not known to be harmless.
func (d *Detector) candidates(r *effects.Run) []int {
	if r.Known && r.Program != "go" {
		return r.Harmful
	}
	all := make([]int, len(r.Args))
	for i := range all {
		all[i] = i
	}
	return all
}

// isOwn reports whether a program's name or path is permd's.
func (d *Detector) isOwn(name, cwd string) bool {
	if lexpath.Fold(path.Base(name)) == permd {
		return true
	}
	if len(d.Own.Programs()) == 0 || !strings.Contains(name, "/") {
		return false
	}
	if !path.IsAbs(name) {
		name = path.Join(cwd, name)
	}
	return slices.Contains(d.Own.Programs(), lexpath.Fold(path.Clean(name)))
}

// linkedToOwn reports whether a program that is found by name is a link to permd, in
// one of the folders of PATH.
func (d *Detector) linkedToOwn(name string) bool {
	if strings.Contains(name, "/") {
		return false // the path was resolved
	}
	for _, dir := range d.Own.Path {
		if at, why := d.Paths.Walk(paths.RootPlace, path.Join(dir, name), true); why == "" && !at.Missing && d.isOwn(at.Path, "/") {
			return true
		}
	}
	return false
}

// namesSocket reports whether a word contains the path of one of permd's sockets.
func (d *Detector) namesSocket(word string) bool {
	if len(word) > maxSearched || !strings.Contains(word, ".sock") {
		return false
	}
	word = lexpath.Fold(word)
	for _, s := range d.Own.Sockets {
		if strings.Contains(word, s) {
			return true
		}
	}
	for _, s := range []string{"permd/permd.sock", "permd-admin/admin.sock", "permd-http/http.sock"} {
		if strings.Contains(word, s) {
			return true
		}
	}
	return false
}

// runsCode reports whether a program runs code in its words.
func (d *Detector) runsCode(r *effects.Run) bool {
	if p := d.Table.Program(r.Program); p != nil && p.Interpreter != "" {
		return true
	}
	name := path.Base(r.Program)
	return slices.Contains(interpreters, name) || slices.Contains(wrappers, name)
}

// interpreters are programs that run code in their words but are no interpreters in
// the table; wrappers run the command in their words, whatever precedes it.
var (
	interpreters = []string{
		"awk", "ed", "emacs", "eval", "ex", "expect", "find", "gawk", "irb", "lldb", "lua", "mawk", "nawk", "nvim",
		"osascript", "perl", "php", "python", "python2", "python3", "ruby", "sed", "sqlite3", "tclsh", "vi", "view", "vim",
	}
	wrappers = []string{
		"busybox", "chroot", "dbus-run-session", "doas", "entr", "flock", "gdb", "ltrace", "nsenter", "parallel", "pkexec", "run0", "runuser",
		"script", "setsid", "ssh", "start-stop-daemon", "strace", "su", "sudo", "systemd-run", "tmux", "toybox", "unshare", "watch", "xargs",
	}
)

// UseInText looks for a command of permd in text of another language: permd's name,
// followed by the words of a command that changes something.
func (d *Detector) UseInText(text string) effects.OwnUse {
	if len(text) > maxSearched {
		text = text[:maxSearched]
	}
	if d.namesSocket(text) {
		return effects.OwnChanges
	}
	if !strings.Contains(lexpath.Fold(text), permd) {
		return effects.OwnNone
	}
	words := strings.FieldsFunc(text, func(c rune) bool {
		return c <= ' ' || strings.ContainsRune("\"'`,()[]{};|&<>$!", c)
	})
	for i, w := range words {
		if lexpath.Fold(path.Base(w)) == permd && useOfWords(words[i+1:min(len(words), i+8)]) == effects.OwnChanges {
			return effects.OwnChanges
		}
	}
	return effects.OwnNone
}
