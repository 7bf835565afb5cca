package languages

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/testload"
)

// TestRealPrograms mutates harmless and harmful programs, and runs those that a
// reader takes for harmless in the real implementations under strace. They must not
// execute or write anything, open only their operand, not connect, and print
// neither a file nor the environment.
//
// PERMD_TEST_LANGUAGE_ROUNDS is how many programs each implementation runs,
// PERMD_TEST_LANGUAGE_SEED the seed of the mutations.
func TestRealPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the real programs")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is missing")
	}
	if out, err := exec.Command(strace, "-qq", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace may not trace: %v, %s", err, out)
	}
	rounds, seed := testload.Rounds(t, "PERMD_TEST_LANGUAGE_ROUNDS", 6, 15), setting("PERMD_TEST_LANGUAGE_SEED", 1)
	for _, language := range []struct {
		name   string
		plain  func(string) bool
		seeds  []string
		pieces []string
		run    [][]string // PROGRAM is replaced by the program
	}{
		{
			name: "awk", plain: Awk,
			seeds: append(append(slices.Clone(plainAwkPrograms), harmfulAwkPrograms...),
				`BEGIN { x = "a\" > \"pwned"; print x }`, `/a[/]b > "pwned"/ { print }`, `{ print 4 / 2; print "x" > "pwned" } #/`, `{ print "a" /1; x = "/ > \"pwned\"" }`, `{ x = $1 /2; y = "/"; print y > "pwned" }`,
				`{ if (1) print (1 > 2) " / > "; else x = /a > "pwned"/ }`, `function f(x) { return x > 1 } { print f(1) (2 > 1), "| sh" }`, `/a"/ { print "\" > pwned"; x = /b"/ ? 1 : 2 }`,
				`/[a"]/ { print "[" > "pwned" }`, `{ print /x[/]/ > "pwned" }`, `BEGIN { print length / 2; y = "/ | getline x < \"canary\"" }`,
				`BEGIN { for (i = 0; i > 1; i++) print (i > 2); print "system(\"touch pwned\")" }`, `BEGIN { a[1 > 2] = 1; print a[(1 > 2)]; print $(1 > 0) }`),
			pieces: []string{
				"\"", "/", "#", "\n", "\\", "[", "]", "> \"pwned\"", ">", "|", "\"touch pwned\" | getline", "system(\"touch pwned\")", "getline x < \"canary\"; print x", "(", ")", "{", "}", ";", ",", "!", "~",
				"print", "print $0 > \"pwned\"", "$", "++", "x", "1", "\"a\"", "/a/", " ", "=", "?", ":", "[:alpha:]", "^", "&&", "||", "in", "length", "\\\"", "\\/", "@", "if (1)", "else", "ENVIRON[\"CANARY\"]", "é", "print (1 > 2)",
			},
			run: [][]string{{"gawk", "PROGRAM", "in"}, {"mawk", "PROGRAM", "in"}, {"original-awk", "PROGRAM", "in"}, {"busybox", "awk", "PROGRAM", "in"}, {"gawk", "--posix", "PROGRAM", "in"}},
		},
		{
			name: "sed", plain: Sed,
			seeds: append(append(slices.Clone(plainSedScripts), harmfulSedScripts...), "s/[a/w pwned]//", "s/x/[/;s/]/w pwned/", "s/[[:alpha:]x]/w pwned/;1w pwned", "/[]a]/s/b/w pwned/", "a\\\nw pwned\n1p", ":a;s/w pwned//;ta",
				"s,[^,]],w pwned,", "i\\  w pwned", "y/a;w pwned/bcdefghij/"),
			pieces: []string{"/", "[", "]", "\\", "\n", "w pwned", ";", "}", "{", "e", "1e touch pwned", "r canary", "s/a/b/", "a ", "i\\", ":x", "b x", "#", ",", "|", "\\n", "[:alpha:]", "^", "$", "!", "p", "y/a/b/", "é", "\\/", "w pwned\n"},
			run:    [][]string{{"sed", "PROGRAM", "in"}, {"sed", "-n", "-E", "-e", "PROGRAM", "-e", "p", "in"}, {"busybox", "sed", "PROGRAM", "in"}, {"busybox", "sed", "-e", "PROGRAM", "-e", "w", "in"}, {"sed", "--posix", "PROGRAM", "in"}, {"sed", "-s", "-z", "PROGRAM", "in"}},
		},
		{
			name: "jq", plain: JQ,
			seeds:  append(append(slices.Clone(plainJQPrograms), harmfulJQPrograms...), `{a: "\("b")", c: [env]}`, `"\(1) env \(2)" | .`, `# "\nenv #"`, `{"env": 1, "a": {env: 2}, b: .env}`, `[{env: 1}, env]`),
			pieces: []string{"env", "$ENV", "\"", "\\(", ")", "(", "{", "}", ",", ":", "#", "\n", "\\", ".", "|", "a", "if . then 1 else 2 end", "def f: .;", "reduce", " as $x ", "[", "]", "{env: env}", "..", "?", "//", "@json"},
			run:    [][]string{{"jq", "-c", "PROGRAM", "in.json"}, {"gojq", "-c", "PROGRAM", "in.json"}, {"jaq", "-c", "PROGRAM", "in.json"}},
		},
		{
			name: "sql", plain: SQL,
			seeds: append(append(slices.Clone(plainSQLTexts), harmfulSQLTexts...), "select '--' ; /* ' */ select \"'\" from t", "select a, 'x;drop table t' from t -- '\n", "with t2(a) as (select a from t) select * from t2",
				"select [a'] from t; select '] '", "select writefile('pwned', 1)", "with x as (select 1) insert into t select 5", "select readfile('canary')", "select data from fsdir where path = 'canary'"),
			pieces: []string{"'", "\"", "[", "]", "`", "--", "/*", "*/", "\n", ";", "delete from t", "insert into t values (9)", "drop table t", "(", ")", "select", "with x as (", "writefile('pwned','x')", "readfile('canary')", "t", ",", "a", "union", "replace", "into", "values (1)", "pragma user_version(5)", "."},
			run:    [][]string{{"sqlite3", "-batch", "t.db", "PROGRAM"}},
		},
		{
			name: "yq", plain: YQ,
			seeds:  append(slices.Clone(plainJQPrograms), `.a = "\(.b)"`, `.a-b`, `load("canary")`, `strenv(CANARY)`),
			pieces: []string{"env", "$ENV", "\"", "\\(", ")", "(", "{", "}", ",", ":", "\\", ".", "|", "a", "[", "]", "..", "load(\"canary\")", "env(CANARY)", "-", "-env"},
			run:    [][]string{{"yq", "-c", "PROGRAM", "in.json"}},
		},
	} {
		t.Run(language.name, func(t *testing.T) {
			for _, run := range language.run {
				t.Run(strings.Join(run[:len(run)-1], " "), func(t *testing.T) {
					t.Parallel()
					path, err := exec.LookPath(run[0])
					if err != nil {
						t.Skipf("%s is missing", run[0])
					}
					rounds := rounds
					if run[0] == "yq" {
						rounds = (rounds + 4) / 5 // it is slow to begin
					}
					realPrograms(t, strace, path, run, language.plain, language.seeds, language.pieces, rounds, seed)
				})
			}
		})
	}
}

func setting(variable string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return otherwise
}

func realPrograms(t *testing.T, strace, path string, run []string, plain func(string) bool, seeds, pieces []string, rounds, seed int) {
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	dir := t.TempDir()
	begin := func() {
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("in", "a b c\n1 2 \"x\" [y] /z/\nw pwned\n")
		write("in.json", `{"a":{"b":[1,2]},"env":"x","k":"v"}`)
		write("canary", "canary-of-a-file")
	}
	begin()
	if run[0] == "sqlite3" {
		if out, err := exec.Command(path, filepath.Join(dir, "t.db"), "create table t(a, b); insert into t values (1, 'x'), (2, 'y')").CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	before := snapshot(t, dir)
	ran := 0
	for tries := 0; ran < rounds && tries < rounds*2000; tries++ {
		program := mutant(r, seeds, pieces)
		if !plain(program) {
			continue
		}
		ran++
		args := []string{"-f", "--seccomp-bpf", "-qq", "-o", filepath.Join(t.TempDir(), "trace"), "-e", "trace=execve,execveat,open,openat,creat,connect,unlink,unlinkat,rename,renameat,renameat2", path}
		for _, word := range run[1:] {
			if word == "PROGRAM" {
				word = program
			}
			args = append(args, word)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		c := exec.CommandContext(ctx, strace, args...)
		c.Dir, c.Env, c.WaitDelay = dir, []string{"PATH=/usr/bin:/bin", "CANARY=canary-of-the-environment", "HOME=" + dir, "LC_ALL=C.UTF-8"}, time.Second
		var out limited
		c.Stdout, c.Stderr = &out, &out
		err := c.Run()
		cancel()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
			t.Fatal(err)
		}
		if bytes.Contains(out.Bytes(), []byte("canary-of")) {
			t.Errorf("%q prints a canary: %s", program, out.Bytes())
		}
		trace, err := os.ReadFile(args[4])
		if err != nil {
			t.Fatal(err)
		}
		if line := beyond(string(trace), filepath.Base(run[0]) == "yq"); line != "" {
			t.Errorf("%q: %s", program, line)
		}
		if after := snapshot(t, dir); after != before {
			t.Errorf("%q changes the folder:\n%s\n%s", program, before, after)
			begin()
			before = snapshot(t, dir)
		}
	}
	if ran < rounds {
		t.Errorf("only %d programs of %d", ran, rounds)
	}
}

// mutant returns a program with up to four changes.
func mutant(r *rand.Rand, seeds, pieces []string) string {
	text := seeds[r.IntN(len(seeds))]
	for range 1 + r.IntN(4) {
		at := r.IntN(len(text) + 1)
		switch r.IntN(5) {
		case 0, 1:
			text = text[:at] + pieces[r.IntN(len(pieces))] + text[at:]
		case 2:
			text = text[:at] + text[min(len(text), at+1+r.IntN(3)):]
		case 3:
			other := seeds[r.IntN(len(seeds))]
			from := r.IntN(len(other) + 1)
			text = text[:at] + other[from:from+r.IntN(len(other)-from+1)] + text[at:]
		case 4:
			text = text[:at] + pieces[r.IntN(len(pieces))] + text[min(len(text), at+1):]
		}
	}
	return strings.ReplaceAll(text, "\x00", "")
}

var opened = regexp.MustCompile(`open(?:at)?\((?:AT_FDCWD, )?"([^"]*)", ([A-Z_|]*)`)

// beyond returns a line of a trace that shows more than a program reading its
// operand.
func beyond(trace string, script bool) string {
	executed := 0
	for line := range strings.SplitSeq(trace, "\n") {
		switch {
		case strings.Contains(line, "execve"):
			if executed++; executed > 1 && !script {
				return line
			}
		case strings.Contains(line, "/nscd/socket"): // the C library looks for the user's home
		case strings.Contains(line, "connect("), strings.Contains(line, "unlink"), strings.Contains(line, "rename"), strings.Contains(line, "creat("):
			return line
		}
		m := opened.FindStringSubmatch(line)
		if m == nil || script {
			continue
		}
		writes := strings.Contains(m[2], "WR") || strings.Contains(m[2], "CREAT")
		if sqlite := strings.Contains(m[1], "/t.db"); writes && !sqlite && m[1] != os.DevNull && m[1] != "/dev/tty" {
			return line
		}
		plain := slices.ContainsFunc([]string{"/etc/ld.so", "/lib", "/usr/", "/proc/", "/sys/", "/dev/", "/etc/passwd", "/etc/nsswitch.conf"}, func(head string) bool { return strings.HasPrefix(m[1], head) })
		if base := filepath.Base(m[1]); !plain && base != "in" && base != "in.json" && !strings.HasPrefix(base, "t.db") && base != ".jq" && base != ".sqliterc" && base != "sqliterc" {
			return line
		}
	}
	return ""
}

// snapshot returns the files of a folder with their contents.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(e.Name() + " " + strconv.Quote(string(data)) + "\n")
	}
	return all.String()
}

// limited keeps the beginning of what is written to it.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if n := 64<<10 - l.Len(); n > 0 {
		l.Buffer.Write(p[:min(n, len(p))])
	}
	return len(p), nil
}
