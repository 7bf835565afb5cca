package targets

import (
	"path/filepath"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/filetest"
)

func put(t *testing.T, top, name, text string) {
	t.Helper()
	filetest.Write(t, filepath.Join(top, name), text)
}

// TestTargets: an answer about make and npm is bound to the text that they run, and
// cannot be bound if that text is not known.
func TestTargets(t *testing.T) {
	top := t.TempDir()
	put(t, top, ".git/HEAD", "")
	put(t, top, "make/Makefile", "test:\n\techo canary\n")
	put(t, top, "npm/package.json", `{"scripts": {"test": "jest"}, "dependencies": {}}`)
	put(t, top, "npm/sub/x", "")
	put(t, top, "odd/package.json", `{"scripts": {"test": "jest"}, "scripts": {"test": "evil"}}`)
	of := func(dir string, words ...string) *effects.Script {
		return bound(paths.OSFS{}, &effects.Run{Program: words[0], Args: words[1:], Cwd: filepath.Join(top, dir)}, &effects.Disturbance{})
	}
	for _, tt := range []struct {
		name, dir string
		words     []string
		want      string
	}{
		{"make", "make", []string{"make", "test"}, "make/Makefile"},
		{"npm", "npm", []string{"npm", "test"}, "npm/package.json"},
		{"npm below", "npm/sub", []string{"npm", "test"}, "npm/package.json"},
		{"make elsewhere", "npm", []string{"make"}, ""},
		{"npm beyond the checkout", "", []string{"npm", "test"}, ""},
		{"another file", "make", []string{"make", "-f", "x"}, ""},
		{"another shell", "make", []string{"make", "SHELL=./x"}, ""},
		{"two scripts", "odd", []string{"npm", "test"}, ""},
		{"another program", "make", []string{"go", "test"}, ""},
	} {
		got := of(tt.dir, tt.words...)
		if (got == nil) != (tt.want == "") || got != nil && (got.Path != filepath.Join(top, tt.want) || len(got.SHA256) != 64) {
			t.Errorf("%s: %+v, want %q", tt.name, got, tt.want)
		}
	}
	before := of("npm", "npm", "test").SHA256
	put(t, top, "npm/package.json", `{"scripts":{"test":"jest"},"dependencies":{"x":"1"}}`)
	if of("npm", "npm", "test").SHA256 != before {
		t.Error("a dependency changes the scripts' hash")
	}
	put(t, top, "npm/package.json", `{"scripts":{"test":"jest","pretest":"evil"}}`)
	if of("npm", "npm", "test").SHA256 == before {
		t.Error("a new script does not change the hash")
	}
}
