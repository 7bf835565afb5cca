package pattern_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

func TestParseAndPrint(t *testing.T) {
	tests := []struct {
		kind effects.Kind
		line string
		want string // canonical form
	}{
		{"run", "go test *", "go test *"},
		{"run", "go  test   ./...", "go test ./..."},
		{"run", `git commit -m "a 'b' c"`, `git commit -m 'a '\''b'\'' c'`},
		{"run", `echo a\ b`, `echo 'a b'`},
		{"run", `printf "\$x\"\\"`, `printf '$x"\'`},
		{"run", "npm run test:*", "npm run test:*"},
		{"run", `grep '*' f*o`, `grep '*' f*o`},
		{"run", "echo ''", "echo ''"},
		{"run", `find . -exec rm {} \;`, `find . -exec rm '{}' ';'`},
		{"run", "make", "make"},
		{"run", "scripts//lint.sh -x", "./scripts/lint.sh -x"},
		{"run", "~/bin/deploy *", "~/bin/deploy *"},
		{"run", "/opt/x/./y", "/opt/x/y"},
		{"run", "curl --url=https://a.example/*", "curl --url=https://a.example/*"},
		{"write", "./docs/**", "./docs/**"},
		{"write", ".//docs/./a.md", "./docs/a.md"},
		{"read", "/**/**/x", "/**/x"},
		{"read", "~/.config/*/a*b.toml", "~/.config/*/a*b.toml"},
		{"write", `./app/\[id\]/a\*.ts`, `./app/\[id\]/a\*.ts`},
		{"delete", "/srv/a b", "/srv/a b"},
		{"read", "/**", "/**"},
		{"connect", "Docs.Example.COM", "docs.example.com"},
		{"connect", "docs.example.com.:8443", "docs.example.com:8443"},
		{"connect", "*.python.org", "*.python.org"},
		{"connect", "bücher.example", "xn--bcher-kva.example"},
		{"connect", "localhost:3000", "localhost:3000"},
		{"connect", "my_host.example.com", "my_host.example.com"},
		{"connect", "127.0.0.1:80", "127.0.0.1:80"},
		{"connect", "::1", "::1"},
		{"connect", "[0:0::1]:443", "[::1]:443"},
		{"connect", "::ffff:10.0.0.1", "10.0.0.1"},
		{"use", "github:get_*", "github:get_*"},
		{"use", "*:read_*", "*:read_*"},
		{"use", "github:*", "github:*"},
		{"use", "TodoWrite", "TodoWrite"},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind)+" "+tt.line, func(t *testing.T) {
			p, err := pattern.Parse(tt.kind, tt.line)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.String(); got != tt.want {
				t.Errorf("String() = %s, want %s", got, tt.want)
			}
			again, err := pattern.Parse(tt.kind, p.String())
			if err != nil {
				t.Fatalf("parsing the printed line: %v", err)
			}
			if diff := cmp.Diff(p, again); diff != "" {
				t.Errorf("the printed line means something else (-first +second):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		kind   effects.Kind
		line   string
		reason string // part of the error
		hint   string // part of the hint, "" when none is expected
	}{
		{"exec", "ls", `no line can speak of the kind "exec"`, "run, read, write, delete, connect, use"},
		{"unknown", "x", "no line can speak", "run, read"},
		{"state", "x", "no line can speak", "run, read"},
		{"run", "", "empty", ""},
		{"run", " ls", "space", "remove"},
		{"run", "*", "the program must not have a *", "name the program"},
		{"run", "git* status", "the program must not have a *", "name the program"},
		{"run", "go * test", "only at the end", "write the words out"},
		{"run", "go test **", "** is for paths only", "one *"},
		{"run", "rg --p* x", "option's name", "after its ="},
		{"run", "FOO=1 make", "assignment", "environment"},
		{"run", "-x y", "option", "program"},
		{"run", "a && b", "means something to a shell", "one program"},
		{"run", "a | b", "means something to a shell", "one program"},
		{"run", "echo $HOME", "means something to a shell", "quote"},
		{"run", `echo "$HOME"`, "would replace", "single quotes"},
		{"run", "echo `id`", "means something to a shell", "quote"},
		{"run", "ls ~/x", "replace the ~", "absolute"},
		{"run", "touch {a,b}", "braces", "a line for each"},
		{"run", "make # all", "#", "quote"},
		{"run", "echo 'x", "not closed", ""},
		{"run", `echo "x`, "not closed", ""},
		{"run", `echo x\`, "backslash", ""},
		{"run", "''", "empty", ""},
		{"run", "./../x", "..", "without .."},
		{"run", "./", "folder", "file"},
		{"run", "/.", "folder", "file"},
		{"run", "ls\tx", "U+0009", ""},
		{"run", "ls\u202egpj", "U+202E", ""},
		{"run", "ls \u200bx", "U+200B", ""},
		{"run", "ls \xff", "UTF-8", ""},
		{"run", strings.Repeat("x", pattern.MaxLine+1), "longer", ""},
		{"read", "docs/**", "no beginning", "./"},
		{"read", "**", "no beginning", "./"},
		{"read", "~user/x", "no beginning", "~/"},
		{"read", "./", "root", "./**"},
		{"read", "./a /.", "ends with a space", ""},
		{"read", "/", "root", "/**"},
		{"read", "~", "root", "~/**"},
		{"read", "/./", "ends with /", "/./**"},
		{"write", "./docs/", "ends with /", "./docs/**"},
		{"write", "./a/../b", "..", "without .."},
		{"write", "./a**", "middle of a name", "component"},
		{"write", "./a/***", "middle of a name", "component"},
		{"write", "./{a,b}", "no wildcard", "\\{"},
		{"write", "./a?", "no wildcard", "\\?"},
		{"write", `./a\`, "backslash", ""},
		{"connect", "https://x.example/", "URL", "only the host"},
		{"connect", "x.example/path", "path", "only the host"},
		{"connect", "u@x.example", "user", "host"},
		{"connect", "*.com", "public suffix", "below"},
		{"connect", "*.co.uk", "public suffix", "below"},
		{"connect", "*.github.io", "public suffix", "below"},
		{"connect", "*", "stands only", "*.domain"},
		{"connect", "a*.example.com", "stands only", "*.domain"},
		{"connect", "*.*.example.com", "stands only", "*.domain"},
		{"connect", "*.10.0.0.1", "below an IP", "host"},
		{"connect", "127.1", "no IP address", "in full"},
		{"connect", "0x7f000001", "no IP address", "in full"},
		{"connect", "x.example:", "no port", "65535"},
		{"connect", "x.example:0", "no port", "65535"},
		{"connect", "x.example:080", "no port", "65535"},
		{"connect", "x.example:65536", "no port", "65535"},
		{"connect", "[::1", "IPv6", "[address]"},
		{"connect", "[::1]80", "follows", "[address]"},
		{"connect", "[10.0.0.1]:80", "IPv6", "[address]"},
		{"connect", "fe80::1%eth0", "zone", "host"},
		{"connect", "-x.example", "no host name", "host"},
		{"connect", "a..b", "no host name", "host"},
		{"use", "*:*", "every tool", "name"},
		{"use", "*", "every tool", "name"},
		{"use", ":x", "empty", "server:tool"},
		{"use", "x:", "empty", "server:tool"},
		{"use", "x:**", "paths", "one *"},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind)+" "+tt.line[:min(len(tt.line), 30)], func(t *testing.T) {
			p, err := pattern.Parse(tt.kind, tt.line)
			if err == nil {
				t.Fatalf("accepted as %s", p)
			}
			pe, ok := errors.AsType[*pattern.Error](err)
			if !ok {
				t.Fatalf("error is a %T", err)
			}
			if !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("error %q does not say %q", err, tt.reason)
			}
			if (tt.hint == "") != (pe.Hint() == "") || !strings.Contains(pe.Hint(), tt.hint) {
				t.Errorf("hint %q, want one with %q", pe.Hint(), tt.hint)
			}
		})
	}
}

func TestErrorIsShort(t *testing.T) {
	_, err := pattern.Parse("run", "go test "+strings.Repeat("ж", 100_000))
	if err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), `"go test ж`) {
		t.Errorf("error of a long line: %.2000v", err)
	}
}
