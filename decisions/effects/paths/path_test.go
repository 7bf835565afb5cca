package paths

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
)

const (
	testHome = "/home/dev"
	testProj = "/home/dev/proj"
)

// tree returns the file system that most tests of paths share.
func tree(more ...string) *fsfake.FS {
	return fsfake.New(append([]string{
		testProj + "/.git/config", testProj + "/src/a.go", testProj + "/.env", testProj + "/notes/x.md",
		testHome + "/.ssh/id_rsa", testHome + "/.bashrc", testHome + "/other/secret.txt",
		"/etc/passwd", "/etc/shadow", "/tmp/", "/usr/bin/go", "/proc/self/root/", "/dev/null", "/srv/data/sub/", "/srv/data/secret",
	}, more...)...)
}

func testResolver(fs effects.FS) *Resolver {
	own := OwnFiles(testHome+"/.config/permd", "/etc/permd", testHome+"/data/permd")
	return NewResolver(Environment{FS: fs, Own: &own}, &effects.Call{Cwd: testProj, User: effects.User{Home: testHome, Env: map[string]string{"HOME": testHome}}})
}

// resolved is what a test wants of an effect: its path, or "?" and a part of the
// reason.
func resolved(e effects.Effect) string {
	if e.File == nil {
		return "? " + e.Why
	}
	return e.File.Path
}

func TestFileResolvesPaths(t *testing.T) {
	fs := tree(
		testProj+"/link-etc -> /etc", testProj+"/link-sub -> /srv/data/sub", testProj+"/rel -> src",
		testProj+"/up -> ..", testProj+"/loop -> loop", testProj+"/l1 -> l2", testProj+"/l2 -> ./l1/x",
		testProj+"/toproc -> /proc/self/root", testProj+"/tofd -> /dev/fd/3", testProj+"/dangling -> /srv/none/x",
		testProj+"/mid -> src/../rel", testProj+"/key.txt -> ../.ssh/id_rsa", testProj+"/null -> /dev/null",
		testProj+"/empty -> ", testProj+"/odd -> a\\b", testProj+"/..foo/bar",
		testProj+"/here -> .", testProj+"/srclink -> src",
	).Deny(testProj + "/locked")
	for _, tt := range []struct {
		name, given, want string
	}{
		{"absolute", testProj + "/src/a.go", testProj + "/src/a.go"},
		{"relative", "src/a.go", testProj + "/src/a.go"},
		{"dot", ".", testProj},
		{"dots and slashes", "./src//./a.go", testProj + "/src/a.go"},
		{"trailing slash", "src/", testProj + "/src"},
		{"trailing dot", "src/.", testProj + "/src"},
		{"dot-dot stays inside", "src/../notes", testProj + "/notes"},
		{"dot-dot leaves", "../.ssh", testHome + "/.ssh"},
		{"dot-dot in the middle", testProj + "/../.ssh/id_rsa", testHome + "/.ssh/id_rsa"},
		{"above the root", "../../../../../../etc/passwd", "/etc/passwd"},
		{"name of two dots and more", "..foo/bar", testProj + "/..foo/bar"},
		{"three dots", ".../x", testProj + "/.../x"},
		{"missing leaf", "src/new.go", testProj + "/src/new.go"},
		{"missing folders", "new/deep/x.go", testProj + "/new/deep/x.go"},
		{"missing then dot-dot", "new/../x", "? goes up from a folder that does not exist"},
		{"missing then dot-dot far", "src/new/../../../../etc/passwd", "? goes up from a folder"},
		{"file as a folder", "src/a.go/x", "? not a folder"},
		{"file then dot-dot", "src/a.go/../x", "? not a folder"},
		{"link to a folder", "link-etc/passwd", "/etc/passwd"},
		{"relative link", "rel/a.go", testProj + "/src/a.go"},
		{"link upwards", "up/.ssh/id_rsa", testHome + "/.ssh/id_rsa"},
		{"link by link", "mid/a.go", testProj + "/src/a.go"},
		{"link as leaf", "key.txt", testHome + "/.ssh/id_rsa"},
		{"link as leaf with slash", "link-etc/", "/etc"},
		{"link in itself", "loop", "? circle"},
		{"links in a circle", "l1/y", "? circle"},
		{"dangling link", "dangling", "/srv/none/x"},
		{"dot-dot behind a link", "link-sub/../secret", "? two ways"},
		{"dot-dot far behind a link", "link-sub/../../../etc/passwd", "? two ways"},
		{"dot-dot behind a link that leads back", "srclink/../notes/x.md", testProj + "/notes/x.md"},
		{"link to /proc", "toproc/etc/passwd", "? /proc"},
		{"link to an open file", "tofd", "? open file"},
		{"/proc", "/proc/self/root/etc/passwd", "? /proc"},
		{"/proc by dots", "/proc/../etc/passwd", "? /proc"},
		{"/proc cwd", "/proc/self/cwd/../../etc/passwd", "? /proc"},
		{"/proc of the machine", "/proc/meminfo", "/proc/meminfo"},
		{"/proc of the machine by a path", "../../../proc/cpuinfo", "/proc/cpuinfo"},
		{"/proc behind a file of the machine", "/proc/cpuinfo/../self/environ", "? /proc"},
		{"/proc with a likeness of such a file", "/proc/cpuinfo2", "? /proc"},
		{"/proc itself", "/proc", "? /proc"},
		{"/dev/stdin", "/dev/stdin", "? open file"},
		{"/dev/fd", "/dev/fd/0", "? open file"},
		{"/dev/tcp", "/dev/tcp/evil.example/80", "? network"},
		{"macOS file number", "/.vol/16777220/2", "? number"},
		{"/dev/null", "/dev/null", "/dev/null"},
		{"link to /dev/null", "null", "/dev/null"},
		{"folder that cannot be read", "locked/x", "? cannot be read"},
		{"dot-dot in a folder that cannot be read", "locked/../src", testProj + "/src"},
		{"empty link", "empty", "? cannot be read"},
		{"odd link", "odd", "? unclear"},
		{"root", "/", "/"},
		{"root by dots", "/..", "/"},
		{"three slashes", "///etc/passwd", "/etc/passwd"},
		{"two slashes", "//etc/passwd", "? another machine"},
		{"empty", "", "? empty"},
		{"NUL", "a\x00b", "? control"},
		{"newline", "a.txt\n/etc/passwd", "? control"},
		{"DEL", "a\x7f", "? control"},
		{"C1 control", "a\u0085b", "? control"},
		{"bidi override", "a\u202etxt.exe", "? control"},
		{"not UTF-8", "a\xff", "? UTF-8"},
		{"backslash", `src\a.go`, "? backslash"},
		{"drive", "C:/Windows", "? another system"},
		{"drive without slash", "c:x", "? another system"},
		{"UNC", `\\evil.example\share\x`, "? backslash"},
		{"too long", strings.Repeat("a/", 2100), "? too long"},
		{"name too long", strings.Repeat("a", 256), "? too long"},
		{"long name", strings.Repeat("a", 255), testProj + "/" + strings.Repeat("a", 255)},
		{"home", "~", testHome},
		{"below home", "~/.ssh/id_rsa", testHome + "/.ssh/id_rsa"},
		{"above home", "~/../../etc/passwd", "/etc/passwd"},
		{"another home", "~root/.bashrc", "? home that is not known"},
		{"tilde plus", "~+/x", "? home that is not known"},
		{"tilde inside", "src/~/x", testProj + "/src/~/x"},
		{"HOME", "$HOME/.bashrc", testHome + "/.bashrc"},
		{"HOME in braces", "${HOME}/.bashrc", testHome + "/.bashrc"},
		{"HOME alone", "$HOME", testHome},
		{"PWD", "$PWD/src", testProj + "/src"},
		{"XDG default", "$XDG_CONFIG_HOME/permd", testHome + "/.config/permd"},
		{"TMPDIR without a value", "$TMPDIR/x", "? variable"},
		{"longer name", "$HOMEX/x", "? variable"},
		{"default value", "${HOME:-/etc}/x", "? variable"},
		{"other variable", "$id/page.tsx", "? variable"},
		{"variable inside", "routes/$id.tsx", testProj + "/routes/$id.tsx"},
		{"braces inside", "src/${X}/y", "? variable"},
		{"braces after home", "~/${X}", "? variable"},
		{"brackets are plain", "app/[id]/page.tsx", testProj + "/app/[id]/page.tsx"},
		{"stars are plain", "src/*", testProj + "/src/*"},
		{"file URL", "file:///etc/passwd", "/etc/passwd"},
		{"file URL with dots", "file:///home/dev/proj/../../../etc/passwd", "/etc/passwd"},
		{"file URL of this machine", "FILE://localhost/etc/passwd", "/etc/passwd"},
		{"file URL short", "file:/etc/passwd", "/etc/passwd"},
		{"file URL with space", "file:///home/dev/a%20b", "/home/dev/a b"},
		{"file URL of another machine", "file://evil.example/x", "? another machine"},
		{"file URL with slashes", "file:////evil.example/x", "? absolute"},
		{"file URL relative", "file:x", "? absolute"},
		{"file URL with query", "file:///etc/passwd?x", "? query"},
		{"file URL with encoded dots", "file:///home/dev/%2e%2e/x", "? percent-encoded"},
		{"file URL with encoded NUL", "file:///a%00b", "? percent-encoded"},
		{"file URL broken", "file:///a%zz", "? percent sign"},
		{"file URL with drive", "file:///C:/x", "? another system"},
		{"encoded dots", testProj + "/%2e%2e/%2e%2e/etc/passwd", "? percent-encoded"},
		{"encoded slash", "a%2Fb", "? percent-encoded"},
		{"percent", "100%/a%20b%", testProj + "/100%/a%20b%"},
		{"URL", "https://example.com/x", "? address"},
		{"editor's URL", "vscode-remote://ssh/x", "? address"},
		{"colon", "src/a:b", testProj + "/src/a:b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := testResolver(fs).File(effects.KindRead, tt.given, testProj, "rawInput.path")
			got := resolved(e)
			if why, unknown := strings.CutPrefix(tt.want, "? "); unknown {
				if e.Kind != effects.KindUnknown || !strings.Contains(e.Why, why) || e.Text == "" {
					t.Errorf("got %s %q (%s), want unknown with %q", e.Kind, got, e.Text, why)
				}
				return
			}
			if e.Kind != effects.KindRead || got != tt.want || e.File.AsWritten != tt.given || e.From != "rawInput.path" {
				t.Errorf("got %s %q, want %q", e.Kind, got, tt.want)
			}
		})
	}
}

func TestOperandIsWhatTheKernelSees(t *testing.T) {
	fs := tree(testProj+"/link-sub -> /srv/data/sub", testProj+"/~/x")
	for _, tt := range []struct{ name, given, want string }{
		{"dot-dot behind a link", "link-sub/../secret", "/srv/data/secret"},
		{"tilde is a name", "~/x", testProj + "/~/x"},
		{"dollar is a name", "$HOME/x", testProj + "/$HOME/x"},
		{"two slashes", "//etc/passwd", "/etc/passwd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := resolved(testResolver(fs).Operand(effects.KindRead, tt.given, testProj, "")); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTildeThatExistsHasTwoMeanings(t *testing.T) {
	fs := tree(testProj+"/~ -> /etc", testProj+"/$HOME/x")
	for _, given := range []string{"~/passwd", "$HOME/x"} {
		if e := testResolver(fs).File(effects.KindWrite, given, testProj, ""); e.Kind != effects.KindUnknown {
			t.Errorf("%s: got %q, want unknown", given, resolved(e))
		}
	}
}

func TestWorkingFolder(t *testing.T) {
	fs := tree("/work -> /home/dev/proj", "/home/dev/proj/sub -> /srv/data/sub", "/link -> /home/dev/proj/src")
	for _, tt := range []struct{ name, given, cwd, want string }{
		{"not known", "a", "", "? working folder"},
		{"relative", "a", "proj", "? working folder"},
		{"absolute path needs none", "/etc/passwd", "", "/etc/passwd"},
		{"PWD needs one", "$PWD/x", "", "? variable"},
		{"home needs none", "~/x", "", testHome + "/x"},
		{"through a link", "src/a.go", "/work", testProj + "/src/a.go"},
		{"dot-dot reads alike", "../other/secret.txt", testProj, testHome + "/other/secret.txt"},
		{"dot-dot from a link", "../x", testProj + "/sub", "? two ways"},
		{"missing", "x", "/nowhere", "/nowhere/x"},
		{"a file", "x", "/etc/passwd", "? not a folder"},
		{"in /proc", "x", "/proc/self/cwd", "? /proc"},
		{"control character", "x", "/a\nb", "? control"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := testResolver(fs).File(effects.KindRead, tt.given, tt.cwd, "")
			got := resolved(e)
			if why, unknown := strings.CutPrefix(tt.want, "? "); unknown {
				if e.Kind != effects.KindUnknown || !strings.Contains(e.Why, why) {
					t.Errorf("got %s %q, want unknown with %q", e.Kind, got, why)
				}
			} else if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDeleteAndEntryMeanTheLink(t *testing.T) {
	fs := tree(testProj+"/link -> /srv/data", testProj+"/key.txt -> ../.ssh/id_rsa", testProj+"/loop -> loop")
	r := testResolver(fs)
	for _, tt := range []struct {
		name string
		e    effects.Effect
		want string
		tags effects.Tags
	}{
		{"delete", r.File(effects.KindDelete, "link", testProj, ""), testProj + "/link", effects.TagsOf(effects.InProject, effects.Home)},
		{"delete with slash", r.File(effects.KindDelete, "link/", testProj, ""), "/srv/data", effects.TagsOf(effects.Outside)},
		{"delete below", r.File(effects.KindDelete, "link/secret", testProj, ""), "/srv/data/secret", effects.TagsOf(effects.Outside)},
		{"entry", r.Entry(effects.KindWrite, "link", testProj, ""), testProj + "/link", effects.TagsOf(effects.InProject, effects.Home)},
		{"write", r.File(effects.KindWrite, "link", testProj, ""), "/srv/data", effects.TagsOf(effects.Outside)},
		{"link to a secret", r.File(effects.KindDelete, "key.txt", testProj, ""), testProj + "/key.txt", effects.TagsOf(effects.InProject, effects.Home, effects.Secret)},
		{"link in a circle", r.File(effects.KindDelete, "loop", testProj, ""), testProj + "/loop", effects.TagsOf(effects.InProject, effects.Home)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := resolved(tt.e); got != tt.want {
				t.Errorf("path: got %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(tt.tags.Names(), tt.e.Tags.Names()); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDisturbedPathsAreUnknown(t *testing.T) {
	fs := tree(testProj+"/out -> /srv/data", testProj+"/alias -> src", testProj+"/loop -> loop")
	for _, tt := range []struct{ name, disturbed, given, want string }{
		{"the path itself", "new", "new", "?"},
		{"below", "new", "new/x", "?"},
		{"beside", "new", "newer", testProj + "/newer"},
		{"above", "src/new", "src", testProj + "/src"},
		{"by another spelling", "./src/../new", "new/x", "?"},
		{"where a link leads", "out", "/srv/data/secret", "?"},
		{"through a link", "src", "alias/a.go", "?"},
		{"an unclear path disturbs all", "/proc/self/cwd/x", "src/a.go", "?"},
		{"a bad word disturbs all", "a\x00", "src/a.go", "?"},
		{"dot", ".", "src/a.go", "?"},
		{"a link in a circle disturbs all", "loop", "src/a.go", "?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testResolver(fs)
			before := r.File(effects.KindRead, tt.given, testProj, "")
			r.Disturb(tt.disturbed, testProj)
			after := r.File(effects.KindRead, tt.given, testProj, "")
			if tt.want == "?" {
				if after.Kind != effects.KindUnknown {
					t.Errorf("got %q, want unknown", resolved(after))
				}
			} else if resolved(after) != tt.want {
				t.Errorf("got %q, want %q", resolved(after), tt.want)
			}
			if before.Kind != effects.KindRead {
				t.Errorf("unknown before it was disturbed: %s", before.Why)
			}
			if r.Project() != testProj {
				t.Errorf("project is %q", r.Project())
			}
		})
	}
}

func TestMkdir(t *testing.T) {
	r := testResolver(tree())
	if e := r.File(effects.KindRead, "build/../x", testProj, ""); e.Kind != effects.KindUnknown {
		t.Fatalf("before mkdir: got %q, want unknown", resolved(e))
	}
	r.Mkdir("build/deep", testProj)
	for given, want := range map[string]string{
		"build/../x":         testProj + "/x",
		"build/deep/../../x": testProj + "/x",
		"build/new/x":        testProj + "/build/new/x",
	} {
		if got := resolved(r.File(effects.KindRead, given, testProj, "")); got != want {
			t.Errorf("%s: got %q, want %q", given, got, want)
		}
	}
	if e := r.File(effects.KindRead, "build/new/../x", testProj, ""); e.Kind != effects.KindUnknown {
		t.Errorf("a folder that was not made: got %q, want unknown", resolved(e))
	}
	r.Disturb("build", testProj)
	if e := r.File(effects.KindRead, "build/x", testProj, ""); e.Kind != effects.KindUnknown {
		t.Errorf("disturbed after it was made: got %q, want unknown", resolved(e))
	}
}

// One call uses one state of the file system, the next call the new one.
func TestLinkReplacedBetweenEffects(t *testing.T) {
	fs := tree(testProj + "/link -> src")
	r := testResolver(fs)
	first := resolved(r.File(effects.KindRead, "link/a.go", testProj, ""))
	fs.Link(testProj+"/link", "/etc")
	if again := resolved(r.File(effects.KindWrite, "link/a.go", testProj, "")); again != first {
		t.Errorf("within one call: got %q, then %q", first, again)
	}
	if got := resolved(testResolver(fs).File(effects.KindRead, "link/a.go", testProj, "")); got != "/etc/a.go" {
		t.Errorf("next call: got %q", got)
	}
}

func TestEachPathIsLookedUpOnce(t *testing.T) {
	fs := tree()
	r := testResolver(fs)
	r.File(effects.KindRead, "src/a.go", testProj, "")
	before := fs.Calls()
	r.File(effects.KindWrite, testProj+"/src/a.go", testProj, "")
	if n := fs.Calls() - before; n != 0 {
		t.Errorf("%d calls for a path that was known", n)
	}
}

func TestTextOfFileEffects(t *testing.T) {
	fs := tree(testProj+"/key.txt -> ../.ssh/id_rsa", testProj+"/a\u200bb")
	r := testResolver(fs)
	for _, tt := range []struct{ given, want string }{
		{"src/a.go", "read ./src/a.go"},
		{".", "read ./"},
		{"~", "read ~"},
		{"~/x", "read ~/x"},
		{"/etc/passwd", "read /etc/passwd"},
		{"key.txt", "read ~/.ssh/id_rsa (given as key.txt)"},
		{"a\u200bb", `read ./a\u{200b}b`},
		{"a\nb", `read a\u{a}b: path holds a control character`},
	} {
		if got := r.File(effects.KindRead, tt.given, testProj, "").Text; got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.given, got, tt.want)
		}
	}
}

func TestWorldWithoutFileSystem(t *testing.T) {
	r := NewResolver(Environment{}, &effects.Call{Cwd: "/home/dev"})
	if e := r.File(effects.KindRead, "/etc/passwd", "", ""); e.Kind != effects.KindUnknown {
		t.Errorf("got %q, want unknown", resolved(e))
	}
	if p := r.Project(); p != "" {
		t.Errorf("project is %q", p)
	}
}
