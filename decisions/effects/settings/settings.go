// Package settings reads the files with which a project configures programs, and
// reports whether all their settings are harmless. The caller tells how files change
// before the program runs, see [Files].
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// A settings file of a project is parsed in its format and compared with an allow
// list of harmless settings. Whatever is not on the list, and whatever two parsers of
// the format might read differently, is not harmless: a deny list would miss other
// spellings.

// Bounds of a settings file.
const (
	maxSettings = 2048 // entries
	maxNested   = 16   // nested tables
)

// entry is one setting of a file: its path, and its value, "" unless that is a string,
// number or boolean.
type entry struct {
	path  []string
	value string
}

// Format is a format with its harmless settings: those that only change how a
// read-only program shows its results.
type Format struct {
	read     func(text string) ([]entry, error)
	harmless []harmlessSetting
	// checks, for formats that are more than entries, reports whether a file is
	// harmless.
	checks func(c *settingsCheck, text string) bool
	own    bool // it is for the person's own files
}

// harmlessSetting is a line of the allow list.
type harmlessSetting struct {
	path  []string // "*" is any one name, a last "**" one or more
	value string   // the only harmless value, if not ""
	exact bool
	kind  string // the kind of value that is harmless, "" for any
	when  string // if not "", only runs of that kind read the setting, see OwnRun
}

// Surroundings are the files and folders of a run.
type Surroundings struct {
	FS    effects.FS
	Files Files
	// Home is the person's home, Project the root of the project; "" for none.
	Home, Project string
}

// Files tells how files change before the program runs. Paths are absolute.
type Files interface {
	// Exists reports whether the path exists.
	Exists(file string) bool
	// Changed reports whether an earlier call, or an earlier part of the call, names
	// the file as one that it writes or deletes, or may do so.
	Changed(file string) bool
	// Rewritten is Changed, including files that git checkout and similar commands
	// may change: all but those in git's own folder.
	Rewritten(file string) bool
	// Target returns what a path leads to, "" if unknown, and whether that is a
	// guarded secret or permd's own.
	Target(file string) (at string, secret bool)
	// Resolved is Target without the question whether it is a secret.
	Resolved(file string) string
}

// settingsCheck is the location of a settings file.
type settingsCheck struct {
	*Surroundings
	file string // absolute
	root string // of the project
	// nested is set for a file to which another one refers.
	nested bool
	// ofGit is set for files in git's own folder.
	ofGit bool
	// own is set for the person's own files and those of the system.
	own *ownCheck
}

// readers parse the formats of entries.
var readers = map[string]func(text string) ([]entry, error){
	"npmrc": readNpmrc, "ini": readINI, "gitconfig": readGitConfig, "toml": readTOML, "yaml": readYAML, "json": readJSON, "words": readWords,
	"lines": readLines, "mise": readMise, "editorconfig": readEditorConfig, ownGitConfig: readOwnGitConfig,
}

// checks are the formats that are more than entries.
var checks = map[string]func(c *settingsCheck, text string) bool{"gomod": harmlessGoMod, "composeenv": harmlessComposeEnv}

// valueKinds report whether a value is harmless.
var valueKinds = map[string]func(c *settingsCheck, value string) bool{
	"word":      func(_ *settingsCheck, value string) bool { return plainValue(value) },
	"yes":       func(_ *settingsCheck, value string) bool { return slices.Contains(truths, strings.ToLower(value)) },
	"package":   func(_ *settingsCheck, value string) bool { return PlainSpec(value) },
	"toolchain": installedToolchain,
	"hooks":     hooksFolder,
	"literal":   func(_ *settingsCheck, value string) bool { return literalValue(value) },
	"variables": func(_ *settingsCheck, value string) bool { return plainVariables(value) },
	"inside":    func(_ *settingsCheck, value string) bool { return literalValue(value) && insideValue(value) },
	"env_file":  harmlessEnvFile,
	"rustflag":  func(_ *settingsCheck, value string) bool { return plainRustflag(value) },
	// The repository of a submodule has the path of its working tree.
	"submodule": func(c *settingsCheck, _ string) bool { return c.nested },
}

var truths = []string{"true", "false", "yes", "no", "on", "off", "1", "0", ""}

// NewFormat returns a format without any harmless settings, nil for an unknown one.
func NewFormat(format string) *Format {
	s := &Format{read: readers[format], checks: checks[format], own: format == ownGitConfig}
	if s.read == nil && s.checks == nil {
		return nil
	}
	return s
}

// OwnList reports whether the format itself defines what is harmless.
func (s *Format) OwnList() bool { return s.checks != nil }

// Allow adds a line of the allow list: KEY, KEY=VALUE or KEY: KIND. It returns false
// if the line is malformed.
func (s *Format) Allow(line string) bool {
	h := harmlessSetting{}
	key, value, exact := strings.Cut(line, "=")
	key, kind, kinded := strings.Cut(key, ": ")
	kind, h.when, _ = strings.Cut(kind, " of ")
	h.value, h.exact, h.kind = value, exact, kind
	if kinded && valueKinds[kind] == nil && (!s.own || ownKinds[kind] == nil) || h.when != "" && !s.own || key == "" || strings.ContainsAny(key, " \t") {
		return false
	}
	h.path = strings.Split(key, ".")
	if strings.HasPrefix(key, "//") {
		h.path = []string{key} // of a host
	}
	s.harmless = append(s.harmless, h)
	return true
}

// plain reports whether all settings of a file are harmless.
func (s *Format) plain(c *settingsCheck, data []byte) bool {
	if list, ok := plainTexts.of(s, data); ok {
		return s.allowsAll(c, list)
	}
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
	return s.allowsAll(c, plainTexts.keep(s, text, list))
}

func (s *Format) allowsAll(c *settingsCheck, list []entry) bool {
	for i := range list {
		if !s.allows(c, &list[i]) {
			return false
		}
	}
	return true
}

// allows reports whether an entry is on the list. A line that matches the entry's path
// literally wins over those with a "*". In a list for the person's own files, which has
// lines for whole sections, the line wins of which most is literal.
func (s *Format) allows(c *settingsCheck, e *entry) bool {
	most := s.mostLiteral(e)
	return slices.ContainsFunc(s.harmless, func(h harmlessSetting) bool {
		switch {
		case !matchSetting(h.path, e.path), literal(h.path) < most:
			return false
		case h.when != "" && !c.own.reads(h.when):
			return true
		case h.exact:
			return e.value == h.value
		case h.kind != "":
			if s.own && ownKinds[h.kind] != nil {
				return ownKinds[h.kind](c, e)
			}
			return valueKinds[h.kind](c, e.value)
		}
		return true
	})
}

// mostLiteral returns how many parts of a line must be literal for it to count for an entry.
func (s *Format) mostLiteral(e *entry) (most int) {
	for i := range s.harmless {
		if h := &s.harmless[i]; matchSetting(h.path, e.path) && (s.own || slices.Equal(h.path, e.path)) {
			most = max(most, literal(h.path))
		}
	}
	return most
}

// literal returns how many parts of a line of the list are no "*".
func literal(line []string) int {
	n := 0
	for _, name := range line {
		if !strings.HasPrefix(name, "*") {
			n++
		}
	}
	return n
}

// matchSetting matches the path of an entry against a line of the list.
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

// plainText returns a file's text with Unix line ends. It rejects what parsers
// disagree about: a byte order mark, invalid UTF-8, control characters, and
// characters that some take for the end of a line.
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

// plainValue reports whether a value can only be a name, a number or a version: no
// path, no address, nothing that a program would expand.
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

// installedToolchain reports whether the person has installed a Rust toolchain: rustup
// fetches a missing one before anything else.
func installedToolchain(c *settingsCheck, value string) bool {
	home := c.Home
	if !plainValue(value) || strings.ContainsAny(value, " *") || !path.IsAbs(home) {
		return false
	}
	names, err := c.FS.Names(path.Join(home, ".rustup/toolchains"), maxToolchains)
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

// maxToolchains bounds the toolchains that are compared.
const maxToolchains = 256

// hooksFolder reports whether a folder of git hooks has none that a read-only command
// runs.
func hooksFolder(c *settingsCheck, value string) bool {
	if value == "" || strings.HasPrefix(value, "~") || strings.ContainsAny(value, "$%\\\"") {
		return false
	}
	dir := value
	if !path.IsAbs(dir) {
		dir = path.Join(c.root, dir)
	}
	return lexpath.In(c.root, dir) && c.Absent(path.Join(dir, statusHook))
}

// statusHook is the hook that git status and git diff run.
const statusHook = "post-index-change"

// errRejected is the error of text that may be parsed in two ways.
var errRejected = errors.New("settings that may be read in two ways")

// rejectDuplicates rejects duplicate entries.
func rejectDuplicates(list []entry) ([]entry, error) {
	seen := map[string]bool{}
	for _, e := range list {
		key := strings.Join(e.path, "\x00")
		if seen[key] {
			return nil, fmt.Errorf("an entry that stands twice: %w", errRejected)
		}
		seen[key] = true
	}
	return list, nil
}

// HarmlessFile reports whether the file does not exist, or all its settings are
// harmless. A file that cannot be read is not harmless.
func (a *Surroundings) HarmlessFile(s *Format, file, root string) bool {
	return a.harmlessSettings(s, &settingsCheck{Surroundings: a, file: file, root: root})
}

func (a *Surroundings) harmlessSettings(s *Format, c *settingsCheck) bool {
	if a.Files.Changed(c.file) || !c.ofGit && a.Files.Rewritten(c.file) {
		return false
	}
	data, err := a.FS.ReadFile(c.file, maxObeyed)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return s.plain(c, data)
}

// maxObeyed is the maximum size of a settings file, in bytes; a larger one is not
// harmless.
const maxObeyed = 64 << 10

// Absent reports whether the file neither exists nor will be created.
func (a *Surroundings) Absent(file string) bool {
	if a.Files.Rewritten(file) {
		return false
	}
	_, err := a.FS.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}

const (
	// MaxObeyedDepth bounds the folders that are searched.
	MaxObeyedDepth = 64
)

// PlainSpec reports whether the text can only be the name of a package in a registry,
// with or without scope and version.
func PlainSpec(text string) bool {
	if scope, rest, ok := strings.Cut(text, "/"); ok {
		if len(scope) < 2 || scope[0] != '@' {
			return false
		}
		text = scope[1:] + rest
	}
	if text == "" || strings.IndexByte("-.@", text[0]) >= 0 || strings.HasSuffix(text, ".tgz") || strings.HasSuffix(text, ".gz") || strings.HasSuffix(text, ".tar") {
		return false
	}
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-@^", c) {
			return false
		}
	}
	return true
}

// Plain reports whether all settings of a text are harmless, for a format that has no lines
// whose kind of value depends on files.
func (s *Format) Plain(data []byte) bool {
	return s.plain(&settingsCheck{Surroundings: &Surroundings{}}, data)
}
