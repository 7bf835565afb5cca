package paths

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/internal/lexpath"
)

// FuzzIgnore: a line that certainly matches a path may match it; a text that is read in
// parts has the same rules; and no file takes long.
func FuzzIgnore(f *testing.F) {
	for _, text := range []string{
		"*.log\n!keep.log\n", "/a/**/b\n", "a/\n", "**/x/**\n", "\\#a\n[ab]*\n", "a \n", "!*\n", "# c\n\n/\n", "a\r\n", "**/**/**/**/**/**/**/x", "!.{env,x}\n", "a\n\xff\nb\n", "\ufeff!a\u00a0\n", "a/**/**/b", strings.Repeat("*a", 60),
	} {
		f.Add(text, "a/b/keep.log", true)
		f.Add(text, strings.Repeat("a/", 40)+"x", false)
	}
	f.Fuzz(func(t *testing.T, text, name string, folder bool) {
		if len(text) > maxIgnoreFile || len(name) > 4096 {
			return
		}
		began := time.Now()
		rel := strings.Split(name, "/")
		rules := ignoreRules(text)
		for i := range rules {
			rule := &rules[i]
			if rule.matches(rel, folder) && !rule.mayMatch(rel, folder) {
				t.Errorf("%+v matches %q, and may not match it", *rule, name)
			}
			// A name that differs only in case is the same to some file systems.
			folded := strings.Split(lexpath.Fold(name), "/")
			if rule.mayMatch(rel, folder) != rule.mayMatch(folded, folder) {
				t.Errorf("%+v may match %q: %v, and not so folded", *rule, name, rule.mayMatch(rel, folder))
			}
			// What a folder's rule matches is a folder.
			if rule.folders && !folder && rule.words != nil && rel[len(rel)-1] == strings.TrimSpace(rel[len(rel)-1]) && (rule.matches(rel, folder) || rule.mayMatch(rel, folder)) {
				t.Errorf("%+v matches the file %q", *rule, name)
			}
		}
		if n := strings.IndexByte(text, '\n'); n >= 0 {
			parts := append(ignoreRules(text[:n]), ignoreRules(text[n+1:])...)
			if len(parts) != len(rules) {
				t.Errorf("%q has %d rules, its parts %d", text, len(rules), len(parts))
			}
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%d lines took %s", len(rules), took)
		}
	})
}

// FuzzGlob: what path.Match matches may match, except for names that begin with a dot.
func FuzzGlob(f *testing.F) {
	for _, c := range [][2]string{{"*.go", "a.go"}, {"?", "é"}, {"[a-z]*", "b"}, {"*", ".x"}, {".*", ".x"}, {"**a*?", "xay"}, {"a[", "a["}, {"?x", "\xffx"}} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		began := time.Now()
		got := GlobMatch(pattern, name)
		if took := time.Since(began); took > 10*time.Second && len(pattern)+len(name) < 1<<16 {
			t.Errorf("%d bytes took %s", len(pattern)+len(name), took)
		}
		hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") && !strings.HasPrefix(pattern, "[")
		if want, err := path.Match(pattern, name); err == nil && want && !got && !hidden && !strings.ContainsAny(pattern, `\`) && !strings.Contains(name, "/") {
			t.Errorf("%q does not match %q", pattern, name)
		}
		if hidden && got {
			t.Errorf("%q matches the hidden %q", pattern, name)
		}
	})
}

// FuzzPercentDecode compares with net/url, and what is refused by one is by the other.
func FuzzPercentDecode(f *testing.F) {
	for _, text := range []string{"%2e%2E/x", "%", "%4", "%zz", "a%00", "%25%32", "é"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := DecodePercent(text)
		want, err := url.PathUnescape(text)
		if ok != (err == nil) || ok && got != want {
			t.Errorf("%q: %q, %v; net/url says %q, %v", text, got, ok, want, err)
		}
	})
}

// FuzzGitLine: the path in a file that leads to another repository is that file's text without
// the prefix and trailing line ends.
func FuzzGitLine(f *testing.F) {
	for _, text := range []string{"gitdir: ../x\n", "gitdir: a\nb\n", "gitdir:\r\n", " gitdir: x", "gitdir: a\x00b", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files := fsfake.New()
		files.File("/p/.git", text)
		line, ok := GitLine(files, "/p/.git", GitFile)
		if !ok {
			return
		}
		if line == "" || strings.Contains(line, "\x00") || GitFile+line != strings.TrimRight(text, "\r\n") {
			t.Errorf("the line of %q is %q", text, line)
		}
		// It is the same whatever the kind of line end.
		files.File("/p/.git", strings.TrimRight(text, "\r\n")+"\r\n")
		if again, ok := GitLine(files, "/p/.git", GitFile); !ok || !slices.Equal([]string{line}, []string{again}) {
			t.Errorf("the line of %q is %q, and %q with another end", text, line, again)
		}
	})
}
