package effects

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Settings of programs that lie in a project are read in their format and
// compared with a list of what is harmless. Whatever is not on the list, and
// whatever two readers of the format might take differently, is not harmless:
// searching such files for what is harmful misses what is spelled otherwise.

// Bounds of a file of settings.
const (
	maxSettings = 2048 // entries
	maxNested   = 16   // tables in each other
)

// entry is one setting of a file: where it stands, and its value, "" for one that is no
// text, number or truth value.
type entry struct {
	path  []string
	value string
}

// settings is a format with the entries that change nothing but how a program
// that only looks shows what it found.
type settings struct {
	read     func(text string) ([]entry, error)
	harmless []harmlessSetting
	// checks, where the format is more than entries, says whether the file is
	// harmless by itself.
	checks func(c *settingsCheck, text string) bool
}

// harmlessSetting is a line of such a list.
type harmlessSetting struct {
	path  []string // "*" is any one name, a last "**" one or more
	value string   // the only harmless value, if one is given
	exact bool
	kind  string // what the value must be, "" for anything
}

// settingsCheck is where a file of settings lies.
type settingsCheck struct {
	v    *invocation
	file string // absolute
	root string // of the project
	// nested is set for a file that another one leads to.
	nested bool
	// ofGit is set for what lies in git's own folder.
	ofGit bool
}

// readers are the formats of entries.
var readers = map[string]func(text string) ([]entry, error){
	"npmrc": readNpmrc, "ini": readINI, "gitconfig": readGitConfig, "toml": readTOML, "yaml": readYAML, "json": readJSON, "words": readWords,
	"lines": readLines, "mise": readMise,
}

// checks are the formats that are more than entries.
var checks = map[string]func(c *settingsCheck, text string) bool{"gomod": harmlessGoMod, "composeenv": harmlessComposeEnv}

// valueKinds say of a value whether it is harmless.
var valueKinds = map[string]func(c *settingsCheck, value string) bool{
	"word":      func(_ *settingsCheck, value string) bool { return plainValue(value) },
	"yes":       func(_ *settingsCheck, value string) bool { return slices.Contains(truths, strings.ToLower(value)) },
	"package":   func(_ *settingsCheck, value string) bool { return plainSpec(value) },
	"toolchain": installedToolchain,
	"hooks":     hooksFolder,
	"literal":   func(_ *settingsCheck, value string) bool { return literalValue(value) },
	"variables": func(_ *settingsCheck, value string) bool { return plainVariables(value) },
	"inside":    func(_ *settingsCheck, value string) bool { return literalValue(value) && insideValue(value) },
	"env_file":  harmlessEnvFile,
	"rustflag":  func(_ *settingsCheck, value string) bool { return plainRustflag(value) },
	// The repository of a submodule says where its working tree is.
	"submodule": func(c *settingsCheck, _ string) bool { return c.nested },
}

var truths = []string{"true", "false", "yes", "no", "on", "off", "1", "0", ""}

// newSettings reads what the table says of a format.
func newSettings(e *settingsEntry) (*settings, error) {
	s := &settings{read: readers[e.Format], checks: checks[e.Format]}
	if s.read == nil && s.checks == nil {
		return nil, e.Name.errorf("settings %q: unknown format %q", e.Name.text, e.Format)
	}
	if s.checks != nil && len(e.Harmless) > 0 {
		return nil, e.Harmless[0].errorf("settings %q: the format %q has a list of its own", e.Name.text, e.Format)
	}
	for _, line := range e.Harmless {
		h := harmlessSetting{}
		key, value, exact := strings.Cut(line.text, "=")
		key, kind, kinded := strings.Cut(key, ": ")
		h.value, h.exact, h.kind = value, exact, kind
		if kinded && valueKinds[kind] == nil || key == "" || strings.ContainsAny(key, " \t") {
			return nil, line.errorf("setting %q: expected KEY, KEY=VALUE or KEY: KIND", line.text)
		}
		h.path = strings.Split(key, ".")
		if strings.HasPrefix(key, "//") {
			h.path = []string{key} // of a host
		}
		s.harmless = append(s.harmless, h)
	}
	return s, nil
}

// plain reports whether all that a file says is harmless.
func (s *settings) plain(c *settingsCheck, data []byte) bool {
	text, ok := plainText(data)
	if !ok {
		return false
	}
	if s.checks != nil {
		return s.checks(c, text)
	}
	list, err := s.read(text)
	if err != nil || len(list) > maxSettings {
		return false
	}
	for i := range list {
		if !s.allows(c, &list[i]) {
			return false
		}
	}
	return true
}

// allows reports whether an entry is on the list. A line that spells out where
// the entry stands counts more than those with a "*".
func (s *settings) allows(c *settingsCheck, e *entry) bool {
	spelled := slices.ContainsFunc(s.harmless, func(h harmlessSetting) bool { return slices.Equal(h.path, e.path) })
	return slices.ContainsFunc(s.harmless, func(h harmlessSetting) bool {
		switch {
		case !matchSetting(h.path, e.path), spelled && !slices.Equal(h.path, e.path):
			return false
		case h.exact:
			return e.value == h.value
		case h.kind != "":
			return valueKinds[h.kind](c, e.value)
		}
		return true
	})
}

// matchSetting compares where an entry stands with a line of the list.
func matchSetting(line, entry []string) bool {
	for i, name := range line {
		if name == "**" {
			return len(entry) > i
		}
		if i >= len(entry) || name != "*" && name != entry[i] {
			return false
		}
	}
	return len(line) == len(entry)
}

// plainText returns a file's text with the line ends of Unix. It refuses what
// readers disagree about: a byte order mark, text that is not UTF-8, control
// characters, and characters that some take for the end of a line.
func plainText(data []byte) (string, bool) {
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	if !utf8.ValidString(text) {
		return "", false
	}
	for _, c := range text {
		switch {
		case c == '\n' || c == '\t':
		case c < ' ', c == 0x7f, c >= 0x80 && c < 0xa0, c == '\u2028', c == '\u2029', c == '\ufeff', c == '\u200e', c == '\u200f',
			c >= '\u202a' && c <= '\u202e', c >= '\u2066' && c <= '\u2069':
			return "", false
		}
	}
	return text, true
}

// plainValue reports whether a value can only be a name, a number or a version:
// no path, no address, nothing that a program would expand.
func plainValue(value string) bool {
	for _, c := range value {
		if !isWordChar(c) && !strings.ContainsRune(".+-@^~<>= *", c) {
			return false
		}
	}
	return value != "" && len(value) <= 128 && !strings.HasPrefix(value, "-") && !strings.Contains(value, "..")
}

func isWordChar(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// installedToolchain reports whether a toolchain of Rust is installed for the
// person: what is not, rustup fetches before it does anything else.
func installedToolchain(c *settingsCheck, value string) bool {
	home := c.v.b.c.User.Home
	if !plainValue(value) || strings.ContainsAny(value, " *") || !path.IsAbs(home) {
		return false
	}
	names, err := c.v.b.w.FS.Names(path.Join(home, ".rustup/toolchains"), maxToolchains)
	if err != nil {
		return false
	}
	for _, n := range names {
		if n.Name() == value || strings.HasPrefix(n.Name(), value+"-") {
			return true
		}
	}
	return false
}

// maxToolchains is how many toolchains are looked at.
const maxToolchains = 256

// hooksFolder reports whether a folder of git's hooks holds none that a command
// runs which only looks.
func hooksFolder(c *settingsCheck, value string) bool {
	if value == "" || strings.HasPrefix(value, "~") || strings.ContainsAny(value, "$%\\\"") {
		return false
	}
	dir := value
	if !path.IsAbs(dir) {
		dir = path.Join(c.root, dir)
	}
	return inside(c.root, dir) && c.v.absent(path.Join(dir, lookingHook))
}

// lookingHook is the hook that git status and git diff run.
const lookingHook = "post-index-change"

// errSettings is the error of what no reader needs to agree on.
var errSettings = errors.New("settings that may be read in two ways")

// once refuses an entry that stands twice.
func once(list []entry) ([]entry, error) {
	seen := map[string]bool{}
	for _, e := range list {
		key := strings.Join(e.path, "\x00")
		if seen[key] {
			return nil, fmt.Errorf("an entry that stands twice: %w", errSettings)
		}
		seen[key] = true
	}
	return list, nil
}
