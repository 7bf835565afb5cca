package docs

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// documents returns the paths of the documents, relative to this folder.
func documents(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, "../README.md", "../CONTRIBUTING.md")
	if len(all) < 4 {
		t.Fatalf("only the documents %v", all)
	}
	return all
}

var (
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code = regexp.MustCompile("`[^`]*`")
)

// TestLinks checks that the file and heading of every relative link exist.
func TestLinks(t *testing.T) {
	found := 0
	for _, path := range documents(t) {
		for n, line := range prose(t, path) {
			for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(line, ""), -1) {
				u, err := url.Parse(m[1])
				if err != nil {
					t.Errorf("%s:%d: %v", path, n+1, err)
					continue
				}
				if u.Scheme != "" {
					continue
				}
				found++
				target := path
				if u.Path != "" {
					target = filepath.Join(filepath.Dir(path), u.Path)
				}
				if _, err := os.Stat(target); err != nil {
					t.Errorf("%s:%d: %v", path, n+1, err)
					continue
				}
				if u.Fragment != "" && !slices.Contains(anchors(t, target), u.Fragment) {
					t.Errorf("%s:%d: %s has no heading #%s", path, n+1, target, u.Fragment)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d links", found)
	}
}

// prose returns the lines of a document; lines in code blocks are empty.
func prose(t *testing.T, path string) []string {
	t.Helper()
	d := read(t, path)
	lines := slices.Clone(d.lines)
	for _, b := range d.blocks {
		for i := b.first; i < b.end; i++ {
			lines[i] = ""
		}
	}
	return lines
}

// anchors returns the fragments of a document's headings.
func anchors(t *testing.T, path string) []string {
	t.Helper()
	var out []string
	for _, title := range read(t, path).titles {
		out = append(out, strings.Map(func(c rune) rune {
			switch {
			case unicode.IsLetter(c) || unicode.IsDigit(c) || c == '-' || c == '_':
				return unicode.ToLower(c)
			case c == ' ':
				return '-'
			}
			return -1
		}, title))
	}
	return out
}

// file matches what looks like the path of a file or folder in this repository.
var file = regexp.MustCompile(`^[A-Za-z_.…*][\w.*…-]*(/[\w.*…-]+)*/?$`)

// TestFiles checks that files and folders named in code spans exist.
func TestFiles(t *testing.T) {
	var all []string
	err := filepath.WalkDir("..", func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == ".git" {
			return filepath.SkipDir
		}
		all = append(all, strings.TrimPrefix(path, "../"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	kinds := []string{".go", ".yaml", ".rego", ".txtar", ".jsonl", ".json", ".txt"}
	found := 0
	for _, path := range []string{"architecture.md", "where-to-change.md", "../CONTRIBUTING.md"} {
		for n, line := range prose(t, path) {
			var folders []string // those that a row names
			for _, span := range spans(line) {
				if dir, _, deep := strings.Cut(span, "/"); deep && slices.Contains(all, dir) && path != "../CONTRIBUTING.md" && strings.HasPrefix(line, "|") {
					folders = append(folders, strings.TrimSuffix(span, "/"), filepath.Dir(span))
				}
			}
			for _, span := range spans(line) {
				dir, _, deep := strings.Cut(span, "/")
				top := slices.Contains(all, dir)
				if !file.MatchString(span) || deep && !top || !deep && !slices.Contains(kinds, filepath.Ext(span)) {
					continue
				}
				if strings.Contains(span, "…") {
					continue
				}
				found++
				pattern := strings.TrimSuffix(span, "/")
				if !slices.ContainsFunc(all, func(name string) bool {
					if !deep {
						// A name alone is in one of the folders that its row names.
						if len(folders) > 0 && strings.HasSuffix(span, ".go") && !slices.Contains(folders, filepath.Dir(name)) {
							return false
						}
						name = filepath.Base(name)
					}
					ok, err := filepath.Match(pattern, name)
					return err == nil && ok
				}) {
					t.Errorf("%s:%d: there is no %s", path, n+1, span)
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d files", found)
	}
}

// TestCommands checks permd's commands in the documents, with their flags, against the
// program.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it builds permd and runs its help for each command of the documents")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not in PATH")
	}
	bin := filepath.Join(t.TempDir(), "permd")
	if out, err := exec.Command(tool, "build", "-ldflags=-s -w", "-o", bin, "../cmd/permd").CombinedOutput(); err != nil {
		t.Fatalf("building permd: %v\n%s", err, out)
	}
	p := program{bin: bin, help: map[string]string{}}
	found := 0
	for _, path := range documents(t) {
		d := read(t, path)
		for _, b := range d.blocks {
			for i, line := range d.lines[b.first:b.end] {
				for _, words := range commands(line) {
					found++
					p.check(t, path, b.first+i+1, words)
				}
			}
		}
		for i, line := range prose(t, path) {
			for _, span := range spans(line) {
				if words := strings.Fields(span); len(words) > 1 && words[0] == "permd" {
					found++
					p.check(t, path, i+1, words[1:])
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d commands", found)
	}
}

// commands returns the words after permd in a line of a console block, after the prompt
// or a pipe.
func commands(line string) [][]string {
	line, prompt := strings.CutPrefix(strings.TrimSpace(line), "$ ")
	if !prompt {
		return nil
	}
	line, _, _ = strings.Cut(line, " #")
	var out [][]string
	for _, part := range regexp.MustCompile(`\|\||&&|[|;&]`).Split(line, -1) {
		if words := strings.Fields(part); len(words) > 0 && words[0] == "permd" {
			out = append(out, words[1:])
		}
	}
	return out
}

// program is permd as described by its help.
type program struct {
	bin  string
	help map[string]string // by sub-command
}

func (p *program) helpOf(t *testing.T, sub string) string {
	t.Helper()
	if help, ok := p.help[sub]; ok {
		return help
	}
	out, err := exec.Command(p.bin, append(strings.Fields(sub), "--help")...).CombinedOutput()
	if err != nil {
		t.Errorf("permd %s --help: %v\n%s", sub, err, out)
	}
	p.help[sub] = string(out)
	return p.help[sub]
}

// check follows the words to the sub-command that they name, and checks the flags
// against its help.
func (p *program) check(t *testing.T, path string, line int, words []string) {
	t.Helper()
	sub := ""
	for len(words) > 0 {
		help := p.helpOf(t, sub)
		if !strings.Contains(help, "\n  permd "+strings.TrimSpace(sub+" [command]")) {
			break
		}
		if strings.HasPrefix(words[0], "-") {
			break
		}
		if !regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(words[0]) + ` +[A-Z]`).MatchString(help) {
			// A command may take an operand as well, such as permd hook: the help
			// shows one like this.
			if strings.Contains(help, "\n  permd "+sub+" "+words[0]+"\n") {
				break
			}
			t.Errorf("%s:%d: permd %s has no command %q", path, line, sub, words[0])
			return
		}
		sub = strings.TrimSpace(sub + " " + words[0])
		words = words[1:]
	}
	for _, w := range words {
		name, _, _ := strings.Cut(w, "=")
		if len(name) > 1 && name[0] == '-' && !regexp.MustCompile(`(?m)^ .*(^|[ ,])`+regexp.QuoteMeta(name)+`( |,|$)`).MatchString(p.helpOf(t, sub)) {
			t.Errorf("%s:%d: permd %s has no flag %s", path, line, sub, name)
		}
	}
}
