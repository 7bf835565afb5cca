package languages

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// maxReading is how long a reader may take for one text, on a slow machine too.
const maxReading = 10 * time.Second

// FuzzPrograms: a program that is accepted is complete, so that nothing that follows it
// escapes the reader; and reading takes no long time.
func FuzzPrograms(f *testing.F) {
	for _, list := range [][]string{
		plainAwkPrograms, harmfulAwkPrograms, plainSedScripts, harmfulSedScripts, plainJQPrograms, harmfulJQPrograms, plainSQLTexts, harmfulSQLTexts,
	} {
		for _, text := range list {
			f.Add(text)
		}
	}
	languages := []struct {
		name    string
		plain   func(string) bool
		harmful []string // what follows the program
	}{
		{"awk", Awk, []string{"\nBEGIN { system(\"x\") }", "\n{ print > \"x\" }", "\n{ @f() }"}},
		{"sed", Sed, []string{"\nw x", "\ne", "\nr x\n"}},
		{"jq", JQ, []string{"\n| env", "\n| input_filename | load(\"x\")", "\n, $ENV"}},
		{"yq", YQ, []string{"\n| env", "\n| load(\"x\")", "\n, strenv(HOME)"}},
		{"sql", SQL, []string{"\n; delete from t", "\n;\n.shell x", "\n; attach 'x' as y;"}},
	}
	f.Fuzz(func(t *testing.T, text string) {
		began := time.Now()
		for _, l := range languages {
			if !l.plain(text) {
				continue
			}
			if len(text) > maxProgram {
				t.Errorf("%s: %d bytes are accepted", l.name, len(text))
			}
			for _, end := range l.harmful {
				if l.plain(text + end) {
					t.Errorf("%s: %q is accepted", l.name, text+end)
				}
			}
		}
		if took := time.Since(began); took > maxReading {
			t.Errorf("reading took %s", took)
		}
	})
}

// verifies finds the placeholders for which git runs the program that checks signatures.
var verifies = regexp.MustCompile(`%[-+ ]*G[?SKFPT]`)

// FuzzGitWords: formats that are accepted check no signature, sort keys and settings are
// words, and the path of an object or a pathspec is a part of the word.
func FuzzGitWords(f *testing.F) {
	for _, text := range []string{
		"%H", "format:%an <%ae>%n%b", "%(refname:short)", "%C(yellow)%h%Creset %<(20,trunc)%s", "%%G?", "%G?", "%+G?", "%(contents:signature)", "-version:refname",
		"core.pager=cat", "color.ui=never", "alias.x=!rm a", "HEAD:a/b", ":0:a", "HEAD@{1:2}:x", ":/x", ":(top,glob)a", ":!a", ":^", ":(exclude)x", ":/!x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if GitFormat(text) && verifies.MatchString(strings.ReplaceAll(text, "%%", "")) {
			t.Errorf("the format %q is accepted", text)
		}
		field, _, _ := strings.Cut(strings.TrimLeft(text, "-*"), ":")
		if GitSort(text) && (field == "signature" || strings.Contains(text, ":signature")) {
			t.Errorf("the key %q is accepted", text)
		}
		if GitSetting(text) {
			for _, part := range []string{"alias.", "filter.", "credential.", "url.", "include", "gpg.", "core.hookspath", "core.sshcommand", "diff.external"} {
				if strings.HasPrefix(strings.ToLower(text), part) {
					t.Errorf("the setting %q is accepted", text)
				}
			}
		}
		if file, ok := GitObject(text); ok && (file == "" || !strings.HasSuffix(text, ":"+file)) {
			t.Errorf("the path of %q is %q", text, file)
		}
		if s, ok := ParsePathspec(text); ok && !strings.HasSuffix(text, s.Path) {
			t.Errorf("the path of %q is %q", text, s.Path)
		}
		// A part that git may take for an exclusion never selects.
		if s, ok := ParsePathspec(text); ok && s.Signs && (strings.HasPrefix(text, ":!") || strings.HasPrefix(text, ":^") || strings.HasPrefix(text, ":(exclude)")) {
			t.Errorf("%q is no exclusion", text)
		}
	})
}

// FuzzColumns: columns of ps that are accepted show no environment, and commands of
// sqlite3 name no file and no program.
func FuzzColumns(f *testing.F) {
	for _, text := range []string{"pid,ppid=PARENT,args", "environ", "pid=x,environ", "e", ".tables", ".schema t", ".shell id", ".dump |sh"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if Columns(text) && slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\n=:%", r) && r != '=' }), "environ") {
			t.Errorf("the columns %q are accepted", text)
		}
		if SQLiteCommand(text) && strings.ContainsAny(text, "|/'\"\\\n;") {
			t.Errorf("the command %q is accepted", text)
		}
	})
}
