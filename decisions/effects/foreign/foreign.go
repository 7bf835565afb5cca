// Package foreign recognizes commands of PowerShell and cmd, in text that is said to be
// for a Unix shell.
package foreign

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/wordset"
)

// Why returns why a command's words do not seem to be those of a Unix shell,
// "" if nothing indicates that: a tool that calls itself a shell may be PowerShell or
// cmd, to which the words have another meaning.
func Why(words []effects.Word) string {
	name := words[0].Text
	verb, noun, ok := strings.Cut(name, "-")
	if ok && verb != "" && noun != "" && capital(verb) && capital(noun) && powerShellVerbs.Has(strings.ToLower(verb)) {
		return "a command of PowerShell: " + display.Display(name)
	}
	for i := range words[1:] {
		w := &words[i+1]
		switch {
		case w.Dynamic() || len(w.Text) < 2:
		case w.Text[0] == '/' && cmdPrograms.Has(name) && cmdSwitch(w.Text):
			return "a command of cmd: " + display.Display(name+" "+w.Text)
		case w.Text[0] == '%' && cmdVariable(w.Text) && name != "date" && name != "printf" && name != "echo":
			return "a variable of cmd: " + display.Display(w.Text)
		case w.Text[0] == '$' && strings.HasPrefix(strings.ToLower(w.Text), "$env:"):
			return "a variable of PowerShell: " + display.Display(w.Text)
		}
	}
	return ""
}

func capital(word string) bool { return 'A' <= word[0] && word[0] <= 'Z' }

// cmdSwitch reports whether a word is a switch such as /s, /? or /a:d.
func cmdSwitch(text string) bool {
	return len(text) == 2 && (chars.IsLetter(text[1]) || text[1] == '?') || len(text) > 3 && chars.IsLetter(text[1]) && text[2] == ':'
}

// cmdVariable reports whether a word begins with %NAME%.
func cmdVariable(text string) bool {
	name, _, ok := strings.Cut(text[1:], "%")
	return ok && len(name) > 1 && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789()") == ""
}

// powerShellVerbs are the most frequent verbs of PowerShell's commands.
var powerShellVerbs = wordset.Fields(`
	add clear compare complete connect convert convertfrom convertto copy disable disconnect enable enter exit expand export find
	foreach format get group import install invoke join limit measure mount move new out pop push read receive register remove rename
	repair reset resolve restart restore resume save search select send set show sort split start step stop submit suspend switch
	tee test trace unblock undo uninstall unlock unregister update use wait watch where write`)

// cmdPrograms are programs that both cmd and Unix shells have.
var cmdPrograms = wordset.Fields("dir type find sort echo more mkdir rmdir tree comp date time set cd move copy del rd md start where cls ren erase xcopy")
