package paths

import (
	"path"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/lexpath"
)

// TestResolveProperties draws file systems and paths: a resolved path is absolute,
// clean, free of links and resolves to itself.
func TestResolveProperties(t *testing.T) {
	names := []string{"a", "b", "c", "..", ".", "~", ".env", ""}
	rapid.Check(t, func(t *rapid.T) {
		fs := fsfake.New("/w/")
		word := rapid.Custom(func(t *rapid.T) string {
			parts := rapid.SliceOfN(rapid.SampledFrom(names), 1, 5).Draw(t, "parts")
			return rapid.SampledFrom([]string{"", "/", "/w/"}).Draw(t, "start") + strings.Join(parts, "/") +
				rapid.SampledFrom([]string{"", "/", "/."}).Draw(t, "end")
		})
		for range rapid.IntRange(0, 6).Draw(t, "links") {
			at := path.Clean("/w/" + word.Draw(t, "at"))
			if at != "/" && at != "/w" {
				fs.Link(at, word.Draw(t, "target"))
			}
		}
		r := NewResolver(Environment{FS: fs}, &effects.Call{Cwd: "/w"})
		given := word.Draw(t, "given")
		e := r.Operand(effects.KindRead, given, "/w", "")
		if e.File == nil {
			return
		}
		p := e.File.Path
		if !path.IsAbs(p) || path.Clean(p) != p {
			t.Fatalf("%q resolves to %q, which is not absolute and clean", given, p)
		}
		if again := resolved(r.Operand(effects.KindRead, p, "/w", "")); again != p {
			t.Fatalf("%q resolves to %q, and that to %q", given, p, again)
		}
		for dir := p; dir != "/"; dir = path.Dir(dir) {
			if mode, err := fs.Lstat(dir); err == nil && mode.Type() != 0 && !mode.IsDir() {
				t.Fatalf("%q resolves to %q, where %q is %v", given, p, dir, mode)
			}
		}
	})
}

// FuzzFile checks what must be true of any text as a path.
func FuzzFile(f *testing.F) {
	for _, s := range []string{
		"src/a.go", "/srv/proj/./.././other/secret", "/proc/self/root/etc/passwd", "~root/.bashrc", "~/.ssh", "$HOME/x", "${HOME}/x",
		"a.txt\n/etc/passwd", "%2e%2e/x", "file:///srv/proj/../../etc/passwd", `\\evil\share`, `\??\UNC\evil`, "/srv/proj/..foo/bar",
		"link/../x", "loop", "/dev/fd/3", "C:/x", "\xff", "a\u202eb", strings.Repeat("../", 1400),
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	fs := tree(testProj+"/link -> /srv/data/sub", testProj+"/loop -> loop", testProj+"/rel -> ../proj/src")
	f.Fuzz(func(t *testing.T, given string, write bool) {
		kind := effects.KindRead
		if write {
			kind = effects.KindWrite
		}
		r := testResolver(fs)
		e := r.File(kind, given, testProj, "path")
		switch {
		case e.Kind == effects.KindUnknown:
			if e.Why == "" || e.File != nil {
				t.Fatalf("unknown effect is incomplete: %+v", e)
			}
		case e.Kind != kind || e.File == nil || e.File.AsWritten != given:
			t.Fatalf("effect is incomplete: %+v", e)
		case !path.IsAbs(e.File.Path) || path.Clean(e.File.Path) != e.File.Path || len(e.File.Path) > MaxPath:
			t.Fatalf("path is not clean: %q", e.File.Path)
		case lexpath.In("/proc", e.File.Path) && !slices.Contains([]string{"/proc/cpuinfo", "/proc/loadavg", "/proc/meminfo", "/proc/uptime", "/proc/version"}, e.File.Path):
			t.Fatalf("path is in /proc: %q", e.File.Path)
		case e.Tags.Has(effects.InProject) && !lexpath.In(testProj, e.File.Path):
			t.Fatalf("path is not in the project: %q", e.File.Path)
		}
		if e.File != nil && e.File.Path != "/dev/stdout" && e.File.Path != "/dev/stderr" {
			if again := resolved(r.Operand(kind, e.File.Path, "", "")); again != e.File.Path {
				t.Fatalf("%q resolves to %q, and that to %q", given, e.File.Path, again)
			}
		}
		if strings.ContainsFunc(e.Text, func(c rune) bool { return !unicode.IsPrint(c) || chars.Invisible(c) }) {
			t.Fatalf("text is not escaped: %q", e.Text)
		}
	})
}
