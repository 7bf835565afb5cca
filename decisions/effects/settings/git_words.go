package settings

import (
	"path"
	"strings"

	"github.com/permd/permd/internal/wordset"
)

// maxOwnValue bounds a value whose words are looked at, in bytes.
const maxOwnValue = 1024

// plainWords are values that name nothing, which most settings have.
var plainWords = wordset.Fields("true false yes no on off auto always never 0 1")

// shellWords begin a command that is not a program's name, or run what follows them.
var shellWords = wordset.Fields(". eval exec source command builtin coproc time trap enable alias hash if for while until case select function do then else fi done esac ! { }")

// outsideCommand reports whether a command, as git gives it to a shell, is made of
// programs that lie outside of the project, with words that name nothing there.
func (c *settingsCheck) outsideCommand(value string, ssh bool) bool {
	value = strings.Trim(value, " \t")
	if value == "" || plainWords.Has(value) {
		return true
	}
	if c.own.foreign {
		return false
	}
	commands, ok := splitCommands(strings.TrimPrefix(value, "!"))
	if !ok {
		return false
	}
	for _, words := range commands {
		if !c.outsideProgram(words[0], ssh) {
			return false
		}
		for _, w := range words[1:] {
			if !c.outsideWord(w) {
				return false
			}
		}
	}
	return true
}

// outsideText is outsideCommand for a value of which it is not known what it is: it may
// be a path, too.
func (c *settingsCheck) outsideText(value string) bool {
	value = strings.Trim(value, " \t")
	switch {
	case value == "" || plainWords.Has(value) || isNumber(value):
		return true
	case c.own.foreign || strings.Contains(value, "::"):
		return false
	}
	commands, ok := splitCommands(strings.TrimPrefix(value, "!"))
	if !ok {
		return false
	}
	for _, words := range commands {
		for i, w := range words {
			if !c.outsideWord(w) || i == 0 && (strings.HasPrefix(w, "/") || strings.HasPrefix(w, "~") || !strings.Contains(w, "/")) && !c.outsideProgram(w, false) {
				return false
			}
		}
	}
	return true
}

// outsideProgram reports whether the first word of a command is the name of a program, or
// a path outside of the project, and no program that runs what lies in the project.
func (c *settingsCheck) outsideProgram(word string, ssh bool) bool {
	name := word
	if strings.Contains(word, "/") {
		if !c.outsidePath(word) {
			return false
		}
		name = path.Base(word)
	}
	return strings.Trim(name, ".-+%@:,=#~") != "" && !strings.HasPrefix(name, ".") && !shellWords.Has(name) && !strings.Contains(name, "=") &&
		(ssh && name == "ssh" || c.own.run.Helper(name))
}

// outsidePath reports whether an absolute path, or one from the home, is outside of the
// project, also where links lead.
func (c *settingsCheck) outsidePath(text string) bool {
	file, ok := c.fromHome(text)
	if !ok || !path.IsAbs(file) || c.inProject(path.Clean(file)) {
		return false
	}
	at := c.Files.Resolved(file)
	return at != "" && !c.inProject(at) && !c.Files.Changed(file) && !c.Files.Changed(at)
}

// outsideWord reports whether a further word names nothing in the project: neither the
// word, nor a part of it that may be a value.
func (c *settingsCheck) outsideWord(word string) bool {
	if name, ok := strings.CutPrefix(word, "%"); ok && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return true // what git puts in its place
	}
	parts := []string{word}
	if strings.HasPrefix(word, "-") {
		if parts = nil; len(word) > 2 && word[1] != '-' {
			parts = append(parts, word[2:]) // the value of -xVALUE
		}
	}
	for i, r := range word {
		if strings.ContainsRune("=,:@", r) {
			parts = append(parts, word[i+1:])
		}
	}
	for _, part := range parts {
		part, _, _ = strings.Cut(part, ",")
		switch {
		case part == "" || part == "-" || plainWords.Has(part) || isNumber(part):
		case strings.Contains(part, "..") || strings.Contains(part[1:], "~"):
			return false
		case part[0] == '/' || part[0] == '~':
			if !c.outsidePath(part) {
				return false
			}
		case !c.Absent(path.Join(c.top(), part)) || c.own.run.Folder != c.top() && !c.Absent(path.Join(c.own.run.Folder, part)):
			return false
		}
	}
	return true
}

func isNumber(text string) bool { return strings.Trim(text, "0123456789.") == "" && text != "." }

// splitCommands splits a command line of plain words, with quotes, at its pipes. It is
// false for anything that a shell expands.
func splitCommands(text string) (commands [][]string, ok bool) {
	if len(text) > maxOwnValue {
		return nil, false
	}
	var words []string
	var word []byte
	quote, inWord := byte(0), false
	end := func() {
		if inWord {
			words = append(words, string(word))
		}
		word, inWord = nil, false
	}
	for i := range len(text) {
		switch b := text[i]; {
		case quote != 0 && b == quote:
			quote = 0
		case quote == 0 && (b == '"' || b == '\''):
			quote, inWord = b, true
		case quote == 0 && (b == ' ' || b == '\t'):
			end()
		case quote == 0 && b == '|':
			if end(); len(words) == 0 || i+1 < len(text) && text[i+1] == '|' {
				return nil, false
			}
			commands, words = append(commands, words), nil
		case quote == 0 && (b == '#' || b == '~') && inWord == (b == '~'):
			return nil, false // a comment, or a ~ that may not stand for the home
		case isWordChar(rune(b)) || strings.IndexByte("./~%@+:,=#-", b) >= 0 || quote != 0 && b == ' ':
			if quote != 0 && b == '~' {
				return nil, false
			}
			word, inWord = append(word, b), true
		default:
			return nil, false
		}
	}
	if end(); quote != 0 || len(words) == 0 {
		return nil, false
	}
	return append(commands, words), true
}
