package runs

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/own"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

const (
	// maxOwnSearch is how much of one word or text is searched for permd's name, in
	// bytes.
	maxOwnSearch = 64 << 10
	maxOwnWords  = 4 << 10 // words of one run that are examined
)

// ownUse returns how a run uses permd. It is called when the run is complete. appended
// is set if the run gets more words than those of the call.
func (b *Builder) ownUse(r *effects.Run, given string, appended bool) effects.OwnUse {
	args := r.Args
	if appended {
		args = append(slices.Clip(args), effects.DynamicWord)
	}
	if b.isOwn(r.Program, r.Cwd) || b.isOwn(given, r.Cwd) {
		return own.Command(args)
	}
	use := effects.OwnNone
	if p := b.Table.Program(r.Program); p == nil && (appended || own.StartsCommand(args)) && b.linkedToOwn(given) {
		use = own.Command(args)
	}
	if r.Known && r.Readonly {
		return use // it runs no other program, and only reads files
	}
	for _, word := range r.Args[:min(len(r.Args), maxOwnWords)] {
		if !strings.ContainsAny(word, " \t\n") && b.ownSocket(word) {
			return effects.OwnChanges
		}
	}
	code := b.runsCode(r)
	for n, i := range b.ownCandidates(r) {
		if n >= maxOwnWords {
			break
		}
		word := r.Args[i]
		if b.ownSocket(word) {
			return effects.OwnChanges
		}
		if b.isOwn(own.Word(word), r.Cwd) || given == "go" && path.Base(path.Join(r.Cwd, word)) == own.Name {
			if slices.Contains(ownWrappers, path.Base(r.Program)) {
				use = max(use, own.Command(args[i+1:]))
			} else {
				use = max(use, own.UseOfWords(args[i+1:]))
			}
		}
		if code {
			use = max(use, b.OwnInText(word))
		}
	}
	if code && r.StdinText != "" {
		use = max(use, b.OwnInText(r.StdinText))
	}
	return use
}

// ownCandidates returns the indices of the words that may make a run use permd: for a
// known program, those not known to be harmless.
func (b *Builder) ownCandidates(r *effects.Run) []int {
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
func (b *Builder) isOwn(name, cwd string) bool {
	if lexpath.Fold(path.Base(name)) == own.Name {
		return true
	}
	if len(b.Own.Programs()) == 0 || !strings.Contains(name, "/") {
		return false
	}
	if !path.IsAbs(name) {
		name = path.Join(cwd, name)
	}
	return slices.Contains(b.Own.Programs(), lexpath.Fold(path.Clean(name)))
}

// linkedToOwn reports whether a program that is found by name is a link to permd, in
// one of the folders of PATH.
func (b *Builder) linkedToOwn(name string) bool {
	if strings.Contains(name, "/") {
		return false // the path was resolved
	}
	for _, dir := range b.Own.Path {
		if at, why := b.Paths.Walk(paths.RootPlace, path.Join(dir, name), true); why == "" && !at.Missing && b.isOwn(at.Path, "/") {
			return true
		}
	}
	return false
}

// ownSocket reports whether a word contains the path of one of permd's sockets.
func (b *Builder) ownSocket(word string) bool {
	if len(word) > maxOwnSearch || !strings.Contains(word, ".sock") {
		return false
	}
	word = lexpath.Fold(word)
	for _, s := range b.Own.Sockets {
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
func (b *Builder) runsCode(r *effects.Run) bool {
	if p := b.Table.Program(r.Program); p != nil && p.Interpreter != "" {
		return true
	}
	name := path.Base(r.Program)
	return slices.Contains(ownInterpreters, name) || slices.Contains(ownWrappers, name)
}

// ownInterpreters are programs that run code in their words but are no interpreters in
// the table; ownWrappers run the command in their words, whatever precedes it.
var (
	ownInterpreters = []string{
		"awk", "ed", "emacs", "eval", "ex", "expect", "find", "gawk", "irb", "lldb", "lua", "mawk", "nawk", "nvim",
		"osascript", "perl", "php", "python", "python2", "python3", "ruby", "sed", "sqlite3", "tclsh", "vi", "view", "vim",
	}
	ownWrappers = []string{
		"busybox", "chroot", "dbus-run-session", "doas", "entr", "flock", "gdb", "ltrace", "nsenter", "parallel", "pkexec", "run0", "runuser",
		"script", "setsid", "ssh", "start-stop-daemon", "strace", "su", "sudo", "systemd-run", "tmux", "toybox", "unshare", "watch", "xargs",
	}
)

// OwnInText looks for a command of permd in text of another language: permd's name,
// followed by the words of a command that changes something.
func (b *Builder) OwnInText(text string) effects.OwnUse {
	if len(text) > maxOwnSearch {
		text = text[:maxOwnSearch]
	}
	if b.ownSocket(text) {
		return effects.OwnChanges
	}
	if !strings.Contains(lexpath.Fold(text), own.Name) {
		return effects.OwnNone
	}
	words := strings.FieldsFunc(text, func(c rune) bool {
		return c <= ' ' || strings.ContainsRune("\"'`,()[]{};|&<>$!", c)
	})
	for i, w := range words {
		if lexpath.Fold(path.Base(w)) == own.Name && own.UseOfWords(words[i+1:min(len(words), i+8)]) == effects.OwnChanges {
			return effects.OwnChanges
		}
	}
	return effects.OwnNone
}
