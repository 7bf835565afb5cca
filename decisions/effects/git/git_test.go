package git_test

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/git"
)

const cwd = effectstest.Cwd

// TestForeign: in which folders git obeys a configuration that is not the project's.
func TestForeign(t *testing.T) {
	for name, tt := range map[string]struct {
		dir    string
		before []effects.Effect
		want   string
	}{
		"the project":               {cwd, nil, ""},
		"a folder of it":            {cwd + "/src", nil, ""},
		"a repository in it":        {cwd + "/other", nil, "other than the project's"},
		"a bare repository in it":   {cwd + "/bare", nil, "other than the project's"},
		"outside":                   {"/tmp", nil, "other than the project's"},
		"an unknown folder":         {"", nil, "other than the project's"},
		"after a write of a file":   {cwd, []effects.Effect{effectstest.Change(effects.KindWrite, cwd+"/a.txt")}, ""},
		"after a write of its hook": {cwd, []effects.Effect{effectstest.Change(effects.KindWrite, cwd+"/.git/hooks/pre-commit")}, "changes what git obeys"},
		"after a new HEAD in it":    {cwd + "/src", []effects.Effect{effectstest.Change(effects.KindWrite, cwd+"/src/HEAD")}, "other than the project's"},
	} {
		t.Run(name, func(t *testing.T) {
			got := git.Foreign(effectstest.Collector(t, effectstest.Files(), tt.before...), tt.dir)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("have %q, want %q", got, tt.want)
			}
		})
	}
}

// sink keeps what words do, as text.
type sink struct{ added, aside []string }

func (s *sink) Add(_ int, e effects.Effect)      { s.added = append(s.added, effectstest.Compact(&e)) }
func (s *sink) SetAside(_ int, e effects.Effect) { s.aside = append(s.aside, effectstest.Compact(&e)) }
func (s *sink) Unknown(_ int, why string)        { s.added = append(s.added, why) }
func (s *sink) Full() bool                       { return len(s.added) > 64 }

// TestSecrets: which words of git print a secret. The words are those behind the
// sub-command; options are given by their canonical names.
func TestSecrets(t *testing.T) {
	for _, tt := range []struct {
		sub, words, flags string
		secret            bool
	}{
		{"show", "HEAD:.env", "", true},
		{"show", "HEAD:src/main.go", "", false},
		{"show", "HEAD", "", false},
		{"cat-file", "HEAD:.env", "-p", true},
		{"cat-file", "HEAD:.env", "-t", false},
		{"diff", ".env", "", true},
		{"diff", ".env", "--stat", false},
		{"diff", "HEAD~1", "", false},
		{"log", ".env", "", false},
		{"log", ".env", "--patch", true},
		{"log", "-L1,5:.env", "--patch -L", true},
		{"blame", "-L1,5 .env", "-L", true},
		{"grep", "x .env", "", true},
		{"grep", "x src", "", false},
		{"grep", "x .env", "--count", true},
		{"archive", "HEAD .env", "", true},
		{"archive", "HEAD .env", "--list", false},
		{"diff", "*.env", "", true},
		{"diff", ":(exclude).env", "", false},
		{"show", ".env", "--name-only", false},
		{"status", ".env", "", false},
		{"status", ".env", "--verbose --verbose", true},
		{"status", ".env", "--verbose", true},
		{"status", "src", "--verbose --verbose", false},
		{"status", "", "--verbose --verbose", false},
		{"add", ".env", "", true},
		{"add", "src/main.go", "", false},
		{"add", "*.env", "", true},
		{"add", "*.go", "", false},
		{"add", "src", "", false},
		{"add", "--update", "--update", false},
		{"commit", "-m x", "--message", false},
		{"commit", ".env", "--only", true},
	} {
		t.Run(tt.sub+" "+tt.words+" "+tt.flags, func(t *testing.T) {
			r := git.Run{Call: effectstest.Collector(t, effectstest.Files()), Sub: tt.sub, Flags: strings.Fields(tt.flags), Dashes: -1, Cwd: cwd}
			for i, w := range strings.Fields(tt.words) {
				r.Args = append(r.Args, effects.Word{Text: w})
				if w[0] != '-' {
					r.Operands = append(r.Operands, i)
				}
			}
			var got sink
			r.Into = &got
			r.Secrets()
			if (len(got.added) > 0) != tt.secret {
				t.Errorf("adds %q and sets aside %q, want a secret: %v", got.added, got.aside, tt.secret)
			}
		})
	}
}
