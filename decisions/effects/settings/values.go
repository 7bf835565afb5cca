package settings

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/lexpath"
)

// Kinds of values that name a file, or in which a program expands variables. Programs
// print a wrong value in their error messages: the whole of a variable, the malformed
// line of a file.

// literalValue reports whether no variable is expanded in the value. $$ is a dollar.
func literalValue(value string) bool {
	return !strings.Contains(strings.ReplaceAll(value, "$$", ""), "$")
}

// composeVariable matches a variable of compose, with a literal default and no other
// variable in it.
var composeVariable = lazy.Regexp(`\$\$|\$[A-Za-z_][A-Za-z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_]*(:?[-?+][^${}]*)?\}`)

// plainVariables reports whether all variables in a value are written plainly. The
// rest of the value is not checked.
func plainVariables(value string) bool {
	return !strings.Contains(composeVariable().ReplaceAllString(value, ""), "$")
}

// insideValue reports whether a path or pattern cannot leave its folder, except by
// links.
func insideValue(value string) bool {
	return value != "" && !path.IsAbs(value) && !strings.ContainsAny(value, "~\\:") && !strings.Contains(value, "..")
}

// harmlessEnvFile reports whether a file of variables belongs to the project and
// contains nothing that compose would print: it prints malformed lines.
func harmlessEnvFile(c *settingsCheck, value string) bool {
	if !literalValue(value) || !insideValue(value) {
		return false
	}
	file, secret := c.Files.Target(path.Join(path.Dir(c.file), value))
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
// cargo runs rustc with these flags even for commands that build nothing, to query
// its targets.
func plainRustflag(value string) bool {
	for _, c := range value {
		if !isWordChar(c) && !strings.ContainsRune("-=., :+\"()", c) {
			return false
		}
	}
	return !strings.Contains(value, "-Z") && !strings.Contains(value, "..") && !strings.Contains(value, "codegen-backend") && !strings.Contains(value, "sysroot")
}
