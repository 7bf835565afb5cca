package settings

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// Kinds of values that name a file, or into which a program puts variables. What
// is wrong with a value, programs print: of a variable so everything, of a file
// the line that cannot be read.

// literalValue reports whether no variable is put into the value. $$ is a dollar.
func literalValue(value string) bool {
	return !strings.Contains(strings.ReplaceAll(value, "$$", ""), "$")
}

// composeVariable is a variable in the form of compose, with words of its own and
// none of another variable's in place of it.
var composeVariable = regexp.MustCompile(`\$\$|\$[A-Za-z_][A-Za-z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_]*(:?[-?+][^${}]*)?\}`)

// plainVariables reports whether all variables in a value, which is not itself
// looked at, are written plainly.
func plainVariables(value string) bool {
	return !strings.Contains(composeVariable.ReplaceAllString(value, ""), "$")
}

// insideValue reports whether a path, or a pattern for some, cannot lead out of
// the folder that it is in, but by links.
func insideValue(value string) bool {
	return value != "" && !path.IsAbs(value) && !strings.ContainsAny(value, "~\\:") && !strings.Contains(value, "..")
}

// harmlessEnvFile reports whether a file of variables is one of the project in
// which there is nothing that compose would print: it prints lines of which it
// does not know what they are.
func harmlessEnvFile(c *settingsCheck, value string) bool {
	if !literalValue(value) || !insideValue(value) {
		return false
	}
	file, secret := c.Files.Leads(path.Join(path.Dir(c.file), value))
	if file == "" || !lexpath.In(c.root, file) {
		return false
	}
	if !secret {
		return true
	}
	if c.Files.Rewritten(file) {
		return false
	}
	data, err := c.FS.ReadFile(file, maxObeyed)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	text, ok := plainText(data)
	return ok && !strings.Contains(text, "$") && harmlessComposeEnv(c, text)
}

// plainRustflag reports whether a flag for rustc names no file and loads nothing.
// cargo runs rustc with these flags for what builds nothing as well, to learn of
// its targets.
func plainRustflag(value string) bool {
	for _, c := range value {
		if !isWordChar(c) && !strings.ContainsRune("-=., :+\"()", c) {
			return false
		}
	}
	return !strings.Contains(value, "-Z") && !strings.Contains(value, "..") && !strings.Contains(value, "codegen-backend") && !strings.Contains(value, "sysroot")
}
