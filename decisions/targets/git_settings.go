package targets

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// What git's settings say is not interpreted: all that may name a program, or lead git
// elsewhere, is part of what an answer is bound to, and so is each file that one of their words
// may name.

// plainSections are sections of git's configuration that name no program and no place.
var plainSections = []string{"[user]", "[color]", "[column]", "[advice]", "[rerere]"}

// gitPrefixes are the folders in which builds of git have the settings of the system: distributions, and
// those built from source, Homebrew, MacPorts, Nix and Apple's, which adds its own.
var gitPrefixes = []string{
	"/etc", "/usr/etc", "/usr/local/etc", "/opt/homebrew/etc", "/home/linuxbrew/.linuxbrew/etc", "/opt/local/etc", "/run/current-system/sw/etc",
	"/Library/Developer/CommandLineTools/usr/share/git-core", "/Applications/Xcode.app/Contents/Developer/usr/share/git-core",
}

// persons adds the settings of the system and the person, with what they include: any of them may
// name files of the project.
func (g *gitReading) persons() (text []byte) {
	files := []string{"/etc/gitconfig"}
	if g.person != nil && path.IsAbs(g.person.Home) {
		files = append(files, g.person.Home+"/.gitconfig", g.person.Home+"/.config/git/config")
		g.attributes("own attributes", g.person.Home+"/.config/git/attributes")
		for _, dir := range configFolders(g.person)[1:] {
			g.attributes("own attributes "+dir, path.Join(dir, "git/attributes"))
			if file := path.Join(dir, "git/config"); g.present(file) {
				files = append(files, file)
			}
		}
	}
	for _, dir := range gitPrefixes {
		g.attributes("attributes "+dir, path.Join(dir, "gitattributes"))
		if file := path.Join(dir, "gitconfig"); dir != "/etc" && g.present(file) {
			files = append(files, file)
		}
	}
	for n := 0; n < len(files); n++ {
		if n == maxOwn {
			g.fail("git's settings include more files than are looked at")
			break
		}
		own := g.add("own "+files[n], files[n], obeyedSettings)
		text = append(append(text, own...), '\n')
		if bytes.Contains(bytes.ToLower(own), []byte("[include")) {
			for _, file := range g.included(path.Dir(files[n]), own) {
				if !slices.Contains(files, file) {
					files = append(files, file)
				}
			}
		}
	}
	return text
}

// included returns the files that settings in a folder may include, whatever the condition.
func (g *gitReading) included(dir string, text []byte) (files []string) {
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		isPath := key == "path" || strings.HasPrefix(key, "[") && strings.HasSuffix(key, "path")
		if !ok || !isPath {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), "\"")
		if file := g.at(dir, value); file != "" && !strings.ContainsAny(value, "\"\\#;%") {
			files = append(files, file)
		} else {
			g.fail("git's settings include files that are not certain")
		}
	}
	return files
}

// obeyedSettings returns a configuration without what names no program and no place: such
// sections, and what git itself notes of branches. A line may go on in the next one, and then it is
// the whole.
func obeyedSettings(text []byte) []byte {
	if bytes.Contains(text, []byte("\\\n")) || bytes.Contains(text, []byte("\\\r")) {
		return text
	}
	var out []byte
	skip, branch := false, false
	for line := range bytes.Lines(text) {
		if head := bytes.TrimSpace(line); bytes.HasPrefix(head, []byte("[")) {
			skip, branch = slices.Contains(plainSections, string(head)), isBranch(string(head))
		}
		if skip || branch && plainOfBranch(string(line)) {
			continue
		}
		out = append(out, line...)
	}
	return out
}

// isBranch reports whether a line is the head of a section of a branch, and no more.
func isBranch(head string) bool {
	name, ok := strings.CutPrefix(head, "[branch \"")
	if !ok {
		return false
	}
	name, ok = strings.CutSuffix(name, "\"]")
	return ok && !strings.ContainsAny(name, "\"\\]")
}

// plainOfBranch reports whether a line of such a section, with its head, is one with which git
// follows a branch of a remote that has a name.
func plainOfBranch(line string) bool {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '[' {
		return true
	}
	key, value, _ := strings.Cut(line, "=")
	key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
	switch key {
	case "remote", "pushremote":
		return value != "." && value != "" && strings.Trim(strings.ToLower(value), "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
	case "merge":
		return strings.HasPrefix(value, "refs/heads/")
	case "rebase":
		return value == "true" || value == "false"
	case "description", "gh-merge-base", "vscode-merge-base", "github-pr-owner-number": // of other programs
		return true
	}
	return false
}

// namedBy adds the files that words of settings may name from a folder, and the hooks in a folder
// that they name.
func (g *gitReading) namedBy(dir string, text []byte) {
	n := 0
	for line := range strings.Lines(string(text)) {
		before, value, _ := strings.Cut(line, "=")
		hooks := strings.HasSuffix(strings.ToLower(strings.TrimSpace(before)), "hookspath")
		if hooks && strings.ContainsAny(value, "\"\\#;") {
			g.fail("the folder of git's hooks is not certain")
		}
		if hooks {
			g.hooks(dir, strings.TrimSpace(value))
		}
		for _, word := range strings.FieldsFunc(value, separates) {
			if n++; n > maxNamed {
				g.fail("git's settings have more words than are looked at")
				return
			}
			g.reached(dir, word)
			g.named(dir, word)
		}
	}
}

// separates reports whether a character ends a word in a setting or a command in it.
func separates(c rune) bool { return c <= ' ' || strings.ContainsRune("\"'`!|&;<>()$=,\\", c) }

// at returns the path that a word may stand for, "" for none.
func (g *gitReading) at(dir, word string) string {
	if rest, ok := strings.CutPrefix(word, "~/"); ok && g.person != nil && path.IsAbs(g.person.Home) {
		return path.Join(g.person.Home, rest)
	}
	word = strings.TrimPrefix(word, "file://")
	if word == "" || word[0] == '-' || strings.Contains(word, "://") || strings.ContainsRune(word, 0) || len(word) > 1024 {
		return ""
	}
	return lexpath.Abs(dir, word)
}

// named adds the content of the file that a word may name, or that there is none.
func (g *gitReading) named(dir, word string) {
	file := g.at(dir, word)
	if file == "" || g.seen["file "+file] {
		return
	}
	g.seen["file "+file] = true
	mode, err := g.fsys.Lstat(file)
	if err == nil && mode.IsDir() {
		return
	}
	if below, ok := lexpath.RelBelow(dir, file); ok {
		g.executable("named "+below, file)
		return
	}
	// Elsewhere are programs too, of any size.
	text, err := g.fsys.ReadFile(file, maxTargets)
	g.note(file)
	g.all = appendFile(g.all, "named "+file, text, err == nil)
}

// reached adds the repository that a word may name, whose hooks a push to it runs.
func (g *gitReading) reached(dir, word string) {
	at := g.at(dir, word)
	if at == "" || lexpath.In(at, g.cwd()) {
		return
	}
	if mode, err := g.fsys.Lstat(at); err == nil && mode.IsDir() {
		g.local(at, "at "+word+"/")
	}
}

// hooks adds the files of a folder of hooks, and of the one above it: husky has the hooks that run
// there.
func (g *gitReading) hooks(dir, word string) {
	at := g.at(dir, word)
	if at == "" {
		return
	}
	folders := []string{at}
	if path.Base(at) == "_" {
		folders = append(folders, path.Dir(at))
	}
	for _, folder := range folders {
		for _, name := range g.names(folder) {
			file := path.Join(folder, name)
			if mode, err := g.fsys.Lstat(file); err == nil && mode.IsDir() {
				continue
			}
			g.executable("hook "+path.Join(path.Base(folder), name), file)
		}
	}
}

// driversOf returns the lines of attributes that may name a driver.
func driversOf(text []byte) []byte {
	return linesWith(text, func(line string) bool {
		line = strings.ToLower(line)
		return strings.Contains(line, "filter") || strings.Contains(line, "merge") || strings.Contains(line, "diff") || strings.Contains(line, "[attr]")
	})
}

// commandsOf returns the lines of a list of a rebase that are not about a commit.
func commandsOf(text []byte) []byte {
	return linesWith(text, func(line string) bool {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		return word != "" && word[0] != '#' && !slices.Contains([]string{"pick", "p", "reword", "r", "edit", "e", "squash", "s", "fixup", "f", "drop", "d", "noop"}, word)
	})
}

func linesWith(text []byte, keep func(line string) bool) (out []byte) {
	for line := range bytes.Lines(text) {
		if keep(string(line)) {
			out = append(out, line...)
		}
	}
	return out
}
