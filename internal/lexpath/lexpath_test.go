package lexpath

import (
	"path"
	"path/filepath"
	"strings"
	"testing"
)

func TestIn(t *testing.T) {
	for _, tt := range []struct {
		dir, p    string
		in, below bool
	}{
		{"/a", "/a", true, false},
		{"/a", "/a/b", true, true},
		{"/a", "/a/b/c", true, true},
		{"/a", "/ab", false, false},
		{"/a/b", "/a", false, false},
		{"/", "/", true, false},
		{"/", "/a", true, true},
		{"/a", "/A", false, false},
	} {
		if got := In(tt.dir, tt.p); got != tt.in {
			t.Errorf("In(%q, %q) = %v", tt.dir, tt.p, got)
		}
		if got := Below(tt.dir, tt.p); got != tt.below {
			t.Errorf("Below(%q, %q) = %v", tt.dir, tt.p, got)
		}
	}
}

// FuzzIn compares In with path/filepath, and the functions with each other.
func FuzzIn(f *testing.F) {
	for _, s := range [][2]string{{"/a", "/a/b"}, {"/", "/x"}, {"/a/..", "//a//b/"}, {"/a", "/a.b"}, {"/é", "/e\u0301/x"}, {"", "x/../.."}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, dir, p string) {
		dir, p = path.Clean("/"+dir), path.Clean("/"+p)
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			t.Fatal(err)
		}
		outside := rel == ".." || strings.HasPrefix(rel, "../")
		if In(dir, p) == outside {
			t.Errorf("In(%q, %q) = %v, and the path between them is %q", dir, p, !outside, rel)
		}
		if Below(dir, p) != (!outside && rel != ".") {
			t.Errorf("Below(%q, %q), and the path between them is %q", dir, p, rel)
		}
		got, ok := Rel(dir, p)
		if ok == outside || ok && (got != rel || Abs(dir, got) != p) {
			t.Errorf("Rel(%q, %q) = %q, %v, want %q", dir, p, got, ok, rel)
		}
		below, ok := RelBelow(dir, p)
		if ok != Below(dir, p) || ok && below != got || !ok && Shorten(dir, p) != p || ok && Shorten(dir, p) != got {
			t.Errorf("RelBelow(%q, %q) = %q, %v; Rel: %q", dir, p, below, ok, got)
		}
		if _, ok := RelBelow("", p); ok {
			t.Errorf("%q lies below no folder", p)
		}
		if up := path.Dir(p); up != p && (!Below(up, p) || In(p, up)) {
			t.Errorf("%q does not lie below %q", p, up)
		}
	})
}

// FuzzFold checks that Fold is idempotent and ignores the case of letters.
func FuzzFold(f *testing.F) {
	for _, s := range []string{"/Home/Ana", "/STRASSE/stra\u00dfe", "/a\u00adb", "/\u212a", "/e\u0301", "\xff", "/\ufeff.env"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Fold(s)
		if twice := Fold(once); twice != once {
			t.Errorf("%q folds to %q, and that to %q", s, once, twice)
		}
		ascii := strings.Map(func(c rune) rune {
			if 'a' <= c && c <= 'z' {
				return c - 'a' + 'A'
			}
			return c
		}, s)
		if strings.ToValidUTF8(s, "") == s && Fold(ascii) != once {
			t.Errorf("%q folds to %q, and %q to %q", s, once, ascii, Fold(ascii))
		}
	})
}

func TestStar(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a*", "a", true}, {"a*", "abc", true}, {"*", "", true}, {"*.key", "x.key", true}, {"*.key", "x.keys", false},
		{"a*b*c", "a1b2c", true}, {"a*b*c", "a1c2b", false}, {"a*a", "a", false}, {"", "", true}, {"", "a", false},
	} {
		if got := Star(tt.pattern, tt.name); got != tt.want {
			t.Errorf("Star(%q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
}

func TestStaysWithin(t *testing.T) {
	for word, want := range map[string]bool{
		"": true, "a": true, "./a": true, "a/b.go": true, "./...": true, "-v": true, "--race": true, "-run": true, "a.b/c": true, "-Dorg.x=1": true, "-j4": true, "x=a:b": true, ".": true,
		"--output=dist/app": true, "-o=dist": true, "@scope": true,
		"https://a.b/../.env": true, "--url=http://x/y": true, "a,https://x/y,b": true, "file:///etc": false, "https://x,/etc": false, "xhttps://y": false, "https:///etc": true,
		"/etc": false, "..": false, "../a": false, "a/../../b": false, "~/a": false, "a/~": true, "$HOME": false, "--o=/etc/x": false, "-o/etc/x": false, "-xf/etc/x": false,
		".env": false, "a/.git/config": false, "-f.env": false, "-xf.env": false, "--file=.env": false, "a:/b": false, "a,.env": false, "x=y:../z": false, "@/etc/x": false, "a b/../c": false,
		`a\../b`: false, ".ts": true, ".ts,.tsx": true, ".eslintrc.json": true, "./node_modules/.bin/x": true, ".venv/bin/python": true, ".#app": true, "-I.": true, "-Iinclude": true,
		"^TestFoo$": true, "^A$|^B$": true, "HEAD~1": true, "/dev/null": true, "-o=/dev/null": true, "-v1.2": true, "1.2.3": true, "--test.run=x": true, "-Dab.c": true, "-D.env": false, "-D../x": false,
		"make>/etc/x": false, "sh<../x": false, "a&&b<../x": false, "(/etc/x)": false, "a|/etc/x": false, "https://x>/etc/y": false, "https://x|sh<../y": false, "-xyzw.env": false, "-f1.env": false,
		"-1/etc": false, "%2e%2e/x": false, "%d": true, "{a,.env}": false, ".{env,x}": false, ".e?v": false, "a/.?nv": false, "x=~/y": false, "$(id)": false, "${X}": false, "$1": false, "$x": false,
		".envrc": false, ".git": false, ".github/x": false, ".ssh": false, ".npmrc": false, ".husky/x": false, ".bashrc": false, ".claude": false, ".permd": false, ".env.ts": false, "\x00dynamic": false, "-I..": false, "'/etc'": false, "--x=-o/etc": false, "...x": false, "dir/..": false,
	} {
		if got := StaysWithin(word); got != want {
			t.Errorf("StaysWithin(%q) = %v", word, got)
		}
	}
}
